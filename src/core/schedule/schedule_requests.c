/* The shapes of a list, ordered so that a node sees only those that fit: see schedule_run.h.
 *
 * Over the shapes of a kind, in the order of the list, lies a tree with the least needs of the shapes
 * below each tree node. schedule_requests_next() descends from the left and passes over what
 * cannot fit, so that a fill costs about log S for each shape that it takes instead of S in total.
 * Shapes without units left are taken out, in log S. The shapes need 4, 2, 3 and 1 CPUs, 1 is free:
 *
 *            1               2 > 1: the left half is passed over in one step
 *        2       1
 *      4   2   3   1
 *
 * A node sees the kinds of its tags: each kind is listed by one resource name, the rarest, or by
 * labels of which its selectors need one. */
#include <math.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/schedule/schedule_run.h"

/* Above the need of every shape, below that of a shape that was taken out. */
#define NO_LIMIT (INT64_MAX - 1)
#define TAG_EVERYWHERE UINT32_MAX

/* Counts the shapes by name into run->name_counts. */
static void find_names(struct schedule_requests *requests, struct schedule_run *run)
{
	const struct schedule_list *list = &requests->list;
	size_t most = 0;

	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = 0; j < list->shapes[i].need_count; j++) {
			uint32_t name = list->shapes[i].needs[j].name;

			if (!run->name_counts[name]++)
				VEC_PUSH(run->scratch, &requests->names, name);
		}
	requests->pivot = SCHEDULE_ID_NONE;
	for (size_t i = 0; i < requests->names.count; i++) {
		uint32_t name = requests->names.at[i];

		if (run->name_counts[name] > most) {
			requests->pivot = name;
			most = run->name_counts[name];
		}
		run->name_counts[name] = 0;
	}
}

/* ---- the trees ---- */

/* The largest piece of GPU that one unit puts on one GPU, or its whole GPUs. */
static int64_t largest_piece(const struct schedule_shape *shape)
{
	int64_t largest = 0;

	for (uint32_t i = 0; i < shape->piece_count; i++) {
		int64_t amount = shape->pieces[i];

		if (amount > RESOURCE_UNIT)
			amount -= amount % RESOURCE_UNIT;
		if (amount > largest)
			largest = amount;
	}
	return largest;
}

static void set_leaf(const struct schedule_requests *requests, struct schedule_kind *kind,
		     size_t place, bool active)
{
	const struct schedule_shape *shape = &requests->list.shapes[kind->shapes.at[place]];
	size_t at = kind->leaves + place;
	int64_t *least = &kind->least[at * (kind->names + 1)];
	double *ratio = &kind->ratio[at * (kind->names + 1)];
	double pivot = (double)schedule_shape_need(shape, requests->pivot);

	active = active && !shape->impossible;
	for (uint32_t i = 0; i < kind->names; i++) {
		least[i] = active ? shape->needs[i].amount : INT64_MAX;
		ratio[i] = !active    ? 0 :
			   pivot <= 0 ? INFINITY :
					(double)shape->needs[i].amount / pivot;
	}
	least[kind->names] = active ? largest_piece(shape) : INT64_MAX;
}

/* From its two children. */
static void set_parent(struct schedule_kind *kind, size_t at)
{
	size_t width = kind->names + 1;
	int64_t *least = &kind->least[at * width], *first = &kind->least[2 * at * width];
	double *ratio = &kind->ratio[at * width], *ratios = &kind->ratio[2 * at * width];

	for (size_t i = 0; i < width; i++) {
		least[i] = first[i] < first[width + i] ? first[i] : first[width + i];
		ratio[i] = ratios[i] > ratios[width + i] ? ratios[i] : ratios[width + i];
	}
}

static void make_tree(const struct schedule_requests *requests, struct schedule_kind *kind)
{
	for (size_t i = 0; i < kind->shapes.count; i++)
		set_leaf(requests, kind, i, true);
	for (size_t at = kind->leaves; at-- > 1;)
		set_parent(kind, at);
}

void schedule_requests_reset(struct schedule_requests *requests)
{
	for (size_t i = 0; i < requests->kinds.count; i++)
		if (requests->kinds.at[i].changed) {
			requests->kinds.at[i].changed = false;
			make_tree(requests, &requests->kinds.at[i]);
		}
}

void schedule_requests_remove(struct schedule_requests *requests, uint32_t shape)
{
	struct schedule_kind *kind = &requests->kinds.at[requests->kind_of[shape]];

	set_leaf(requests, kind, requests->place_of[shape], false);
	kind->changed = true;
	for (size_t at = (kind->leaves + requests->place_of[shape]) / 2; at; at /= 2)
		set_parent(kind, at);
}

/* ---- kinds ---- */

/* The id is in run->words.encoded's terms: equal numbers, equal kind. */
static void encode_kind(struct schedule_vocabulary *words, const struct schedule_shape *shape)
{
	words->encoded.count = 0;
	VEC_PUSH(words->arena, &words->encoded, shape->selector);
	VEC_PUSH(words->arena, &words->encoded,
		 (uint32_t)(shape->new_only | shape->asks_accelerator << 1));
	VEC_PUSH(words->arena, &words->encoded, shape->anti_label_count);
	for (uint32_t i = 0; i < shape->anti_label_count; i++)
		VEC_PUSH(words->arena, &words->encoded, shape->anti_labels[i]);
	for (uint32_t i = 0; i < shape->need_count; i++)
		VEC_PUSH(words->arena, &words->encoded, shape->needs[i].name);
}

static void make_kinds(struct schedule_requests *requests, struct schedule_run *run)
{
	struct schedule_vocabulary *words = &run->words;
	struct schedule_intern ids = { .arena = run->scratch };
	const struct schedule_list *list = &requests->list;

	requests->kind_of = arena_array(run->scratch, list->count + 1, sizeof(uint32_t));
	requests->place_of = arena_array(run->scratch, list->count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < list->count; i++) {
		struct schedule_kind *kind;
		uint32_t id;

		encode_kind(words, &list->shapes[i]);
		id = schedule_intern_add(&ids, words->encoded.at,
					 words->encoded.count * sizeof(uint32_t));
		if (id == requests->kinds.count) {
			kind = VEC_ADD(run->scratch, &requests->kinds);
			*kind = (struct schedule_kind){ .first = &list->shapes[i],
							.names = list->shapes[i].need_count };
		}
		CHECK(id < requests->kinds.count);
		kind = &requests->kinds.at[id];
		requests->kind_of[i] = id;
		requests->place_of[i] = (uint32_t)kind->shapes.count;
		VEC_PUSH(run->scratch, &kind->shapes, i);
	}
	VEC_EACH(struct schedule_kind, kind, &requests->kinds) {
		size_t width = kind->names + 1;

		for (kind->leaves = 1; kind->leaves < kind->shapes.count;)
			kind->leaves *= 2;
		kind->least =
			arena_array(run->scratch, 2 * kind->leaves * width, sizeof(*kind->least));
		kind->ratio =
			arena_array(run->scratch, 2 * kind->leaves * width, sizeof(*kind->ratio));
		for (size_t j = kind->leaves * width; j < 2 * kind->leaves * width; j++)
			kind->least[j] = INT64_MAX;
		make_tree(requests, kind);
	}
}

/* ---- tags ---- */

static void add_tag(struct schedule_requests *requests, struct schedule_run *run, uint32_t tag,
		    uint32_t kind)
{
	VEC_PUSH(run->scratch, &requests->tags, ((struct schedule_tag){ tag, kind }));
}

/* Lists the kind by labels of which each node that its selectors accept has one; false: there are
 * none. The encoding is in schedule_shape.c. */
static bool tag_by_labels(struct schedule_requests *requests, struct schedule_run *run,
			  uint32_t kind)
{
	const struct schedule_intern_entry *entry =
		&run->words.selectors.entries.at[requests->kinds.at[kind].first->selector];
	const uint32_t *at = entry->bytes, *end = at + entry->size / sizeof(*at);
	size_t before = requests->tags.count;

	for (at++; at < end;) {
		bool found = false;

		for (uint32_t constraints = *at++; constraints; constraints--) {
			bool among = *at++ == LABEL_OPERATOR_IN && !found;

			for (uint32_t count = *at++; count; count--, at++)
				if (among)
					add_tag(requests, run,
						(uint32_t)run->words.name_count + *at, kind);
			found = found || among;
		}
		if (!found) {
			requests->tags.count = before;
			return false;
		}
	}
	return true;
}

static int compare_tags(const void *a, const void *b)
{
	const struct schedule_tag *first = a, *second = b;

	return (first->tag > second->tag) - (first->tag < second->tag);
}

static void make_tags(struct schedule_requests *requests, struct schedule_run *run)
{
	size_t count = requests->kinds.count;

	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < requests->kinds.at[i].names; j++)
			run->name_counts[requests->kinds.at[i].first->needs[j].name]++;
	for (uint32_t i = 0; i < count; i++) {
		const struct schedule_kind *kind = &requests->kinds.at[i];
		uint32_t rarest = TAG_EVERYWHERE;

		if (kind->first->selector && !requests->adds_labels &&
		    tag_by_labels(requests, run, i))
			continue;
		for (uint32_t j = 0; j < kind->names; j++) {
			uint32_t name = kind->first->needs[j].name;

			if (!run->words.is_implicit[name] &&
			    (rarest == TAG_EVERYWHERE ||
			     run->name_counts[name] < run->name_counts[rarest]))
				rarest = name;
		}
		add_tag(requests, run, rarest, i);
	}
	for (size_t i = 0; i < requests->names.count; i++)
		run->name_counts[requests->names.at[i]] = 0;
	sort_stable(requests->tags.at, requests->tags.count, sizeof(*requests->tags.at),
		    compare_tags);
}

struct schedule_requests *schedule_requests_new(struct schedule_run *run, struct schedule_list list)
{
	struct schedule_requests *requests = ARENA_NEW(run->scratch, struct schedule_requests);

	*requests = (struct schedule_requests){ .list = list };
	ARRAY_EACH(const struct schedule_shape, shape, list.shapes, list.count) {
		requests->adds_labels = requests->adds_labels || shape->anti_label_count;
		if (!shape->selector)
			continue;
		requests->selects = true;
		if (shape->request->selector_count > (size_t)requests->labels_max)
			requests->labels_max = (int)shape->request->selector_count;
	}
	find_names(requests, run);
	make_kinds(requests, run);
	make_tags(requests, run);
	return requests;
}

/* ---- what fits ---- */

/* Whether the least needs of the tree node are free. */
static bool fits(const struct schedule_kind *kind, const int64_t *free, size_t at)
{
	const int64_t *least = &kind->least[at * (kind->names + 1)];

	for (uint32_t i = 0; i <= kind->names; i++)
		if (least[i] > free[i])
			return false;
	return true;
}

static size_t next(const struct schedule_kind *kind, const struct schedule_room *room, size_t from,
		   int64_t piece)
{
	size_t at = kind->leaves + from;

	if (from >= kind->shapes.count)
		return SCHEDULE_NO_INDEX;
	for (uint32_t i = 0; i < kind->names; i++)
		room->free[i] = schedule_room_available(room, kind->first->needs[i].name);
	room->free[kind->names] = piece;
	/* The largest tree that begins there. */
	while (!(at & 1))
		at /= 2;
	while (at) {
		if (fits(kind, room->free, at)) {
			if (at >= kind->leaves)
				return at - kind->leaves;
			at *= 2;
			continue;
		}
		/* The tree to the right; none is to the right of the root. */
		while (at & 1)
			at /= 2;
		at += at > 0;
	}
	return SCHEDULE_NO_INDEX;
}

size_t schedule_requests_next(const struct schedule_kind *kind, const struct schedule_room *room,
			      size_t from)
{
	int64_t piece = NO_LIMIT;

	if (room->state.per_gpu)
		piece = room->whole_gpus ? room->whole_gpus * RESOURCE_UNIT :
			room->open.count ? room->open.at[room->open.count - 1].free :
					   0;
	return next(kind, room, from, piece);
}

bool schedule_requests_fit(const struct schedule_requests *requests, struct schedule_run *run,
			   uint32_t state)
{
	bool fit = false;

	schedule_room_load(&run->room, state);
	for (size_t i = 0; i < requests->kinds.count; i++)
		fit = fit ||
		      next(&requests->kinds.at[i], &run->room, 0, NO_LIMIT) != SCHEDULE_NO_INDEX;
	schedule_room_unload(&run->room);
	return fit;
}

static bool is_seen(const struct schedule_kinds *seen, const struct schedule_kind *kind)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->at[i] == kind)
			return true;
	return false;
}

/* Adds the kinds of one tag that may fit into the loaded room. */
static void see_tag(const struct schedule_requests *requests, struct schedule_run *run,
		    uint32_t tag, struct schedule_kinds *seen)
{
	size_t low = 0, high = requests->tags.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (requests->tags.at[middle].tag < tag)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < requests->tags.count && requests->tags.at[low].tag == tag; low++) {
		struct schedule_kind *kind = &requests->kinds.at[requests->tags.at[low].kind];

		if (schedule_room_refuses(&run->room, kind->first, requests->adds_labels) ||
		    schedule_requests_next(kind, &run->room, 0) == SCHEDULE_NO_INDEX)
			continue;
		/* A node may have several labels that one selector names. */
		if (!kind->first->selector || !is_seen(seen, kind))
			VEC_PUSH(run->attempt, seen, kind);
	}
}

void schedule_requests_see(const struct schedule_requests *requests, struct schedule_run *run,
			   uint32_t id, struct schedule_kinds *ret_seen)
{
	const struct schedule_state *state = &run->states.states.at[id];
	const struct schedule_intern_entry *labels =
		&run->states.label_sets.entries.at[state->labels];
	const uint32_t *label = labels->bytes;

	schedule_room_load(&run->room, id);
	for (uint32_t i = 0; i < state->amount_count; i++)
		if (state->amounts[i].available > 0)
			see_tag(requests, run, state->amounts[i].name, ret_seen);
	if (requests->selects)
		for (size_t i = 0; i < labels->size / sizeof(*label); i++)
			see_tag(requests, run, (uint32_t)run->words.name_count + label[i],
				ret_seen);
	see_tag(requests, run, TAG_EVERYWHERE, ret_seen);
	schedule_room_unload(&run->room);
}
