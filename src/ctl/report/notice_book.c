#include "ctl/report/notice_book.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/text.h"

/* An Event that was sent or is due. */
struct entry {
	uint64_t id;  /* 0: free */
	uint64_t key; /* hash of reason and key */
	enum notice_reason reason;
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

struct deed {
	enum notice_reason reason;
	const char *key, *message;
};

struct notice_book {
	struct entry entries[NOTICE_ENTRIES_MAX];
	struct mark *marks; /* NULL until the first one */
	struct arena deed_arena;
	VEC(struct deed) deeds;
	int64_t pass, tokens, refilled_ms;
	uint64_t last_id;
};

static uint64_t hash(enum notice_reason reason, const char *key, const char *subject)
{
	const char *const texts[] = { key, "\n", subject };
	uint64_t value = UINT64_C(14695981039346656037) ^ (uint64_t)reason;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (const char *c = texts[i]; *c; c++)
			value = (value ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return value ? value : 1;
}

struct notice_book *notice_book_new(int64_t monotonic_ms)
{
	struct notice_book *book = memory_alloc(sizeof(*book));

	book->tokens = NOTICE_BURST;
	book->refilled_ms = monotonic_ms;
	return book;
}

static void clear(struct entry *entry)
{
	memory_free(entry->message);
	*entry = (struct entry){ .id = 0 };
}

void notice_book_free(struct notice_book *book)
{
	if (!book)
		return;
	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++)
		clear(&book->entries[i]);
	memory_free(book->marks);
	arena_done(&book->deed_arena);
	memory_free(book);
}

/* --- entries --- */

static bool take_token(struct notice_book *book, int64_t monotonic_ms)
{
	int64_t more = (monotonic_ms - book->refilled_ms) / NOTICE_REFILL_MS;

	if (more > 0) {
		book->refilled_ms += more * NOTICE_REFILL_MS;
		book->tokens += more;
		if (book->tokens > NOTICE_BURST)
			book->tokens = NOTICE_BURST;
	}
	if (book->tokens == 0)
		return false;
	book->tokens--;
	return true;
}

static struct entry *find(struct notice_book *book, uint64_t key)
{
	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++)
		if (book->entries[i].id && book->entries[i].key == key)
			return &book->entries[i];
	return NULL;
}

static struct entry *newest_of(struct notice_book *book, enum notice_reason reason)
{
	struct entry *newest = NULL;

	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++) {
		struct entry *entry = &book->entries[i];

		if (entry->id && entry->reason == reason && (!newest || entry->id > newest->id))
			newest = entry;
	}
	return newest;
}

/* A free entry, or the one whose Event was seen longest ago. NULL: all have requests in flight. */
static struct entry *find_place(struct notice_book *book)
{
	struct entry *place = NULL;

	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++) {
		struct entry *entry = &book->entries[i];

		if (!entry->id)
			return entry;
		if (!entry->under_way && (!place || entry->seen_ms < place->seen_ms))
			place = entry;
	}
	if (place)
		clear(place);
	return place;
}

static struct entry *make_entry(struct notice_book *book, enum notice_reason reason, uint64_t key,
				int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = find_place(book);

	if (!entry)
		return NULL;
	*entry = (struct entry){
		.id = ++book->last_id,
		.key = key,
		.reason = reason,
		.first = now,
		.next_ms = monotonic_ms,
	};
	return entry;
}

static void count_up(struct entry *entry, const char *message, time_ms now)
{
	memory_free(entry->message);
	entry->message = memory_strdup(message);
	entry->count++;
	entry->last = now;
	entry->due = true;
}

/* The entry of the notice, a new one, or when there are too many new ones the last of its
 * reason. */
static struct entry *entry_for(struct notice_book *book, enum notice_reason reason, uint64_t key,
			       int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = find(book, key);

	if (entry)
		return entry;
	if (take_token(book, monotonic_ms))
		return make_entry(book, reason, key, monotonic_ms, now);
	return newest_of(book, reason);
}

static void say_deed(struct notice_book *book, const struct deed *deed, int64_t monotonic_ms,
		     time_ms now)
{
	uint64_t key = hash(deed->reason, deed->key, "");
	struct entry *entry = entry_for(book, deed->reason, key, monotonic_ms, now);

	if (!entry)
		return;
	entry->seen_ms = monotonic_ms;
	entry->spacing_ms = NOTICE_DEED_SPACING_MS;
	count_up(entry, deed->message, now);
}

static void say_state(struct notice_book *book, enum notice_reason reason, uint64_t key,
		      const char *message, int64_t monotonic_ms, time_ms now)
{
	struct entry *entry = entry_for(book, reason, key, monotonic_ms, now);
	bool away;

	if (!entry)
		return;
	away = monotonic_ms - entry->seen_ms > NOTICE_AWAY_MS;
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
	entry->spacing_ms = entry->spacing_ms == 0 ? NOTICE_REPEAT_MS : entry->spacing_ms * 2;
	if (entry->spacing_ms > NOTICE_REPEAT_MAX_MS)
		entry->spacing_ms = NOTICE_REPEAT_MAX_MS;
	count_up(entry, message, now);
}

static void forget_old(struct notice_book *book, int64_t monotonic_ms)
{
	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++) {
		struct entry *entry = &book->entries[i];

		if (entry->id && !entry->under_way &&
		    monotonic_ms - entry->seen_ms > NOTICE_FORGET_MS)
			clear(entry);
	}
}

/* --- states that must persist for a hold time --- */

static struct mark *find_mark(struct notice_book *book, uint64_t key, int64_t monotonic_ms)
{
	struct mark *place = NULL;

	if (!book->marks)
		book->marks = memory_array(NOTICE_MARKS_MAX, sizeof(*book->marks));
	for (size_t i = 0; i < NOTICE_MARKS_MAX; i++) {
		struct mark *mark = &book->marks[i];

		if (mark->key == key && mark->pass >= book->pass - 1) {
			mark->pass = book->pass;
			return mark;
		}
		/* A state that the last pass did not see has ended. */
		if (!place && (!mark->key || mark->pass < book->pass - 1))
			place = mark;
	}
	if (place)
		*place = (struct mark){ key, monotonic_ms, book->pass };
	return place;
}

static bool is_ripe(struct notice_book *book, const struct notice *notice, int64_t monotonic_ms)
{
	struct mark *mark;

	if (notice->hold_ms <= 0)
		return true;
	mark = find_mark(book, hash(notice->reason, notice->key, notice->subject), monotonic_ms);
	return mark && monotonic_ms - mark->since_ms >= notice->hold_ms;
}

static void forget_marks(struct notice_book *book)
{
	for (size_t i = 0; book->marks && i < NOTICE_MARKS_MAX; i++)
		if (book->marks[i].key && book->marks[i].pass == book->pass)
			return;
	memory_free(steal(&book->marks));
}

/* Notices whose hold time has passed, by reason and key: the first message is used for all. */
struct ripe {
	enum notice_reason reason;
	uint64_t key;
	const char *message;
	int64_t others;
	bool once, known;
};

/* Was this Event sent, and has the state persisted since? Also true when the previous process sent
 * it: the notice then gets an entry for an Event that we do not know. */
static bool is_said(struct notice_book *book, const struct ripe *ripe, int64_t monotonic_ms,
		    time_ms now)
{
	struct entry *entry = find(book, ripe->key);
	bool said = entry && monotonic_ms - entry->seen_ms <= NOTICE_AWAY_MS;

	if (!entry && ripe->known) {
		entry = make_entry(book, ripe->reason, ripe->key, monotonic_ms, now);
		said = entry != NULL;
	}
	if (said)
		entry->seen_ms = monotonic_ms;
	return said;
}

/* Groups the states whose hold time has passed by reason and key, with the message of the first
 * one and the count of the others, and reports each group as one Event. For example, 3 states with
 * the same reason and key give one message "...; and 2 more like it". A notice with `once` is not
 * repeated while its state persists. The cost is notices times groups. */
static void note_states(struct notice_book *book, const struct notice_list *notices,
			int64_t monotonic_ms, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct ripe *ripe = arena_array(&scratch, notices->at.count, sizeof(*ripe));
	size_t count = 0;

	for (size_t i = 0; i < notices->at.count; i++) {
		const struct notice *notice = &notices->at.at[i];
		uint64_t key = hash(notice->reason, notice->key, "");
		size_t at = 0;

		if (notice->deed || !is_ripe(book, notice, monotonic_ms))
			continue;
		while (at < count && ripe[at].key != key)
			at++;
		if (at < count)
			ripe[at].others++;
		else
			ripe[count++] = (struct ripe){ notice->reason,  key,
						       notice->message, 0,
						       notice->once,    notice->known };
	}
	for (size_t i = 0; i < count; i++) {
		const char *message = ripe[i].message;

		if (ripe[i].others > 0)
			message = arena_printf(&scratch, "%s; and %lld more like it",
					       text_cut(&scratch, message, NOTICE_MESSAGE_MAX - 64),
					       (long long)ripe[i].others);
		if (ripe[i].once && is_said(book, &ripe[i], monotonic_ms, now))
			continue;
		say_state(book, ripe[i].reason, ripe[i].key, message, monotonic_ms, now);
	}
}

static void keep_deeds(struct notice_book *book, const struct notice_list *notices)
{
	arena_done(&book->deed_arena);
	memset(&book->deeds, 0, sizeof(book->deeds));
	for (size_t i = 0; i < notices->at.count; i++) {
		const struct notice *notice = &notices->at.at[i];
		struct arena *arena = &book->deed_arena;

		if (notice->deed)
			VEC_PUSH(arena, &book->deeds,
				 ((struct deed){ notice->reason, arena_strdup(arena, notice->key),
						 arena_strdup(arena, notice->message) }));
	}
}

void notice_book_decided(struct notice_book *book, const struct notice_list *notices,
			 int64_t monotonic_ms, time_ms now)
{
	book->pass++;
	forget_old(book, monotonic_ms);
	keep_deeds(book, notices);
	note_states(book, notices, monotonic_ms, now);
	forget_marks(book);
}

void notice_book_accepted(struct notice_book *book, int64_t monotonic_ms, time_ms now)
{
	for (size_t i = 0; i < book->deeds.count; i++)
		say_deed(book, &book->deeds.at[i], monotonic_ms, now);
	arena_done(&book->deed_arena);
	memset(&book->deeds, 0, sizeof(book->deeds));
}

/* --- sending --- */

bool notice_book_next(struct notice_book *book, int64_t monotonic_ms,
		      struct notice_order *ret_order)
{
	struct entry *next = NULL;

	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++) {
		struct entry *entry = &book->entries[i];

		if (entry->id && entry->due && !entry->under_way &&
		    monotonic_ms >= entry->next_ms && (!next || entry->id < next->id))
			next = entry;
	}
	if (!next)
		return false;
	next->due = false;
	next->under_way = true;
	next->next_ms = monotonic_ms + next->spacing_ms;
	*ret_order = (struct notice_order){
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

static struct entry *find_id(struct notice_book *book, uint64_t id)
{
	for (size_t i = 0; i < NOTICE_ENTRIES_MAX; i++)
		if (book->entries[i].id == id)
			return &book->entries[i];
	return NULL;
}

void notice_book_answered(struct notice_book *book, uint64_t id, enum notice_answer answer,
			  int64_t monotonic_ms)
{
	struct entry *entry = find_id(book, id);

	if (!entry)
		return;
	entry->under_way = false;
	switch (answer) {
	case NOTICE_SENT:
		entry->exists = true;
		break;
	case NOTICE_GONE:
		entry->exists = false;
		entry->due = true;
		entry->next_ms = monotonic_ms;
		break;
	case NOTICE_LOST:
		clear(entry);
		return;
	case NOTICE_FAILED:
		entry->due = true;
		entry->next_ms = monotonic_ms + NOTICE_REPEAT_MS;
		break;
	}
	if (!entry->due)
		memory_free(steal(&entry->message));
}
