#include "codec/objects/explain_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/plan_text.h"
#include "codec/text/text.h"
#include "core/decide/gate.h"

#define WORKERS_SHOWN 6
#define ENTRIES_SHOWN 200

/* The placement of bundles of one received entry. */
struct place {
	const char *worker;
	int64_t count;
};

struct places {
	VEC(struct place) at;
	int64_t count;
};

/* The received lists, each with the places of its entries by index. */
enum list { LIST_REQUESTS, LIST_GANGS, LIST_CONSTRAINT, LIST_ANNOTATION, LISTS };

struct received {
	struct places *at[LISTS];
	size_t count[LISTS];
	struct places **schedules; /* those of the plan; NULL: inactive or without bundles */
	size_t schedule_count;
	size_t bundle_count; /* in all of `schedules` */
};

static const struct ray_constraint *bundles_of(const struct snapshot *snapshot, size_t schedule)
{
	return snapshot->autoscaler ? snapshot->autoscaler->schedules[schedule].bundles : NULL;
}

static void gather_schedules(struct received *received, const struct snapshot *snapshot,
			     const struct plan *plan, struct arena *arena)
{
	received->schedule_count = plan->schedule_count;
	received->schedules =
		arena_array(arena, plan->schedule_count, sizeof(*received->schedules));
	for (size_t i = 0; i < plan->schedule_count; i++) {
		const struct ray_constraint *bundles = bundles_of(snapshot, i);

		if (!plan->schedules[i].active || !bundles)
			continue;
		received->schedules[i] = arena_array(arena, bundles->count, sizeof(struct places));
		received->bundle_count += bundles->count;
	}
}

static enum list list_of(const struct plan_placed *placed)
{
	if (placed->kind == DEMAND_REQUEST)
		return LIST_REQUESTS;
	if (placed->kind == DEMAND_GANG)
		return LIST_GANGS;
	return placed->source == SOURCE_ANNOTATION ? LIST_ANNOTATION : LIST_CONSTRAINT;
}

static struct places *find_places(struct received *received, const struct plan *plan,
				  const struct plan_placed *placed)
{
	enum list list = list_of(placed);

	if (placed->schedule) {
		struct places *own = received->schedules[placed->schedule - plan->schedules];

		return own ? &own[placed->index] : NULL;
	}
	return placed->index < received->count[list] ? &received->at[list][placed->index] : NULL;
}

/* Inverts the placements of the plan: they list the bundles of each worker, the output lists the
 * workers of each received entry. Makes one array for each received list and appends each placed
 * bundle to the entry that it came from. Linear in received entries and placements. */
static void gather(struct received *received, const struct snapshot *snapshot,
		   const struct plan *plan, struct arena *arena)
{
	const struct ray_state *state = snapshot->ray_state;

	*received = (struct received){ .count = { 0 } };
	if (state) {
		received->count[LIST_REQUESTS] = state->request_count;
		received->count[LIST_GANGS] = state->gang_count;
		if (state->constraint_count > 0)
			received->count[LIST_CONSTRAINT] = state->constraints[0].count;
	}
	if (ray_cluster_requested(&snapshot->cluster))
		received->count[LIST_ANNOTATION] = ray_cluster_requested(&snapshot->cluster)->count;
	for (size_t i = 0; i < LISTS; i++)
		received->at[i] = arena_array(arena, received->count[i], sizeof(*received->at[i]));
	gather_schedules(received, snapshot, plan, arena);
	VEC_EACH(const struct plan_placement, placement, &plan->placements) {
		VEC_EACH(const struct plan_placed, placed, &placement->placed) {
			struct places *places = find_places(received, plan, placed);

			if (!places)
				continue;
			VEC_PUSH(arena, &places->at,
				 ((struct place){ placement->worker, placed->count }));
			places->count += placed->count;
		}
	}
}

/* ": 2 on w1, 1 on new-gpu-group-1; 1 without a place" */
static void add_places(struct buf *buf, const struct places *places, int64_t wanted)
{
	size_t shown = places->at.count < WORKERS_SHOWN ? places->at.count : WORKERS_SHOWN;

	buf_add_string(buf, ": ");
	for (size_t i = 0; i < shown; i++)
		text_add(buf, "%s%" PRId64 " on %s", i > 0 ? ", " : "", places->at.at[i].count,
			 places->at.at[i].worker);
	if (places->at.count > shown)
		buf_printf(buf, " and %zu more workers", places->at.count - shown);
	if (places->count < wanted)
		buf_printf(buf, "%s%" PRId64 " without a place, see below", shown > 0 ? "; " : "",
			   wanted - places->count);
	buf_add_char(buf, '\n');
}

static void add_requests(struct buf *buf, const struct ray_request_count *requests, size_t count,
			 const struct places *places)
{
	for (size_t i = 0; i < count && i < ENTRIES_SHOWN; i++) {
		buf_printf(buf, "  %" PRId64 " x ", requests[i].count);
		plan_text_bundle(buf, &requests[i].request);
		add_places(buf, &places[i], requests[i].count);
	}
	if (count > ENTRIES_SHOWN)
		buf_printf(buf, "  and %zu more; -o json has all\n", count - ENTRIES_SHOWN);
}

static void add_gangs(struct buf *buf, const struct ray_state *state, const struct places *places)
{
	for (size_t i = 0; i < state->gang_count && i < ENTRIES_SHOWN; i++) {
		const struct ray_gang *gang = &state->gangs[i];
		size_t wanted = gang->selector_count > 0 ? gang->selectors[0].count :
							   gang->request_count;

		buf_add_string(buf, "  placement group of ");
		plan_text_gang(buf, gang);
		add_places(buf, &places[i], (int64_t)wanted);
	}
	if (state->gang_count > ENTRIES_SHOWN)
		buf_printf(buf, "  and %zu more placement groups; -o json has all\n",
			   state->gang_count - ENTRIES_SHOWN);
}

static void add_pending(struct buf *buf, const struct snapshot *snapshot,
			const struct received *received)
{
	const struct ray_state *state = snapshot->ray_state;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct gate gate = gate_check(snapshot, &scratch);

	if (gate.reason) {
		buf_add_string(buf, "\nPENDING  not read: ");
		text_add_reason(buf, reason_word(gate.reason), gate.message);
	} else if (!state) {
		buf_add_char(buf, '\n');
		text_add_line(buf, "PENDING  not known: %s",
			      *snapshot->ray_problem ? snapshot->ray_problem :
						       "Ray was not reached");
	} else if (received->count[LIST_REQUESTS] + received->count[LIST_GANGS] == 0) {
		buf_add_string(buf, "\nPENDING  nothing waits in Ray\n");
	} else {
		buf_add_string(buf, "\nPENDING  what waits in Ray, and which worker it is for\n");
		add_requests(buf, state->requests, state->request_count,
			     received->at[LIST_REQUESTS]);
		add_gangs(buf, state, received->at[LIST_GANGS]);
	}
	if (received->count[LIST_CONSTRAINT] + received->count[LIST_ANNOTATION] +
		    received->bundle_count ==
	    0)
		return;
	buf_add_string(buf, "\nREQUESTED  ahead of demand, and which worker is kept for it\n");
	if (state && received->count[LIST_CONSTRAINT] > 0)
		add_requests(buf, state->constraints[0].requests, received->count[LIST_CONSTRAINT],
			     received->at[LIST_CONSTRAINT]);
	if (received->count[LIST_ANNOTATION] > 0)
		add_requests(buf, ray_cluster_requested(&snapshot->cluster)->requests,
			     received->count[LIST_ANNOTATION], received->at[LIST_ANNOTATION]);
	for (size_t i = 0; i < received->schedule_count; i++) {
		const struct ray_constraint *bundles = bundles_of(snapshot, i);

		if (bundles && received->schedules[i])
			add_requests(buf, bundles->requests, bundles->count,
				     received->schedules[i]);
	}
}

void explain_text_write(const struct snapshot *snapshot, const struct plan *plan,
			struct arena *arena, struct buf *buf)
{
	struct received received;

	gather(&received, snapshot, plan, arena);
	plan_text_conditions(buf, plan);
	add_pending(buf, snapshot, &received);
	plan_text_demands(buf, "INFEASIBLE  no group could ever serve this", plan->infeasible.at,
			  plan->infeasible.count);
	plan_text_demands(buf, "UNSERVED  could be served, but not now", plan->unserved.at,
			  plan->unserved.count);
	plan_text_groups(buf, plan);
	plan_text_schedules(buf, plan);
	plan_text_workers(buf, plan);
}
