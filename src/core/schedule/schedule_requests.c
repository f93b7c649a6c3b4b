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
 * A shape with several selectors is in a kind for each of them, with others that share it; kinds of the same
 * shapes share their tree, so n selectors of a request with n names do not cost n trees of n names. A node sees
 * the kinds of its tags: each kind is listed by one resource name, the rarest, or by labels of which its selector
 * needs one. */
#include <math.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/schedule/schedule_run.h"

/* Shapes of a small list. */
#define FEW 8
/* Above the need of every shape, below that of a shape that was taken out. */
#define NO_LIMIT (INT64_MAX - 1)

/* Counts the shapes by name into run->name_counts. */
static void find_names(struct schedule_requests *requests, struct schedule_run *run)
{
	const struct schedule_list *list = &requests->list;
	size_t most = 0;

	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = 0; j < list->shapes[i].need_count; j++) {
			uint32_t name = list->shapes[i].needs[j].name;

			if (!run->name_counts[name]++)
				VEC_PUSH(requests->arena, &requests->names, name);
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
	sort_stable(requests->names.at, requests->names.count, sizeof(*requests->names.at),
		    schedule_compare_ids);
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

static void set_leaf(const struct schedule_requests *requests, struct schedule_tree *tree,
		     size_t place, bool active)
{
	const struct schedule_shape *shape = &requests->list.shapes[tree->shapes.at[place]];
	size_t at = tree->leaves + place;
	int64_t *least = &tree->least[at * tree->width];
	double *ratio = &tree->ratio[at * tree->width];
	double pivot = (double)schedule_shape_need(shape, requests->pivot);

	active = active && !shape->impossible;
	for (uint32_t i = 0; i < tree->names; i++) {
		least[i] = active ? shape->needs[i].amount : INT64_MAX;
		ratio[i] = !active    ? 0 :
			   pivot <= 0 ? INFINITY :
					(double)shape->needs[i].amount / pivot;
	}
	if (tree->width > tree->names)
		least[tree->names] = active ? largest_piece(shape) : INT64_MAX;
}

/* From its two children; whether that changed it. */
static bool set_parent(struct schedule_tree *tree, size_t at)
{
	bool changed = false;
	size_t width = tree->width;
	int64_t *least = &tree->least[at * width], *first = &tree->least[2 * at * width];
	double *ratio = &tree->ratio[at * width], *ratios = &tree->ratio[2 * at * width];

	for (size_t i = 0; i < width; i++) {
		int64_t lower = first[i] < first[width + i] ? first[i] : first[width + i];
		double higher = ratios[i] > ratios[width + i] ? ratios[i] : ratios[width + i];

		changed = changed || least[i] != lower || ratio[i] > higher || ratio[i] < higher;
		least[i] = lower;
		ratio[i] = higher;
	}
	return changed;
}

static void make_tree(const struct schedule_requests *requests, struct schedule_tree *tree)
{
	for (size_t i = 0; i < tree->shapes.count; i++)
		set_leaf(requests, tree, i, true);
	for (size_t at = tree->leaves; at > 1; at--)
		set_parent(tree, at - 1);
}

void schedule_requests_reset(struct schedule_requests *requests)
{
	for (size_t i = 0; i < requests->trees.count; i++)
		if (requests->trees.at[i]->changed) {
			requests->trees.at[i]->changed = false;
			make_tree(requests, requests->trees.at[i]);
		}
}

void schedule_requests_remove(struct schedule_requests *requests, uint32_t shape)
{
	for (const struct schedule_at *at = requests->places[shape]; at; at = at->next) {
		struct schedule_tree *tree = at->tree;
		bool changed;

		set_leaf(requests, tree, at->place, false);
		tree->changed = true;
		changed = tree->leaves == 1;
		for (size_t parent = (tree->leaves + at->place) / 2; parent; parent /= 2)
			changed = set_parent(tree, parent);
		requests->changes += changed;
	}
}

/* ---- kinds ---- */

static const uint32_t *selector_end(const uint32_t *at)
{
	for (uint32_t constraints = *at++; constraints; constraints--)
		at += 2 + at[1];
	return at;
}

/* Equal numbers in words->encoded, but for selectors and their ranks, equal kind. They begin with SCHEDULE_ID_NONE:
 * those of add_selector begin with the number of a form. */
static void encode_form(struct schedule_vocabulary *words, const struct schedule_shape *shape)
{
	uint32_t labels = shape->few_labels ? 0 : shape->anti_label_count;

	words->encoded.count = 0;
	VEC_PUSH(words->arena, &words->encoded, SCHEDULE_ID_NONE);
	VEC_PUSH(words->arena, &words->encoded,
		 (uint32_t)(shape->new_only | shape->asks_accelerator << 1 |
			    shape->impossible << 2));
	VEC_PUSH(words->arena, &words->encoded, labels);
	for (uint32_t i = 0; i < labels; i++)
		VEC_PUSH(words->arena, &words->encoded, shape->anti_labels[i]);
	for (uint32_t i = 0; i < shape->need_count; i++)
		VEC_PUSH(words->arena, &words->encoded, shape->needs[i].name);
}

static uint32_t intern_words(struct schedule_intern *ids, const struct schedule_vocabulary *words)
{
	return schedule_intern_add(ids, words->encoded.at, words->encoded.count * sizeof(uint32_t));
}

static void add_place(struct schedule_requests *requests, uint32_t id, uint32_t shape,
		      const uint32_t *selector, int rank)
{
	if (id == requests->kinds.count)
		*VEC_ADD(requests->arena, &requests->kinds) =
			(struct schedule_kind){ .selector = selector, .rank = rank };
	CHECK(id < requests->kinds.count);
	VEC_PUSH(requests->arena, &requests->kinds.at[id].shapes, shape);
}

static void add_selector(struct schedule_requests *requests, struct schedule_run *run,
			 struct schedule_intern *ids, uint32_t form, uint32_t shape,
			 const uint32_t *selector, int rank)
{
	struct schedule_vocabulary *words = &run->words;
	const uint32_t *end = selector ? selector_end(selector) : NULL;

	words->encoded.count = 0;
	VEC_PUSH(words->arena, &words->encoded, form);
	VEC_PUSH(words->arena, &words->encoded, (uint32_t)rank);
	for (const uint32_t *at = selector; at != end; at++)
		VEC_PUSH(words->arena, &words->encoded, *at);
	add_place(requests, intern_words(ids, words), shape, selector, rank);
}

/* The encoded selectors of a shape; NULL: it has none. */
static const uint32_t *selectors_of(const struct schedule_run *run,
				    const struct schedule_shape *shape, uint32_t *ret_count)
{
	const uint32_t *at = run->words.selectors.entries.at[shape->selector].bytes;

	*ret_count = shape->selector ? *at : 0;
	return shape->selector ? at + 1 : NULL;
}

static void make_kinds(struct schedule_requests *requests, struct schedule_run *run)
{
	struct schedule_intern ids = { .arena = requests->arena };
	struct schedule_intern forms = { .arena = requests->arena };
	const struct schedule_list *list = &requests->list;

	/* Most lists are those of one gang: few shapes in fewer kinds. */
	if (list->count < FEW) {
		VEC_RESERVE(requests->arena, &requests->kinds, list->count);
		VEC_RESERVE(requests->arena, &requests->trees, list->count);
		VEC_RESERVE(requests->arena, &requests->tags, list->count);
	}
	for (uint32_t i = 0; i < list->count; i++) {
		uint32_t count, form = 0;
		const uint32_t *at = selectors_of(run, &list->shapes[i], &count);

		if (list->count > 1) {
			encode_form(&run->words, &list->shapes[i]);
			form = intern_words(count ? &forms : &ids, &run->words);
		}
		if (!count)
			add_place(requests, form, i, NULL, 0);
		else if (requests->adds_labels)
			add_selector(requests, run, &ids, form, i, NULL, (int)count);
		else
			for (uint32_t place = 0; place < count; place++, at = selector_end(at))
				add_selector(requests, run, &ids, form, i, at,
					     (int)(count - place));
	}
}

static struct schedule_tree *tree_new(struct schedule_requests *requests,
				      const struct schedule_kind *kind, bool pieces)
{
	struct schedule_tree *tree = ARENA_NEW(requests->arena, struct schedule_tree);
	struct schedule_at *places =
		arena_array(requests->arena, kind->shapes.count, sizeof(*places));
	size_t width;

	tree->first = &requests->list.shapes[kind->shapes.at[0]];
	tree->names = tree->first->need_count;
	tree->rarest = SCHEDULE_TAG_EVERYWHERE;
	tree->shapes.at = kind->shapes.at;
	tree->shapes.count = kind->shapes.count;
	tree->leaves = 1;
	while (tree->leaves < tree->shapes.count)
		tree->leaves *= 2;
	tree->width = tree->names + (pieces || !tree->names);
	width = tree->width;
	tree->least = arena_array(requests->arena, 2 * tree->leaves * width, sizeof(*tree->least));
	tree->ratio = arena_array(requests->arena, 2 * tree->leaves * width, sizeof(*tree->ratio));
	for (size_t i = tree->leaves * width; i < 2 * tree->leaves * width; i++)
		tree->least[i] = INT64_MAX;
	make_tree(requests, tree);
	for (size_t i = 0; i < tree->shapes.count; i++) {
		struct schedule_at **first = &requests->places[tree->shapes.at[i]];

		places[i] = (struct schedule_at){ tree, i, *first };
		*first = &places[i];
	}
	return tree;
}

/* One for each list of shapes; a shape without selectors is in one kind. */
static void make_trees(struct schedule_requests *requests, bool pieces)
{
	struct schedule_intern ids = { .arena = requests->arena };
	VEC(struct schedule_tree *) shared = { .at = NULL };

	requests->places =
		arena_array(requests->arena, requests->list.count, sizeof(struct schedule_at *));
	VEC_EACH(struct schedule_kind, kind, &requests->kinds) {
		uint32_t id = kind->rank == 0 ?
				      SCHEDULE_ID_NONE :
				      schedule_intern_add(&ids, kind->shapes.at,
							  kind->shapes.count * sizeof(uint32_t));

		if (id < shared.count) {
			kind->tree = shared.at[id];
			continue;
		}
		kind->tree = tree_new(requests, kind, pieces);
		VEC_PUSH(requests->arena, &requests->trees, kind->tree);
		if (id != SCHEDULE_ID_NONE)
			VEC_PUSH(requests->arena, &shared, kind->tree);
	}
}

/* ---- tags ---- */

static void add_tag(struct schedule_requests *requests, uint32_t tag, uint32_t kind)
{
	VEC_PUSH(requests->arena, &requests->tags, ((struct schedule_tag){ tag, kind }));
}

/* Of a selector of the list: count 0: clears its count. */
static void count_label(struct schedule_requests *requests, struct schedule_run *run,
			uint32_t label, size_t count)
{
	size_t before = run->label_counts[label];

	if (count && !before)
		VEC_PUSH(requests->arena, &requests->labels, label);
	run->label_counts[label] = count ? before + count : 0;
}

/* Counts the labels in the selectors of the list by label, and lists them; count 0: clears the counts. */
static void count_labels(struct schedule_requests *requests, struct schedule_run *run, size_t count)
{
	for (size_t i = 0; i < requests->list.count; i++) {
		uint32_t selectors;
		const uint32_t *at = selectors_of(run, &requests->list.shapes[i], &selectors);

		for (; selectors; selectors--)
			for (uint32_t constraints = *at++; constraints; constraints--) {
				at++;
				for (uint32_t values = *at++; values; values--)
					count_label(requests, run, *at++, count);
			}
	}
}

/* Lists the kind by labels of which each node that its selector accepts has one: those of the constraint that
 * the fewest shapes name. False: there is none, or a name is by far rarer. Rankings are by labels, so these are
 * better as long as not too many kinds share them. */
static bool tag_by_labels(struct schedule_requests *requests, struct schedule_run *run,
			  uint32_t kind)
{
	const uint32_t *at = requests->kinds.at[kind].selector, *rarest = NULL;
	uint32_t name = requests->kinds.at[kind].tree->rarest;
	size_t least = SIZE_MAX;

	if (!at)
		return false;
	for (uint32_t constraints = *at++; constraints; constraints--) {
		const uint32_t *values = at + 1;
		size_t sum = 0;

		for (uint32_t i = 0; i < *values; i++)
			sum += run->label_counts[values[1 + i]];
		if (*at == LABEL_OPERATOR_IN && sum < least) {
			rarest = values;
			least = sum;
		}
		at = values + 1 + *values;
	}
	if (!rarest || (name != SCHEDULE_TAG_EVERYWHERE && run->name_counts[name] < least / FEW))
		return false;
	for (uint32_t i = 0; i < *rarest; i++)
		add_tag(requests, (uint32_t)run->words.name_count + rarest[1 + i], kind);
	return true;
}

static int compare_tags(const void *a, const void *b)
{
	const struct schedule_tag *first = a, *second = b;

	return (first->tag > second->tag) - (first->tag < second->tag);
}

/* Expects the number of trees by name in run->name_counts. */
static void find_rarest(const struct schedule_run *run, struct schedule_tree *tree)
{
	for (uint32_t i = 0; i < tree->names; i++) {
		uint32_t name = tree->first->needs[i].name;

		if (!run->words.is_implicit[name] &&
		    (tree->rarest == SCHEDULE_TAG_EVERYWHERE ||
		     run->name_counts[name] < run->name_counts[tree->rarest]))
			tree->rarest = name;
	}
}

static void make_tags(struct schedule_requests *requests, struct schedule_run *run)
{
	size_t count = requests->kinds.count;

	for (size_t i = 0; i < requests->trees.count; i++)
		for (uint32_t j = 0; j < requests->trees.at[i]->names; j++)
			run->name_counts[requests->trees.at[i]->first->needs[j].name]++;
	for (size_t i = 0; i < requests->trees.count; i++)
		find_rarest(run, requests->trees.at[i]);
	for (uint32_t i = 0; i < count; i++)
		if (!tag_by_labels(requests, run, i))
			add_tag(requests, requests->kinds.at[i].tree->rarest, i);
	for (size_t i = 0; i < requests->names.count; i++)
		run->name_counts[requests->names.at[i]] = 0;
	sort_stable(requests->tags.at, requests->tags.count, sizeof(*requests->tags.at),
		    compare_tags);
}

/* Adds the labels of affinities to those of selectors. */
static void find_labels(struct schedule_requests *requests, struct schedule_run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < requests->list.count; i++) {
		const struct schedule_shape *shape = &requests->list.shapes[i];

		for (uint32_t j = 0; j < shape->anti_label_count; j++) {
			uint32_t label = shape->anti_labels[j];

			VEC_PUSH(requests->arena, &requests->labels, label);
			requests->adds_selected = requests->adds_selected ||
						  (run->words.labels.entries.at[label].marks &
						   SCHEDULE_LABEL_SELECTED);
		}
	}
	sort_stable(requests->labels.at, requests->labels.count, sizeof(*requests->labels.at),
		    schedule_compare_ids);
	for (size_t i = 0; i < requests->labels.count; i++)
		if (!kept || requests->labels.at[kept - 1] != requests->labels.at[i])
			requests->labels.at[kept++] = requests->labels.at[i];
	requests->labels.count = kept;
}

/* Whether the list adds labels that it selects, and else, of a long list, which shapes have labels that few others
 * have. A node with such a label refuses these one by one. Expects the counts of selectors. */
static void read_anti_labels(struct schedule_requests *requests, struct schedule_run *run)
{
	struct schedule_shape *shapes = requests->list.shapes;
	size_t count = requests->list.count;

	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < shapes[i].anti_label_count; j++)
			requests->adds_labels = requests->adds_labels ||
						run->label_counts[shapes[i].anti_labels[j]];
	if (requests->adds_labels || count < FEW * FEW)
		return;
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < shapes[i].anti_label_count; j++)
			run->label_counts[shapes[i].anti_labels[j]]++;
	for (size_t i = 0; i < count; i++) {
		shapes[i].few_labels = shapes[i].anti_label_count > 0;
		for (uint32_t j = 0; j < shapes[i].anti_label_count; j++)
			shapes[i].few_labels = shapes[i].few_labels &&
					       run->label_counts[shapes[i].anti_labels[j]] < FEW;
	}
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < shapes[i].anti_label_count; j++)
			run->label_counts[shapes[i].anti_labels[j]] = 0;
}

struct schedule_requests *schedule_requests_new(struct schedule_run *run, struct arena *arena,
						struct schedule_list list)
{
	struct schedule_requests *requests = ARENA_NEW(arena, struct schedule_requests);

	*requests = (struct schedule_requests){ .arena = arena, .list = list };
	count_labels(requests, run, 1);
	find_labels(requests, run);
	read_anti_labels(requests, run);
	find_names(requests, run);
	make_kinds(requests, run);
	make_trees(requests, run->words.fractions);
	make_tags(requests, run);
	count_labels(requests, run, 0);
	return requests;
}

/* ---- what fits ---- */

/* Looks up the names of the shorter list in the other one. */
struct schedule_part schedule_requests_part(const struct schedule_requests *requests,
					    struct schedule_run *run, uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];

	run->part.count = 0;
	if (requests->names.count < state->amount_count) {
		VEC_EACH(const uint32_t, name, &requests->names) {
			const struct schedule_amount *amount = schedule_state_amount(state, *name);

			if (amount)
				VEC_PUSH(run->scratch, &run->part,
					 (uint32_t)(amount - state->amounts));
		}
	} else {
		for (uint32_t i = 0; i < state->amount_count; i++)
			if (SORT_FIND(&state->amounts[i].name, requests->names.at,
				      requests->names.count, schedule_compare_ids))
				VEC_PUSH(run->scratch, &run->part, i);
	}
	return (struct schedule_part){ run->part.at, (uint32_t)run->part.count };
}

/* Whether the least needs of the tree node are free. Callers count the names. */
static bool fits(const struct schedule_tree *tree, const int64_t *free, size_t at)
{
	const int64_t *least = &tree->least[at * tree->width];

	UNCOUNTED_FOR(uint32_t i = 0; i < tree->width; i++)
		if (least[i] > free[i])
			return false;
	return true;
}

/* The free amounts of the names of the tree; the largest piece of a GPU is not limited by NO_LIMIT. Their readers
 * count as many names. */
static void set_free(const struct schedule_tree *tree, const struct schedule_room *room,
		     int64_t piece)
{
	UNCOUNTED_FOR(uint32_t i = 0; i < tree->names; i++)
		room->free[i] = schedule_room_available(room, tree->first->needs[i].name);
	room->free[tree->names] = piece;
}

/* Notes one name of which the tree node needs more than is free: if there is one, that changes no end; else the one of
 * which the larger share is missing. */
static void note_lack(const struct schedule_tree *tree, struct schedule_room *room, size_t at)
{
	const int64_t *least = &tree->least[at * tree->width], *free = room->free;
	uint32_t best = SCHEDULE_ID_NONE;
	double share = 0;

	bounded_count(tree->names);
	UNCOUNTED_FOR(uint32_t i = 0; i < tree->names; i++) {
		uint32_t name = tree->first->needs[i].name;
		double own;

		if (least[i] <= free[i])
			continue;
		if (least[i] == INT64_MAX ||
		    room->start[name] - free[i] + least[i] >= room->end[name])
			return;
		own = (double)(least[i] - free[i]) / (double)least[i];
		if (best == SCHEDULE_ID_NONE || own > share) {
			best = i;
			share = own;
		}
	}
	if (best != SCHEDULE_ID_NONE)
		schedule_room_lacks(room, tree->first->needs[best].name, least[best]);
}

/* `bounded`: a room whose ends are noted; NULL: none. */
static size_t next(const struct schedule_tree *tree, const int64_t *free, size_t from,
		   struct schedule_room *bounded)
{
	size_t at = tree->leaves + from, found = SCHEDULE_NO_INDEX, visited = 0;

	if (from >= tree->shapes.count)
		return SCHEDULE_NO_INDEX;
	/* The largest tree that begins there. */
	at >>= __builtin_ctzll(at);
	UNCOUNTED_FOR(; at; visited++) {
		if (fits(tree, free, at)) {
			if (at >= tree->leaves) {
				found = at - tree->leaves;
				break;
			}
			at *= 2;
			continue;
		}
		if (bounded)
			note_lack(tree, bounded, at);
		/* The tree to the right; none is to the right of the root. */
		at >>= __builtin_ctzll(~at);
		at += at > 0;
	}
	bounded_count((int64_t)((visited + 1) * (tree->names + 1)));
	return found;
}

static int64_t largest_free(const struct schedule_room *room)
{
	if (!room->state.per_gpu)
		return NO_LIMIT;
	return room->whole_gpus ? room->whole_gpus * RESOURCE_UNIT :
	       room->open.count ? room->open.at[room->open.count - 1].free :
				  0;
}

size_t schedule_requests_next(const struct schedule_tree *tree, struct schedule_room *room,
			      size_t from)
{
	set_free(tree, room, largest_free(room));
	return next(tree, room->free, from, room->bounded ? room : NULL);
}

size_t schedule_requests_last(const struct schedule_tree *tree, const struct schedule_room *room,
			      size_t to)
{
	size_t at = tree->leaves + to - 1;

	if (!to)
		return SCHEDULE_NO_INDEX;
	set_free(tree, room, largest_free(room));
	/* The largest tree that ends there. */
	while (at > 1 && at & 1)
		at /= 2;
	UNCOUNTED_FOR(;;) {
		bounded_count(tree->names);
		if (fits(tree, room->free, at)) {
			if (at >= tree->leaves)
				return at - tree->leaves;
			at = 2 * at + 1;
			continue;
		}
		/* The tree to the left; none is to the left of the root. */
		while (at > 1 && !(at & 1))
			at /= 2;
		if (at == 1)
			return SCHEDULE_NO_INDEX;
		at--;
	}
}

bool schedule_requests_fit(const struct schedule_requests *requests, struct schedule_run *run,
			   uint32_t state)
{
	bool fit = false;

	schedule_room_load_part(&run->room, state, schedule_requests_part(requests, run, state));
	for (size_t i = 0; i < requests->trees.count; i++) {
		if (fit)
			break;
		set_free(requests->trees.at[i], &run->room, NO_LIMIT);
		fit = next(requests->trees.at[i], run->room.free, 0, NULL) != SCHEDULE_NO_INDEX;
	}
	schedule_room_unload(&run->room);
	return fit;
}

static bool is_selected(const struct schedule_kind *kind, const struct schedule_room *room)
{
	const uint32_t *at = kind->selector;

	return !at || schedule_selector_holds(room->states, room->labels, &at);
}

bool schedule_requests_refused(const struct schedule_kind *kind, const struct schedule_room *room)
{
	return schedule_room_refuses(room, kind->tree->first) || !is_selected(kind, room);
}

/* Adds the kinds of one tag that may fit into the loaded room: of those with one tree the one that Ray's first
 * selector makes, which decides the rank. */
static void see_tag(struct schedule_requests *requests, struct schedule_run *run, uint32_t tag,
		    struct schedule_kinds *seen)
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
		struct schedule_tree *tree = kind->tree;
		bool known = tree->seen == requests->seen;

		if (known && (!tree->fits || seen->at[tree->seen_at]->rank >= kind->rank))
			continue;
		if (!is_selected(kind, &run->room))
			continue;
		if (known) {
			seen->at[tree->seen_at] = kind;
			continue;
		}
		tree->seen = requests->seen;
		tree->seen_at = seen->count;
		tree->fits = !schedule_room_refuses(&run->room, tree->first) &&
			     schedule_requests_next(tree, &run->room, 0) != SCHEDULE_NO_INDEX;
		if (tree->fits)
			VEC_PUSH(run->attempt, seen, kind);
	}
}

void schedule_requests_see(struct schedule_requests *requests, struct schedule_run *run,
			   uint32_t id, struct schedule_part part, struct schedule_kinds *ret_seen)
{
	const struct schedule_state *state = &run->states.states.at[id];
	size_t count;
	const uint32_t *label = schedule_label_set(&run->states, state->labels, &count);

	requests->seen++;
	schedule_room_load_part(&run->room, id, part);
	for (uint32_t i = 0; i < part.count; i++)
		if (state->amounts[part.at[i]].available > 0)
			see_tag(requests, run, state->amounts[part.at[i]].name, ret_seen);
	for (size_t i = 0; i < count; i++)
		see_tag(requests, run, (uint32_t)run->words.name_count + label[i], ret_seen);
	see_tag(requests, run, SCHEDULE_TAG_EVERYWHERE, ret_seen);
	schedule_room_unload(&run->room);
}
