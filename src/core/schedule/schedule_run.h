/* One run of schedule(): its nodes in Ray's order, the classes of equal nodes, and the remaining
 * limits. The phases (schedule_phases.c) change it; schedule_try does so only by committing. Lives on the
 * stack; its memory is the scratch arena, results are in the caller's arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_RUN_H
#define CORE_SCHEDULE_SCHEDULE_RUN_H

#include "core/schedule/schedule_state.h"

/* ---- the needs of a list (schedule_requests.c) ---- */

/* A list of shapes that need the same names. Lies over them as a complete binary tree: the root is 1, the children
 * of i are 2i and 2i + 1, the shapes are the leaves. Each holds by name the least need of its shapes, and the
 * largest need per unit of the pivot; behind the names, where that is asked, the least that one GPU must have free. */
struct schedule_tree {
	const struct schedule_shape *first;
	uint32_t names, rarest; /* rarest: a tag */
	uint32_t width;         /* numbers of each of its nodes */
	bool changed;           /* shapes were taken out */
	VEC(uint32_t) shapes;   /* in the order of the list */
	size_t leaves;
	int64_t *least;
	double *ratio;
	/* Of the stamp `seen`: it may fit, and then the index of its kind. */
	uint32_t seen;
	bool fits;
	size_t seen_at;
};

/* Shapes that need the same names and share a label selector: nodes accept all of them or none, by
 * their labels, but for anti-affinity labels that few shapes have. A shape with several selectors is in a kind for each; kinds of the same shapes share a tree. */
struct schedule_kind {
	const uint32_t
		*selector; /* encoded; NULL: none, or labels are added and decide at each shape */
	int rank;          /* of a node that takes one of them by this selector first */
	VEC(uint32_t) shapes;
	struct schedule_tree *tree;
};

struct schedule_kinds {
	struct schedule_kind **at;
	size_t count, capacity;
};

/* A kind is tried only on nodes with its tag: a resource name, or a label behind the names. */
#define SCHEDULE_TAG_EVERYWHERE UINT32_MAX
struct schedule_tag {
	uint32_t tag, kind;
};

/* The place of a shape in one of its trees. */
struct schedule_at {
	struct schedule_tree *tree;
	size_t place;
	struct schedule_at *next;
};

/* A list of shapes and what they need. */
struct schedule_requests {
	struct arena *arena; /* it is in */
	enum schedule_phase phase;
	size_t list_index; /* of the constraint */
	bool atomic;       /* all or nothing */
	struct schedule_list list;
	VEC(struct schedule_kind) kinds;
	VEC(struct schedule_tree *) trees;
	struct schedule_at **places;   /* by shape */
	VEC(struct schedule_tag) tags; /* ascending */
	uint32_t seen;                 /* the last stamp */
	VEC(uint32_t) labels;          /* of selectors and affinities, each once, ascending */
	bool adds_selected;            /* labels that selectors of some list name */
	int64_t changes;               /* of roots: until then bounds are the same */
	VEC(uint32_t) names;           /* requested names, each once, ascending */
	uint32_t pivot;   /* the name that most shapes need; SCHEDULE_ID_NONE: none needs any */
	bool adds_labels; /* that selectors name: one may hold only then */
};

/* ---- classes of nodes (schedule_class.c) ---- */

/* Nodes in the same state form a class: requests that fit one of them fit all. Classes last from
 * gang to gang; a chosen node moves to the class of its new state. */
struct schedule_class {
	/* The best last: of running nodes the one with the most use of other resources, of equal ones
	 * the earlier one in Ray's list. */
	VEC(uint32_t) members;
	uint32_t group;  /* of its first member */
	size_t group_at; /* place in the heap of the group + 1; 0: not there */
	uint32_t alone;  /* its own group + 1; 0: not made yet */
	bool ranked;
	uint32_t ranked_in; /* the group, then */
	uint64_t apart;     /* the last try whose list mentions something rare that it has */
};

/* Classes that are alike (schedule_alike.c), or one class. While gangs are placed, groups are ranked by the best score
 * that any list of the gangs could reach with them, so that a try examines only those that can be the best. */
struct schedule_group {
	uint32_t of; /* the class; SCHEDULE_ID_NONE: those in the heap */
	/* Those with members, a heap: the first has the best traits, of these the first node in Ray's list. */
	VEC(uint32_t) states;
	VEC(uint32_t) types; /* whose new nodes are in it, as in type_order */
	/* No member exceeds them. labels: the rank by selectors placed before, which decide; 0: none were, the
	 * list decides. */
	int labels;
	double minimum, average;
	bool bounded;
	size_t ranked;                        /* classes */
	struct schedule_candidate *candidate; /* of try number `stamp`; NULL: none yet */
	uint64_t stamp;
};

/* Groups, the best first: those whose label rank the list decides, and the others. */
struct schedule_ranking {
	VEC(uint32_t) parts[2];
};

struct schedule_classes {
	VEC(struct schedule_class) at; /* by state */
	struct schedule_intern group_ids;
	VEC(struct schedule_group) groups; /* by these */
	VEC(uint32_t) with_types;          /* of them */
	/* Number 0 has all groups that may be tried, number 1 + tag those with the label, and alone the classes that have
	 * the name or label where it is rare. */
	VEC(struct schedule_ranking) rankings;
	bool lasting;                     /* they are kept up to date from try to try */
	bool *rare;                       /* by tag */
	bool *mentioned;                  /* by tag: a list that was read does */
	struct schedule_needs *needs;     /* by name, of the lists that were read */
	VEC(uint32_t) names;              /* that these need */
	size_t shapes;                    /* in them */
	VEC(struct schedule_need) common; /* the minimum need over all shapes of the gangs */
	int64_t *most;                    /* by name: the maximum need of a list of the gangs */
	bool *placed_names;               /* by name: some placed shape requested it */
	size_t placed_name_count;
	uint64_t tries;
};

/* A state that does not run: the id of its part that nodes have in common with those that are alike, and whether it has
 * something rare. */
struct schedule_core {
	uint32_t id; /* + 1; 0: not read yet */
	bool rare;
};

/* ---- Ray's list of nodes (schedule_run.c) ---- */

/* After each list of requests that is kept, Ray's list of nodes is: the nodes that were chosen for it,
 * the other nodes, running nodes into which none of the requests would fit (exhausted), new nodes. Nodes that may be
 * resized are behind the others, but before the new ones; between them are those that the list resized. Ray
 * copies the list each time. Here only chosen and new nodes get a number. The order of two nodes is found
 * when it is asked for: of the lists kept since the later of the two got its number, the last one that
 * exhausts exactly one of them decides, else the numbers do. */
struct schedule_place {
	int64_t number; /* lower is earlier */
	uint32_t since; /* lists that were kept when it got the number */
};

/* One bit for each kept list, found when it is asked for: whether it exhausts the state. */
struct schedule_exhausted {
	VEC(uint64_t) words;
	size_t known; /* bits */
};

/* ---- the run ---- */

/* The state of a node by its totals, without placements. Each constraint begins with it; it is read once for its
 * labels and size, as the names of a node may be many. */
struct schedule_whole {
	bool known, resized, unused;
	uint32_t labels, state, rest;
};

struct schedule_work {
	struct schedule_node_result result; /* without placements until the run ends */
	VEC(struct schedule_placement) placements;
	bool cancelled;               /* a cancelled launch: no longer part of the run */
	uint32_t labels;              /* label set: it keeps anti-affinity labels over all phases */
	uint32_t placed, state, rest; /* of the source that is placed now */
	uint32_t resized;             /* index in the run's `resized` + 1; 0: not read yet */
	struct schedule_whole whole;
};

/* A node of the source that is placed now with the size that it may have: its rest, and the state that `of`
 * becomes. */
struct schedule_resized {
	uint32_t rest, of, state;
};

/* Differences from Ray's policy that may launch fewer GPUs. */
struct schedule_policy {
	bool spare_gpus;    /* of new nodes, the one with the least unused share of GPUs */
	bool gpus_first;    /* of a list, the requests with the most GPUs first */
	bool demands_first; /* tasks and actors before placement groups */
	bool exact;         /* on nodes that are there: see schedule_exact */
	const struct schedule_result *served; /* with exact: the placements to reproduce */
	size_t *steps_left;                   /* with exact: of the whole search */
	uint32_t shuffle; /* not 0: seed of the order of requests and of node types */
};

/* A node launched for demand. */
struct schedule_template {
	struct resources amounts;
	uint32_t labels, state, rest; /* state and rest: of the source that is placed now */
};

/* The node that was read last. */
struct schedule_reading {
	bool known;
	struct schedule_state state; /* what is not read from the amounts */
	struct resources total, available;
	uint32_t id, rest; /* of the state */
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
	size_t *name_counts, *label_counts; /* by name and by label, 0 between uses */
	double *numbers;                    /* by name: scratch of a bound */
	VEC(uint32_t) part;                 /* scratch of schedule_requests_part */
	struct schedule_classes classes;
	VEC(struct schedule_work)
	nodes; /* given nodes in their order, then new ones; those from places.count on are of the try */
	VEC(uint32_t)
	order; /* Ray's list of nodes before the first try, and the nodes launched since */
	VEC(uint32_t) touched; /* of the last list that was kept: the nodes on which it is placed */
	VEC(struct schedule_resized) resized;
	VEC(uint32_t) resizables; /* of these, in Ray's order when they were last asked for */
	VEC(struct schedule_place) places; /* by node */
	int64_t first_number, last_number;
	VEC(const struct schedule_requests *) kept; /* the lists of requests that were placed */
	size_t parted; /* of them, up to the last one that put nodes that may be resized behind others; 0: none did */
	VEC(struct schedule_exhausted) exhausted; /* by state */
	struct schedule_template *templates;      /* by type */
	uint32_t *traits; /* by type, the last one of nodes without: place among those that differ, the best first */
	VEC(uint32_t) type_order;        /* those that may be launched, by traits */
	VEC(struct schedule_core) cores; /* by state */
	struct schedule_intern core_ids;
	VEC(uint32_t) * types_of; /* by tag, a name or a label behind the names: that have it */
	uint64_t *apart; /* by type: the last try whose list mentions something rare that it has */
	VEC(uint32_t) apart_types; /* of that try */
	bool resizable;            /* some node is */
	bool totals;               /* of the source that is placed now */
	bool within_use;           /* likewise, of a constraint */
	int64_t use_budget;
	struct schedule_reading last_reading;
	int64_t *type_nodes; /* by type: nodes in the list, also leaving ones (trap T6) */
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

void schedule_run_init(struct schedule_run *run, const struct schedule_problem *problem,
		       struct arena *arena, struct arena *scratch, struct arena *attempt);
/* The node as the problem gives it; NULL: a new one. */
static inline const struct schedule_node *schedule_run_given(const struct schedule_run *run,
							     uint32_t node)
{
	return node < run->problem->node_count ? &run->problem->nodes[node] : NULL;
}

/* The traits of the type of a state: of nodes that are alike they decide. */
static inline uint32_t schedule_trait_of(const struct schedule_run *run, uint32_t state)
{
	uint32_t type = run->states.states.at[state].type;

	return run->traits[type == SCHEDULE_ID_NONE ? run->problem->type_count : type];
}

/* Of the source. */
void schedule_run_amounts(const struct schedule_run *run, uint32_t node, bool resized,
			  struct resources *ret_total, struct resources *ret_available);
/* Starts a source: constraints use the totals of every node, demands the available amounts. */
void schedule_run_set_source(struct schedule_run *run, bool totals);
/* The state of a node by its totals, without placements. */
void schedule_run_read_whole(struct schedule_run *run, uint32_t index);
/* The number of replicas of the type that may be launched now in the phase, and the limit that prevents more. Ray does
 * not limit those for min_nodes by any maximum. */
int64_t schedule_run_permits(const struct schedule_run *run, size_t index,
			     enum schedule_phase phase, enum schedule_limit *ret_limit);
/* Adds one node of the type at the end of nodes (not of order), counts it against the limits and returns
 * its index. */
uint32_t schedule_run_launch(struct schedule_run *run, size_t type, enum schedule_phase phase);
/* Adds `nodes` launches of the type to the counts; below 0: cancels them. */
void schedule_run_count(struct schedule_run *run, size_t type, int64_t nodes);

struct schedule_requests *schedule_requests_new(struct schedule_run *run, struct arena *arena,
						struct schedule_list list);
/* Whether any of them fits the state, by the sums alone. */
bool schedule_requests_fit(const struct schedule_requests *requests, struct schedule_run *run,
			   uint32_t state);
/* The amounts of the state whose names the list mentions; until the next call. */
struct schedule_part schedule_requests_part(const struct schedule_requests *requests,
					    struct schedule_run *run, uint32_t id);
void schedule_alike_read_types(struct schedule_run *run);
/* Begins groups for the lists that were read, with those of the types. */
void schedule_alike_begin(struct schedule_run *run);
/* The group of a node in a state; SCHEDULE_NO_INDEX: of new nodes in it. */
uint32_t schedule_alike_group(struct schedule_run *run, uint32_t state, size_t node);
/* The group of one class alone. */
uint32_t schedule_alike_alone(struct schedule_run *run, uint32_t state);
/* Whether the class has something rare. */
bool schedule_alike_is_rare(struct schedule_run *run, uint32_t state);
/* Notes the types and classes apart of the next try, and calls `add` for each rare tag of its list. */
void schedule_alike_part(struct schedule_run *run, const struct schedule_requests *requests,
			 void *context, void (*add)(void *context, uint32_t tag));
/* Adds the kinds of which a shape may fit into the state, which has this part. */
void schedule_requests_see(struct schedule_requests *requests, struct schedule_run *run,
			   uint32_t id, struct schedule_part part, struct schedule_kinds *ret_seen);
/* Whether the labels of the loaded room exclude the kind. */
bool schedule_requests_refused(const struct schedule_kind *kind, const struct schedule_room *room);
/* The place of the first shape of the tree, from place `from` on, that may fit into the loaded room;
 * SCHEDULE_NO_INDEX: none. */
size_t schedule_requests_next(const struct schedule_tree *tree, struct schedule_room *room,
			      size_t from);
/* The same backwards: the last one before place `to`. */
size_t schedule_requests_last(const struct schedule_tree *tree, const struct schedule_room *room,
			      size_t to);
/* Takes a shape out, until the reset. */
void schedule_requests_remove(struct schedule_requests *requests, uint32_t shape);
void schedule_requests_reset(struct schedule_requests *requests);

/* Begins classes for several tries (lasting), or for one. */
void schedule_classes_begin(struct schedule_run *run, bool lasting);
/* Reads the needs of a list that will be tried. Of lists with the same amounts one is enough. */
void schedule_classes_need(struct schedule_run *run, const struct schedule_requests *requests);
/* Makes the classes of all nodes for the lists that were read. */
void schedule_classes_make(struct schedule_run *run);
/* With lasting classes of totals: takes the last list that was kept off its nodes. */
void schedule_classes_restore(struct schedule_run *run);
/* With lasting classes: whether no node accepts the request, as none into which anything fits has a label that it
 * selects, nor has a new one. */
bool schedule_classes_refuse(struct schedule_run *run, const struct ray_request *request);
struct schedule_class *schedule_class_of(struct schedule_run *run, uint32_t state);
void schedule_class_add(struct schedule_run *run, uint32_t state, uint32_t node);
uint32_t schedule_class_best(const struct schedule_run *run, uint32_t state);
/* Takes the best member out. */
uint32_t schedule_class_take(struct schedule_run *run, uint32_t state);
/* Takes out the members from first to last; returns their number. */
size_t schedule_class_remove(struct schedule_run *run, uint32_t state, uint32_t first,
			     uint32_t last);
/* Takes the class out of the heap of its group, and puts it back. */
void schedule_class_hide(struct schedule_run *run, uint32_t state);
void schedule_class_show(struct schedule_run *run, uint32_t state);
/* Updates the place in the ranking after a permanent change of the members. */
void schedule_class_rank(struct schedule_run *run, uint32_t state);

/* Numbers the nodes of the list, before the first try. */
void schedule_order_number(struct schedule_run *run);
/* Keeps a list: the chosen nodes, in this order, begin Ray's list, and the resized and then the new ones end it. */
void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count, const uint32_t *resized,
			 size_t resized_count);
/* Whether node `a` is earlier in Ray's list. Those that the try launches are behind all others. */
bool schedule_order_before(struct schedule_run *run, uint32_t a, uint32_t b);
/* Puts nodes, in the order of run->order, into Ray's order. */
void schedule_order_sort(struct schedule_run *run, uint32_t *nodes, size_t count);

/* ---- phases that terminate (schedule_terminate.c) ---- */

/* Enforces the maximum of each type, or max_nodes, and puts the list into Ray's order for the next
 * phase: terminated nodes, then the others, type by type. Nodes are chosen only with
 * problem.terminate_over_max. A chosen node that this run would launch is dropped from the run. */
void schedule_terminate_over_max(struct schedule_run *run, bool by_type);
/* Removes the capacity of chosen nodes; they still count against the maxima. */
void schedule_terminate_set_aside(struct schedule_run *run);
void schedule_terminate_idle(struct schedule_run *run);

#endif
