/* A feature that could be taken out, as the controller sees it: one const struct that a
 * header of the part `ctl` of its folder declares (mk/features.awk). Nothing below src/ctl/features.c knows a feature. Each
 * hook may be NULL. A feature keeps its own state for each cluster, by namespace and name; all of it
 * may be lost. Every function here accepts NULL for `features`: there are none. */
#ifndef CTL_REPORT_FEATURE_H
#define CTL_REPORT_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/pass/gpu_share.h"
#include "ctl/report/metrics_cluster.h"
#include "ctl/shared/cluster_map.h"

struct control;
struct features;
struct inventory_list;
struct pass_decision;

/* A metric of each RayCluster or of the feature itself, in /metrics and docs/METRICS.md behind those
 * of METRICS_CLUSTER_TABLE. */
struct feature_metric {
	struct metrics_row row;
	enum metrics_need need;
	/* Adds the samples of one cluster. NULL: it is a metric of the feature. */
	void (*write)(const void *self, const struct metrics_cluster *cluster,
		      struct metrics_family *family);
	/* Adds all samples of a metric of the feature; `need` has no meaning then. */
	void (*write_own)(const void *self, struct metrics_family *family);
};

/* The first member of a feature's state. */
struct feature_state {
	const struct control *control; /* at `begin` only its options and loop are set */
	struct cluster_map clusters;   /* a struct of the feature for each, until `forget` */
};

struct feature {
	/* Of its state, `self` of the hooks, zeroed. 0: it has none, and `self` is NULL. */
	size_t state_size;
	/* Of its struct for a RayCluster, and frees what that owns (ctl/shared/cluster_map.h). */
	size_t cluster_size;
	void (*cluster_done)(void *one);
	/* Begins the rest of its state, and frees that. */
	void (*begin)(void *self);
	void (*end)(void *self);
	/* All members of control are set: its watches may begin. */
	void (*start)(void *self);
	/* All that passes need of its watches is read, or refused: they may begin. It calls `ready` of
	 * control when that becomes true. */
	bool (*known)(const void *self);
	/* For passes; at most one feature has them. False: nothing is shared. */
	bool (*gpu_share)(void *self, struct gpu_share *ret_share);

	/* The variable that has the current view (ctl/shared/device_view.h); at most one feature has
	 * it. */
	struct device_view *const *(*devices)(const void *self);

	/* Completes the amounts of a new inventory, in its arena. False: the rest is not read yet, and
	 * it is called again. */
	bool (*complete)(void *self, struct inventory_list *list, struct arena *arena);

	/* Whether an object that decisions on this RayCluster need exists and is not read yet: they wait
	 * for it. */
	bool (*unread)(const void *self, const char *namespace_, const char *name);

	/* A listener of passes (ctl/cluster.c). */
	void (*decided)(void *self, const struct pass_decision *decision);
	void (*forget)(void *self, const char *namespace_, const char *name);

	/* A watcher of the caches (ctl/controller.c). */
	void (*pod_changed)(void *self, const struct pod *old, const struct pod *new_object);
	void (*ray_cluster_changed)(void *self, const char *namespace_, const char *name,
				    bool deleted);

	/* Added to the Event of a Pod that fails, in the arena; "": nothing. */
	const char *(*pod_note)(const void *self, const struct pod *pod, struct arena *arena);

	/* A Node of the watch of ctl/watch/nodes; NULL: it was deleted. */
	void (*node_changed)(void *self, const char *name, const struct node *node, bool added);

	/* Sets its members of the snapshot of a decision; they live in the arena. */
	void (*observe)(void *self, const struct ray_cluster *cluster, struct arena *arena,
			struct snapshot *snapshot);

	/* A condition beside the decisions on a RayCluster, in the arena; false: none. */
	bool (*condition)(void *self, const struct ray_cluster *cluster, struct arena *arena,
			  struct extra_condition *ret_condition);

	const struct feature_metric *metrics;
	size_t metric_count;

	/* Sets its member of the status of the RayClusterAutoscaler; called after `decided`. The member
	 * points into the arena, or to values that live until the next decision of the cluster. */
	void (*status)(const void *self, const struct pass_decision *decision, struct arena *arena,
		       struct autoscaler_parts *parts);

	/* A page of lists of Ray (ctl/report/list_page.h), whose `begin` gets its state. */
	const struct list_page_kind *page;

	/* Whether it reads this label of Nodes, of which ctl/watch/nodes keeps a copy then; key NULL:
	 * whether it reads any. */
	bool (*reads_node_label)(const void *self, const char *key);
	/* Whether a decision reads a sign of this Node, of which ctl/watch/nodes keeps taints, cordon and the
	 * conditions with a sign then; `condition` NULL: of any. */
	bool (*reads_node_sign)(const void *self, const struct node *node,
				const struct condition *condition);
};

/* `table` ends with NULL and lives as long. */
struct features *features_new(const struct control *control, const struct feature *const *table);
void features_free(struct features *features);

void features_start(struct features *features);
bool features_known(const struct features *features);
/* Of the feature that has it; false: none has. */
bool features_gpu_share(const struct features *features, struct gpu_share *ret_share);

/* NULL: no feature has it. */
struct device_view *const *features_devices(const struct features *features);

/* False: it is called again. */
bool features_complete(const struct features *features, struct inventory_list *list,
		       struct arena *arena);

/* Whether one of them waits for an object of the RayCluster. */
bool features_unread(const struct features *features, const char *namespace_, const char *name);

/* The hooks of all, in the order of the table; `listener` and `watcher` are a struct features. */
void features_decided(void *listener, const struct pass_decision *decision);
void features_forget(void *listener, const char *namespace_, const char *name);
void features_pod_changed(void *watcher, const struct pod *old, const struct pod *new_object);
/* "; " before each. */
const char *features_pod_note(const struct features *features, const struct pod *pod,
			      struct arena *arena);
void features_ray_cluster_changed(void *watcher, const char *namespace_, const char *name,
				  bool deleted);
void features_node_changed(const struct features *features, const char *name,
			   const struct node *node, bool added);
void features_observe(const struct features *features, const struct ray_cluster *cluster,
		      struct arena *arena, struct snapshot *snapshot);
const struct extra_condition *features_conditions(const struct features *features,
						  const struct ray_cluster *cluster,
						  struct arena *arena, size_t *ret_count);
void features_status(const struct features *features, const struct pass_decision *decision,
		     struct arena *arena, struct autoscaler_parts *parts);
bool features_read_node_label(const struct features *features, const char *key);
bool features_read_node_sign(const struct features *features, const struct node *node,
			     const struct condition *condition);
/* The metric with this index, from 0 over all features, with its `self`; NULL behind the last. */
const struct feature_metric *features_metric(const struct features *features, size_t index,
					     const void **ret_self);
/* The page of the feature with this index; NULL: it has none. */
const struct list_page_kind *features_page(const struct features *features, size_t index,
					   const void **ret_self);
size_t features_count(const struct features *features);

#endif
