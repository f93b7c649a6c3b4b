/* One run of schedule(): its nodes in Ray's order, and the remaining limits. The phases
 * (schedule.c) change it; schedule_try does so only by committing. Lives on the stack of
 * schedule(); its memory is the scratch arena, results are in the caller's arena. */
#ifndef CORE_SCHEDULE_RUN_H
#define CORE_SCHEDULE_RUN_H

#include "core/schedule/schedule_class.h"
#include "core/schedule/schedule_order.h"
#include "core/schedule/schedule_room.h"

/* Placements of one phase; shared by nodes with the same ones. */
struct schedule_chunk {
	const struct schedule_chunk *before; /* of an earlier phase */
	const struct schedule_placement *at;
	size_t count;
};

struct schedule_work {
	size_t type, given; /* given: index into problem.nodes, SCHEDULE_NO_INDEX for a new node */
	enum schedule_status status;
	enum schedule_cause cause;
	enum schedule_phase launch_phase;
	bool cancelled;  /* a cancelled launch: no longer part of the run */
	bool sorted;     /* by the phase of the maxima per type */
	uint32_t labels; /* label set: it keeps anti-affinity labels over all phases */
	uint32_t placed; /* of the source that is placed now; more of it: states_of, rests_of */
	const struct schedule_chunk *placements;
};

/* The need of a shape for a name per unit of the pivot of its list. */
struct schedule_ratio {
	double ratio;
	uint32_t shape;
};

struct schedule_ratios {
	struct schedule_ratio *at;
	uint32_t count;
};

/* Differences from Ray's policy that may launch fewer GPUs. */
struct schedule_policy {
	bool spare_gpus;    /* of new nodes, the one with the smallest unused share of GPUs */
	bool starting_last; /* running nodes are filled before starting ones */
	bool gpus_first;    /* of a list, the requests with the most GPUs first */
	bool demands_first; /* tasks and actors before placement groups */
	bool fill_gpus;     /* of all nodes, first the one with the fewest free GPUs left */
	bool exact;         /* on nodes that are there: see schedule_exact */
	const struct schedule_result *served; /* with exact: the placements to reproduce */
	size_t *steps_left;                   /* with exact: of the whole search */
	uint32_t shuffle; /* not 0: seed of the order of requests and of node types */
};

struct schedule_run {
	const struct schedule_problem *problem;
	struct schedule_policy policy;
	struct arena *arena;   /* of the result */
	struct arena *scratch; /* until the run ends */
	struct arena *attempt; /* until the try ends */
	struct schedule_vocabulary words;
	struct schedule_states states;
	struct schedule_room room;
	struct schedule_intern needs; /* of short lists: see schedule_requests */
	size_t *name_counts;          /* by name, 0 between uses */
	struct schedule_ratios
		*ratios; /* by name: of the try; empty of names that it does not need */
	struct schedule_classes classes;
	VEC(struct schedule_work) nodes;   /* given nodes in their order, then new ones */
	VEC(uint32_t) states_of, rests_of; /* by node: state and rest, dense: each try reads all */
	VEC(uint32_t) new_types; /* of nodes to be launched by a try: numbers from nodes.count on */
	struct schedule_order order;
	uint32_t *template_labels;                /* by type */
	uint32_t *template_state, *template_rest; /* by type, of the source that is placed now */
	int64_t *type_nodes; /* by type: nodes in the list, including leaving ones (trap T6) */
	int64_t *launches;   /* by type */
	int64_t budget;      /* GPU capacity that may still be added; INT64_MAX: no limit */
	int64_t list_nodes, new_nodes; /* all, and those of this run */
};

/* The position of an item in the order of the seed `shuffle`. */
static inline uint32_t schedule_shuffled(uint32_t shuffle, size_t item)
{
	uint64_t mixed = (shuffle * UINT64_C(0x9e3779b97f4a7c15)) ^ (item + 1);

	mixed = (mixed ^ (mixed >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(mixed >> 32);
}

static inline uint32_t schedule_run_rest(const struct schedule_run *run, uint32_t node)
{
	if (node < run->nodes.count)
		return run->rests_of.at[node];
	return run->template_rest[run->new_types.at[node - run->nodes.count]];
}

static inline uint32_t schedule_run_placed(const struct schedule_run *run, uint32_t node)
{
	return node < run->nodes.count ? run->nodes.at[node].placed : 0;
}

void schedule_run_init(struct schedule_run *run, const struct schedule_problem *problem,
		       struct arena *arena, struct arena *scratch, struct arena *attempt);
/* Starts a source: constraints use the totals of every node, demands the available amounts. */
void schedule_run_set_source(struct schedule_run *run, bool totals);
/* The number of replicas of the type that may be launched now, and the limit that prevents more. */
int64_t schedule_run_permits(const struct schedule_run *run, size_t index,
			     enum schedule_limit *ret_limit);
/* The same for min_nodes, which Ray does not limit by any maximum. */
int64_t schedule_run_permits_minimum(const struct schedule_run *run, size_t index);
/* Counts replicas against the limits. */
void schedule_run_count(struct schedule_run *run, size_t type, int64_t replicas);
/* Adds one node of the type at the end of nodes (not of order). */
struct schedule_work *schedule_run_launch(struct schedule_run *run, size_t type,
					  enum schedule_phase phase);

#endif
