/* Fills of one node, and those that nodes share. A fill takes, of each shape in the order of the list, the units that
 * fit. So it is the same for all nodes that have as much free as it takes, and in which nothing else fits either: of each
 * shape that it leaves out, or takes partly, it notes one name of which too little is free. That makes a box of amounts.
 * With 8 CPUs and 20 GiB free and the shapes
 *
 *	{6 CPUs, 8 GiB}    {4 CPUs, 4 GiB}    {1 CPU, 16 GiB}
 *
 * it takes the first; the second needs 2 CPUs more, the third 4 GiB more. All nodes with 6 to 10 CPUs and 8 to 24 GiB
 * take that fill. A choice takes units away from the fills of many nodes; the first of them in a box is filled, the
 * others find it. Boxes are of candidates that see the same trees; candidates that lay out parts of GPUs, and lists that
 * add labels to nodes, have none. */
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/schedule/schedule_try.h"

/* A kind with as many shapes may be part of another one. */
#define FEW 8
/* Cells that are looked at. */
#define CELLS_MAX 48

/* ---- the fill ---- */

/* Moves the cursor to the next shape of its kind that may fit; false: none does. */
static bool cursor_move(const struct schedule_try *try, struct schedule_cursor *cursor, size_t from)
{
	struct schedule_room *room = &try->run->room;

	cursor->place = SCHEDULE_NO_INDEX;
	/* The candidate's kinds accept its labels; placements may add some. */
	if (room->labels == room->state.labels || !schedule_requests_refused(cursor->kind, room))
		cursor->place = schedule_requests_next(cursor->kind->tree, room, from);
	if (cursor->place == SCHEDULE_NO_INDEX)
		return false;
	cursor->shape = cursor->kind->tree->shapes.at[cursor->place];
	return true;
}

/* Puts the cursor into its place in the heap, from `at` down; the earliest shape is first. */
static void cursor_sink(struct schedule_try *try, size_t at, struct schedule_cursor cursor)
{
	struct schedule_cursor *heap = try->cursors.at;
	size_t count = try->cursors.count;

	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && heap[child + 1].shape < heap[child].shape)
			child++;
		if (heap[child].shape >= cursor.shape)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = cursor;
}

/* Of a shape of which the room has taken `count` units, and cannot take one more. */
static void note_lack(struct schedule_room *room, const struct schedule_shape *shape)
{
	for (uint32_t i = 0; i < shape->need_count; i++) {
		const struct schedule_need *need = &shape->needs[i];

		if (schedule_room_available(room, need->name) < need->amount) {
			schedule_room_lacks(room, need->name, need->amount);
			return;
		}
	}
}

/* Takes the units of the shape that fit. Its kind accepts the labels of the candidate, so they are read again only
 * where placements add some. */
static int64_t take_some(const struct schedule_try *try, uint32_t shape)
{
	struct schedule_room *room = &try->run->room;
	const struct schedule_shape *own = &try->list->shapes[shape];

	if (try->requests->adds_labels || room->labels != room->state.labels)
		return schedule_room_take(room, own, try->left[shape]);
	return schedule_room_put(room, own, try->left[shape]);
}

/* Takes what fits, in the order of the list: of the next shapes of all kinds the first. */
static void take_all(struct schedule_try *try, const struct schedule_candidate *c,
		     struct schedule_cell *cell)
{
	struct schedule_run *run = try->run;
	/* The last shape: another of its selectors may hold, too. */
	uint32_t before = SCHEDULE_ID_NONE;

	try->cursors.count = 0;
	for (size_t i = 0; i < c->walked.count; i++) {
		struct schedule_cursor cursor = { .kind = c->walked.at[i] };

		if (cursor_move(try, &cursor, 0))
			VEC_PUSH(run->attempt, &try->cursors, cursor);
	}
	for (size_t i = try->cursors.count / 2; i > 0; i--)
		cursor_sink(try, i - 1, try->cursors.at[i - 1]);
	while (try->cursors.count) {
		struct schedule_cursor first = try->cursors.at[0];
		int64_t count = 0;

		if (first.shape != before) {
			count = take_some(try, first.shape);
			if (run->room.bounded && count < try->left[first.shape])
				note_lack(&run->room, &try->list->shapes[first.shape]);
		}
		before = first.shape;
		if (count)
			VEC_PUSH(run->attempt, &cell->fill,
				 ((struct schedule_fill){ first.shape, count }));
		if (!cursor_move(try, &first, first.place + 1))
			first = try->cursors.at[--try->cursors.count];
		if (try->cursors.count)
			cursor_sink(try, 0, first);
	}
}

/* ---- which candidates share fills ---- */

/* Whether a larger tree that the candidate sees has all shapes of this one. */
static bool is_part(const struct schedule_requests *requests, const struct schedule_tree *tree)
{
	if (tree->shapes.count > FEW)
		return false;
	VEC_EACH(const uint32_t, shape, &tree->shapes) {
		const struct schedule_at *at = requests->places[*shape];

		while (at && (at->tree->seen != requests->seen || !at->tree->fits ||
			      at->tree->shapes.count <= tree->shapes.count))
			at = at->next;
		if (!at)
			return false;
	}
	return true;
}

static void read_names(struct schedule_try *try, struct schedule_cells *cells,
		       const struct schedule_kinds *kinds)
{
	size_t kept = 0;

	for (size_t i = 0; i < kinds->count; i++)
		for (uint32_t j = 0; j < kinds->at[i]->tree->names; j++)
			VEC_PUSH(try->run->attempt, &cells->names,
				 kinds->at[i]->tree->first->needs[j].name);
	sort_stable(cells->names.at, cells->names.count, sizeof(*cells->names.at),
		    schedule_compare_ids);
	for (size_t i = 0; i < cells->names.count; i++)
		if (!kept || cells->names.at[kept - 1] != cells->names.at[i])
			cells->names.at[kept++] = cells->names.at[i];
	cells->names.count = kept;
}

void schedule_cell_read(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	const struct schedule_tree **trees;
	struct schedule_cells *cells;

	c->filled_with = SCHEDULE_ID_NONE;
	c->walked = c->kinds;
	if (!try->shares || run->states.states.at[c->state].per_gpu)
		return;
	c->walked = (struct schedule_kinds){ .at = NULL };
	for (size_t i = 0; i < c->kinds.count; i++)
		if (!is_part(try->requests, c->kinds.at[i]->tree))
			VEC_PUSH(run->attempt, &c->walked, c->kinds.at[i]);
	trees = arena_array(run->attempt, c->walked.count + 1, sizeof(struct schedule_tree *));
	for (size_t i = 0; i < c->walked.count; i++)
		trees[i] = c->walked.at[i]->tree;
	c->filled_with = schedule_intern_add(&try->cells_ids, trees,
					     c->walked.count * sizeof(struct schedule_tree *));
	if (c->filled_with < try->cells.count)
		return;
	VEC_ADD(run->attempt, &try->cells);
	cells = &try->cells.at[c->filled_with];
	read_names(try, cells, &c->walked);
	cells->free = arena_array(run->attempt, cells->names.count + 1, sizeof(*cells->free));
}

/* ---- cells ---- */

static struct schedule_cell *cell_new(struct schedule_try *try, size_t names)
{
	struct schedule_cell *cell = try->spare_cell;

	if (cell)
		try->spare_cell = cell->next;
	else
		cell = ARENA_NEW(try->run->attempt, struct schedule_cell);
	if (!cell->taken || cell->names < names) {
		cell->names = names;
		cell->taken = arena_array(try->run->attempt, names + 1, sizeof(*cell->taken));
		cell->width = arena_array(try->run->attempt, names + 1, sizeof(*cell->width));
	}
	cell->fill.count = cell->members.count = 0;
	cell->next = NULL;
	return cell;
}

static void cell_free(struct schedule_try *try, struct schedule_cell *cell)
{
	cell->version++;
	cell->next = try->spare_cell;
	try->spare_cell = cell;
}

void schedule_cell_end(struct schedule_try *try, struct schedule_cell *cell)
{
	VEC_EACH(struct schedule_candidate *, member, &cell->members) {
		struct schedule_candidate *c = *member;

		if (c->cell != cell)
			continue;
		c->cell = NULL;
		c->fresh = false;
		c->version++;
		if (c->listed)
			VEC_PUSH(try->run->attempt, &try->stale, c);
	}
	cell_free(try, cell);
}

/* Whether the fill of the cell is that of the loaded room, by its amounts. */
static bool has_room(const struct schedule_cell *cell, const int64_t *free, size_t count)
{
	UNCOUNTED_FOR(size_t i = 0; i < count; i++)
		if ((uint64_t)(free[i] - cell->taken[i]) >= cell->width[i])
			return false;
	return true;
}

/* Those made since the last choice: the older ones have no stale candidates. */
static struct schedule_cell *find_cell(const struct schedule_try *try, struct schedule_cells *cells)
{
	struct schedule_cell **link = &cells->first;
	size_t count = cells->names.count, looked = 0;

	if (cells->choice != try->choices) {
		cells->choice = try->choices;
		cells->first = NULL;
	}
	UNCOUNTED_FOR(; *link && looked < CELLS_MAX; looked++, link = &(*link)->next) {
		struct schedule_cell *cell = *link;

		/* Most are excluded by their first name. */
		if ((uint64_t)(*cells->free - *cell->taken) >= *cell->width ||
		    !has_room(cell, cells->free, count))
			continue;
		bounded_count((int64_t)(looked * count));
		*link = cell->next; /* the next candidate is often like this one */
		cell->next = cells->first;
		cells->first = cell;
		return cell;
	}
	bounded_count((int64_t)(looked * count));
	return NULL;
}

static struct schedule_cell *fill_new(struct schedule_try *try, struct schedule_candidate *c,
				      struct schedule_cells *cells)
{
	struct schedule_room *room = &try->run->room;
	size_t count = cells ? cells->names.count : 0;
	struct schedule_cell *cell = cell_new(try, count);

	for (size_t i = 0; i < count; i++) {
		room->start[cells->names.at[i]] = cells->free[i];
		room->end[cells->names.at[i]] = INT64_MAX;
	}
	room->bounded = cells;
	take_all(try, c, cell);
	room->bounded = false;
	if (!cell->fill.count) {
		cell_free(try, cell);
		return NULL;
	}
	VEC_EACH(const struct schedule_fill, fill, &cell->fill)
		schedule_try_hold(try,
				  (struct schedule_holder){ .cell = cell,
							    .version = cell->version,
							    .units = fill->count },
				  fill->shape);
	if (!cells)
		return cell;
	for (size_t i = 0; i < count; i++) {
		uint32_t name = cells->names.at[i];

		cell->taken[i] = cells->free[i] - schedule_room_available(room, name);
		cell->width[i] = (uint64_t)room->end[name] - (uint64_t)cell->taken[i];
	}
	cell->next = cells->first;
	cells->first = cell;
	return cell;
}

struct schedule_cell *schedule_cell_of(struct schedule_try *try, struct schedule_candidate *c,
				       bool found)
{
	struct schedule_room *room = &try->run->room;
	struct schedule_cells *cells =
		c->filled_with == SCHEDULE_ID_NONE ? NULL : &try->cells.at[c->filled_with];
	struct schedule_cell *cell = NULL;

	if (cells) {
		for (size_t i = 0; i < cells->names.count; i++)
			cells->free[i] = schedule_room_available(room, cells->names.at[i]);
		cell = find_cell(try, cells);
	}
	if (cell)
		for (size_t i = 0; i < cells->names.count; i++)
			if (cell->taken[i])
				schedule_room_use(room, cells->names.at[i], cell->taken[i]);
	if (!cell && !found)
		cell = fill_new(try, c, cells);
	if (cell)
		VEC_PUSH(try->run->attempt, &cell->members, c);
	return cell;
}
