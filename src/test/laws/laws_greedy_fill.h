/* The parts of laws_greedy.h: nodes and requests as the order sees them, and filling the best
 * node. */
#ifndef TEST_LAWS_GREEDY_FILL_H
#define TEST_LAWS_GREEDY_FILL_H

#include "base/arena.h"
#include "laws_greedy.h"

#define NAMES_MAX 48
#define NODES_MAX 600
#define UNITS_MAX 4000
#define SLOTS_MAX 64
#define MARKS_MAX 32

/* One request, or the bundles of a placement group that are placed together. */
struct unit {
	const struct ray_request *request;
	int64_t amount[NAMES_MAX]; /* -1: not asked for */
	size_t names;
	__int128 sum;
	int64_t parts[SLOTS_MAX]; /* of GPUs, each bundle's, the largest first */
	size_t part_count;
	const char *apart; /* label of anti-affinity, NULL: none */
	bool new_only, placed;
	bool optional; /* `served` leaves it over */
};

struct place {
	size_t type;
	bool registered, disrupted, on;
	int64_t total[NAMES_MAX], left[NAMES_MAX]; /* -1: no such key */
	const struct labels *labels;
	const char *marks[MARKS_MAX]; /* labels of anti-affinity that were added */
	size_t mark_count;
	bool by_gpu; /* all GPUs were free: parts are laid out on them, else the sum counts */
	int64_t slots[SLOTS_MAX]; /* free part of each GPU that is not allocated as a whole */
	size_t slot_count;
	bool asked[NAMES_MAX], asks_accelerator;
	int rank;
};

struct greedy {
	const struct schedule_problem *problem;
	const struct schedule_result *served; /* NULL: everything is required */
	struct arena arena;
	const char *names[NAMES_MAX];
	size_t name_count, gpu;
	struct place *nodes;
	size_t node_count;
	int64_t launches[256], type_nodes[256], budget, launched;
	bool too_large;
	enum schedule_phase phase;
	int ties;
};

size_t laws_greedy_name_of(struct greedy *g, const char *name);
/* Sets the total and the free amounts of the node. */
void laws_greedy_fill_node(struct greedy *g, struct place *node, const struct resources *total,
			   const struct resources *available);
/* An empty worker of the type, appended. */
struct place *laws_greedy_new_node(struct greedy *g, size_t type);
/* Fills the best of the nodes that are on, which is then off; false when none takes anything. */
bool laws_greedy_fill_one(struct greedy *g, struct unit *units, size_t count);
/* Launches workers of the best type, with whole replicas. */
bool laws_greedy_launch_one(struct greedy *g, struct unit *units, size_t count);

#endif
