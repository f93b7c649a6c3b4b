/* A state (of a worker, a group, the cluster) and the Event about it:
 *
 *   mark:   absent ──► held (since_ms) ── hold_ms without a break ──► reported in each pass
 *             ▲                │ missing in a pass
 *             └────────────────┘
 *   entry:  free ──► due ──► under way ──┬─ SENT ───► exists ── reported, next_ms passed ──► due
 *             ▲       ▲                  ├─ GONE ───► due, to be created again
 *             │       └──────────────────┼─ FAILED ─► due, after DECISION_EVENT_REPEAT_MS
 *             └──────────────────────────┴─ LOST, or not seen for DECISION_EVENT_FORGET_MS
 *
 * An action has no mark: it waits in `actions` until its patch is accepted, and enters at `due`.
 *
 * Invariants: at most one entry per reason and key, and one request of it in flight. An entry that is
 * `due` has a message; count and last are those of the message. A report that comes while the entry is
 * under way makes it due again after the answer. spacing_ms only grows while the state persists, from
 * DECISION_EVENT_REPEAT_MS to DECISION_EVENT_REPEAT_MAX_MS. Entry and mark are lost without harm: the
 * Event is then created once more. */
#include "ctl/report/event_correlator.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/token_bucket.h"

/* An Event that was sent or is due. */
struct entry {
	uint64_t id;  /* 0: free */
	uint64_t key; /* hash of reason and key */
	enum decision_event_reason reason;
	bool exists, due, under_way;
	char *message; /* NULL when there is nothing to send */
	int64_t count;
	time_ms first, last;
	int64_t next_ms, spacing_ms, seen_ms; /* monotonic */
};

/* A state, and the time since which it persists without a break. */
struct mark {
	uint64_t key; /* hash of reason, key and subject; 0: free */
	int64_t since_ms, pass;
};

struct action {
	enum decision_event_reason reason;
	const char *key, *message;
};

struct event_correlator {
	struct entry entries[DECISION_EVENT_ENTRIES_MAX];
	struct mark *marks; /* NULL until the first one */
	struct arena action_arena;
	VEC(struct action) actions;
	struct token_bucket created; /* DECISION_EVENT_REFILL_SECONDS are one new Event */
	int64_t pass;
	uint64_t last_id;
};

static uint64_t hash(enum decision_event_reason reason, const char *key, const char *subject)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	uint64_t value = hash_text(arena_printf(&scratch, "%d %s\n%s", reason, key, subject));

	return value ? value : 1;
}

struct event_correlator *event_correlator_new(int64_t monotonic_ms)
{
	struct event_correlator *correlator = memory_alloc(sizeof(*correlator));

	token_bucket_init(&correlator->created, 1,
			  DECISION_EVENT_BURST * DECISION_EVENT_REFILL_SECONDS, monotonic_ms);
	return correlator;
}

static void clear(struct entry *entry)
{
	memory_free(entry->message);
	*entry = (struct entry){ .id = 0 };
}

void event_correlator_free(struct event_correlator *correlator)
{
	if (!correlator)
		return;
	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++)
		clear(&correlator->entries[i]);
	memory_free(correlator->marks);
	arena_done(&correlator->action_arena);
	memory_free(correlator);
}

/* --- entries --- */

static struct entry *find(struct event_correlator *correlator, uint64_t key)
{
	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++)
		if (correlator->entries[i].id && correlator->entries[i].key == key)
			return &correlator->entries[i];
	return NULL;
}

static struct entry *newest_of(struct event_correlator *correlator,
			       enum decision_event_reason reason)
{
	struct entry *newest = NULL;

	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++) {
		struct entry *entry = &correlator->entries[i];

		if (entry->id && entry->reason == reason && (!newest || entry->id > newest->id))
			newest = entry;
	}
	return newest;
}

/* A free entry, or the one whose Event was seen longest ago. NULL: all have requests in flight. */
static struct entry *find_place(struct event_correlator *correlator)
{
	struct entry *place = NULL;

	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++) {
		struct entry *entry = &correlator->entries[i];

		if (!entry->id)
			return entry;
		if (!entry->under_way && (!place || entry->seen_ms < place->seen_ms))
			place = entry;
	}
	if (place)
		clear(place);
	return place;
}

static struct entry *make_entry(struct event_correlator *correlator,
				enum decision_event_reason reason, uint64_t key,
				int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = find_place(correlator);

	if (!entry)
		return NULL;
	*entry = (struct entry){
		.id = ++correlator->last_id,
		.key = key,
		.reason = reason,
		.first = now,
		.next_ms = monotonic_ms,
	};
	return entry;
}

static void count_up(struct entry *entry, const char *message, time_ms now)
{
	memory_set_string(&entry->message, message);
	entry->count++;
	entry->last = now;
	entry->due = true;
}

/* The entry of the event, a new one, or when there are too many new ones the last of its
 * reason. */
static struct entry *entry_for(struct event_correlator *correlator,
			       enum decision_event_reason reason, uint64_t key,
			       int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = find(correlator, key);

	if (entry)
		return entry;
	if (token_bucket_take(&correlator->created, DECISION_EVENT_REFILL_SECONDS, monotonic_ms))
		return make_entry(correlator, reason, key, monotonic_ms, now);
	return newest_of(correlator, reason);
}

static void report_action(struct event_correlator *correlator, const struct action *action,
			  int64_t monotonic_ms, time_ms now)
{
	uint64_t key = hash(action->reason, action->key, "");
	struct entry *entry = entry_for(correlator, action->reason, key, monotonic_ms, now);

	if (!entry)
		return;
	entry->seen_ms = monotonic_ms;
	entry->spacing_ms = DECISION_EVENT_ACTION_SPACING_MS;
	count_up(entry, action->message, now);
}

static void report_state(struct event_correlator *correlator, enum decision_event_reason reason,
			 uint64_t key, const char *message, int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = entry_for(correlator, reason, key, monotonic_ms, now);
	bool away;

	if (!entry)
		return;
	away = monotonic_ms - entry->seen_ms > DECISION_EVENT_AWAY_MS;
	if (entry->key == key)
		entry->seen_ms = monotonic_ms;
	if (entry->due)
		return;
	if (entry->count > 0 && away) {
		entry->spacing_ms = 0;
		entry->next_ms = monotonic_ms;
	} else if (entry->count > 0 && monotonic_ms < entry->next_ms) {
		return;
	}
	entry->spacing_ms = entry->spacing_ms == 0 ? DECISION_EVENT_REPEAT_MS :
						     entry->spacing_ms * 2;
	if (entry->spacing_ms > DECISION_EVENT_REPEAT_MAX_MS)
		entry->spacing_ms = DECISION_EVENT_REPEAT_MAX_MS;
	count_up(entry, message, now);
}

static void forget_old(struct event_correlator *correlator, int64_t monotonic_ms)
{
	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++) {
		struct entry *entry = &correlator->entries[i];

		if (entry->id && !entry->under_way &&
		    monotonic_ms - entry->seen_ms > DECISION_EVENT_FORGET_MS)
			clear(entry);
	}
}

/* --- states that must persist for a hold time --- */

static struct mark *find_mark(struct event_correlator *correlator, uint64_t key,
			      int64_t monotonic_ms)
{
	struct mark *place = NULL;

	if (!correlator->marks)
		correlator->marks =
			memory_array(DECISION_EVENT_MARKS_MAX, sizeof(*correlator->marks));
	for (size_t i = 0; i < DECISION_EVENT_MARKS_MAX; i++) {
		struct mark *mark = &correlator->marks[i];

		if (mark->key == key && mark->pass >= correlator->pass - 1) {
			mark->pass = correlator->pass;
			return mark;
		}
		/* A state that the last pass did not see has ended. */
		if (!place && (!mark->key || mark->pass < correlator->pass - 1))
			place = mark;
	}
	if (place)
		*place = (struct mark){ key, monotonic_ms, correlator->pass };
	return place;
}

static bool is_ripe(struct event_correlator *correlator, const struct decision_event *event,
		    int64_t monotonic_ms)
{
	struct mark *mark;

	if (event->hold_ms <= 0)
		return true;
	mark = find_mark(correlator, hash(event->reason, event->key, event->subject), monotonic_ms);
	return mark && monotonic_ms - mark->since_ms >= event->hold_ms;
}

static void forget_marks(struct event_correlator *correlator)
{
	if (correlator->marks)
		for (size_t i = 0; i < DECISION_EVENT_MARKS_MAX; i++)
			if (correlator->marks[i].key &&
			    correlator->marks[i].pass == correlator->pass)
				return;
	memory_free(steal(&correlator->marks));
}

/* Notices whose hold time has passed, by reason and key: the first message is used for all. */
struct ripe {
	enum decision_event_reason reason;
	uint64_t key;
	const char *message;
	int64_t others;
	bool once, known;
};

/* Was this Event sent, and has the state persisted since? Also true when the previous process sent
 * it: the event then gets an entry for an Event that we do not know. */
static bool is_said(struct event_correlator *correlator, const struct ripe *ripe,
		    int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = find(correlator, ripe->key);
	bool said = entry && monotonic_ms - entry->seen_ms <= DECISION_EVENT_AWAY_MS;

	if (!entry && ripe->known) {
		entry = make_entry(correlator, ripe->reason, ripe->key, monotonic_ms, now);
		said = entry != NULL;
	}
	if (said)
		entry->seen_ms = monotonic_ms;
	return said;
}

/* Groups the states whose hold time has passed by reason and key, with the message of the first
 * one and the count of the others, and reports each group as one Event. For example, 3 states with
 * the same reason and key give one message "...; and 2 more like it". An event with `once` is not
 * repeated while its state persists. The cost is events times groups. */
static void note_states(struct event_correlator *correlator,
			const struct decision_event_list *events, int64_t monotonic_ms, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct ripe *ripe = arena_array(&scratch, events->at.count, sizeof(*ripe));
	size_t count = 0;

	VEC_EACH(const struct decision_event, event, &events->at) {
		uint64_t key = hash(event->reason, event->key, "");
		size_t at = 0;

		if (event->action || !is_ripe(correlator, event, monotonic_ms))
			continue;
		while (at < count && ripe[at].key != key)
			at++;
		if (at < count)
			ripe[at].others++;
		else
			ripe[count++] = (struct ripe){ event->reason,  key,
						       event->message, 0,
						       event->once,    event->known };
	}
	for (size_t i = 0; i < count; i++) {
		const char *message = ripe[i].message;

		if (ripe[i].others > 0)
			message = arena_printf(&scratch, "%s; and %lld more like it",
					       arena_cut(&scratch, message,
							 DECISION_EVENT_MESSAGE_MAX - 64),
					       (long long)ripe[i].others);
		if (ripe[i].once && is_said(correlator, &ripe[i], monotonic_ms, now))
			continue;
		report_state(correlator, ripe[i].reason, ripe[i].key, message, monotonic_ms, now);
	}
}

static void keep_actions(struct event_correlator *correlator,
			 const struct decision_event_list *events)
{
	arena_done(&correlator->action_arena);
	memset(&correlator->actions, 0, sizeof(correlator->actions));
	VEC_EACH(const struct decision_event, event, &events->at) {
		struct arena *arena = &correlator->action_arena;

		if (event->action)
			VEC_PUSH(arena, &correlator->actions,
				 ((struct action){ event->reason, arena_strdup(arena, event->key),
						   arena_strdup(arena, event->message) }));
	}
}

void event_correlator_decided(struct event_correlator *correlator,
			      const struct decision_event_list *events, int64_t monotonic_ms,
			      time_ms now)
{
	correlator->pass++;
	forget_old(correlator, monotonic_ms);
	keep_actions(correlator, events);
	note_states(correlator, events, monotonic_ms, now);
	forget_marks(correlator);
}

void event_correlator_happened(struct event_correlator *correlator,
			       const struct decision_event *event, int64_t monotonic_ms,
			       time_ms now)
{
	const struct action action = { event->reason, event->key, event->message };

	report_action(correlator, &action, monotonic_ms, now);
}

void event_correlator_accepted(struct event_correlator *correlator, int64_t monotonic_ms,
			       time_ms now)
{
	for (size_t i = 0; i < correlator->actions.count; i++)
		report_action(correlator, &correlator->actions.at[i], monotonic_ms, now);
	arena_done(&correlator->action_arena);
	memset(&correlator->actions, 0, sizeof(correlator->actions));
}

/* --- sending --- */

bool event_correlator_next(struct event_correlator *correlator, int64_t monotonic_ms,
			   struct decision_event_order *ret_order)
{
	struct entry *next = NULL;

	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++) {
		struct entry *entry = &correlator->entries[i];

		if (entry->id && entry->due && !entry->under_way &&
		    monotonic_ms >= entry->next_ms && (!next || entry->id < next->id))
			next = entry;
	}
	if (!next)
		return false;
	next->due = false;
	next->under_way = true;
	next->next_ms = monotonic_ms + next->spacing_ms;
	*ret_order = (struct decision_event_order){
		.id = next->id,
		.create = !next->exists,
		.reason = next->reason,
		.message = next->message,
		.count = next->count,
		.first = next->first,
		.last = next->last,
	};
	return true;
}

static struct entry *find_id(struct event_correlator *correlator, uint64_t id)
{
	for (size_t i = 0; i < DECISION_EVENT_ENTRIES_MAX; i++)
		if (correlator->entries[i].id == id)
			return &correlator->entries[i];
	return NULL;
}

void event_correlator_answered(struct event_correlator *correlator, uint64_t id,
			       enum decision_event_answer answer, int64_t monotonic_ms)
{
	struct entry *entry = find_id(correlator, id);

	if (!entry)
		return;
	entry->under_way = false;
	switch (answer) {
	case DECISION_EVENT_SENT:
		entry->exists = true;
		break;
	case DECISION_EVENT_GONE:
		entry->exists = false;
		entry->due = true;
		entry->next_ms = monotonic_ms;
		break;
	case DECISION_EVENT_LOST:
		clear(entry);
		return;
	case DECISION_EVENT_FAILED:
		entry->due = true;
		entry->next_ms = monotonic_ms + DECISION_EVENT_REPEAT_MS;
		break;
	}
	if (!entry->due)
		memory_free(steal(&entry->message));
}
