/* ray.rpc.autoscaler.ClusterResourceState as plain data: a Ray GCS's report of its cluster. Made by
 * codec (proto3 JSON) and gcs (protobuf), both into these structs; owned by the arena. Strings are
 * never NULL. Amounts are fixed point, and the received value is kept beside them, because a report
 * to Ray must carry the exact bundle (Ray cancels demand that is reported as infeasible). */
#ifndef CORE_MODEL_RAY_STATE_H
#define CORE_MODEL_RAY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/model/kubernetes.h"
#include "core/model/resources.h"

#define RAY_HEAD_RESOURCE "node:__internal_head__"
#define RAY_IMPLICIT_RESOURCE_PREFIX "node:__internal_implicit_resource_"

/* Numbers of ray.rpc.autoscaler.NodeStatus. */
enum ray_node_status {
	RAY_NODE_UNSPECIFIED = 0,
	RAY_NODE_RUNNING = 1,
	RAY_NODE_DEAD = 2,
	RAY_NODE_IDLE = 3,
	RAY_NODE_DRAINING = 4,
};

struct ray_node {
	const char *id;                    /* lower-case hex of node_id */
	const char *instance_id;           /* the Pod's name under KubeRay */
	const char *type_name;             /* the group's name; "headgroup" for the head */
	struct resources total, available; /* keys absent from available differ from 0 (T8) */
	struct labels labels, dynamic_labels;
	enum ray_node_status status;
	int64_t idle_duration_ms; /* of ray_idle_duration_ms */
	const char *ip_address;
	struct strings activity; /* node_activity: why Ray calls it busy */
	/* NULL, or an amount that is not a number: such a node never counts as unused. */
	const char *problem;
	/* Of GetDrainingNodes, which a pass reads only when it needs it: since 1970; 0: not read, or none. */
	int64_t drain_deadline_ms;
};

/* A node that Ray drains, by GetDrainingNodes. */
struct ray_drain {
	const char *node_id;
	int64_t deadline_ms; /* since 1970; 0 and below: none */
};

/* Longer than any Ray cluster runs; sums and differences with a time do not overflow. */
#define RAY_IDLE_DURATION_MAX_MS (INT64_C(100) * 366 * 86400 * 1000)

/* An idle duration of a GCS's report, clamped to 0 ... RAY_IDLE_DURATION_MAX_MS. */
int64_t ray_idle_duration_ms(int64_t reported_ms);

/* Numbers of ray.rpc.LabelSelectorOperator. */
enum label_operator {
	LABEL_OPERATOR_UNSPECIFIED = 0,
	LABEL_OPERATOR_IN = 1,
	LABEL_OPERATOR_NOT_IN = 2,
};

struct label_constraint {
	const char *key;
	int32_t operation; /* enum label_operator; other numbers match nothing */
	struct strings values;
};

struct label_selector {
	const struct label_constraint *constraints; /* all must hold */
	size_t count;
};
bool label_selector_holds(const struct label_selector *selector, const struct labels *labels);

struct placement_constraint {
	struct label anti_affinity, affinity;
	bool has_anti_affinity, has_affinity;
};

struct bundle_entry {
	const char *name;
	double received; /* as Ray sent it */
	int64_t amount;  /* 1/10000 units, rounded to nearest; 0 when the request has a problem */
};

struct ray_request {
	const struct bundle_entry *bundle; /* sorted by name, unique */
	size_t bundle_count;
	const struct placement_constraint *placements;
	size_t placement_count;
	const struct label_selector *selectors; /* ordered: the first that matches wins */
	size_t selector_count;
	const char *problem; /* NULL, or why no machine can serve it: "CPU is NaN" */
};

struct ray_request_count {
	struct ray_request request;
	int64_t count; /* 0 and above */
};

/* Numbers of ray.rpc.PlacementStrategy. */
enum placement_strategy {
	PLACEMENT_PACK = 0,
	PLACEMENT_SPREAD = 1,
	PLACEMENT_STRICT_PACK = 2,
	PLACEMENT_STRICT_SPREAD = 3,
};
#define PLACEMENT_STRATEGIES 4
const char *placement_strategy_name(enum placement_strategy strategy); /* "STRICT_PACK" */

/* locality_requirement: of a placement group with a topology_strategy. */
struct locality {
	const char *label; /* "ray.io/gpu-domain"; NULL or "": none */
	int32_t strategy;  /* enum placement_strategy */
	struct label_selector selector;
};

struct bundle_selector {
	const struct ray_request *requests;
	size_t count;
	struct locality locality;
	/* Of a choice at one value of the label: values without a choice, noted at the last one (feature/topology). */
	size_t untried;
};

/* A placement group that is (partly) unplaced; empty ones occur (T5). */
struct ray_gang {
	const struct ray_request *requests; /* deprecated form, without selectors */
	size_t request_count;
	const char *details;
	const struct bundle_selector *selectors; /* preferred when there is one */
	size_t selector_count;
};

struct ray_constraint {
	const struct ray_request_count *requests;
	size_t count;
};

struct ray_state {
	int64_t version;
	int64_t last_seen_autoscaler_state_version;
	const struct ray_node *nodes;
	size_t node_count;
	const struct ray_request_count *requests;
	size_t request_count;
	const struct ray_gang *gangs;
	size_t gang_count;
	const struct ray_constraint *constraints;
	size_t constraint_count;
	const char *session_name;
	int64_t received_ms;     /* of a live reply: the loop_boot_ms of its arrival */
	size_t reply_bytes;      /* size of the reply message; 0: from a file */
	struct strings problems; /* "pendingResourceRequests[3].request.resourcesBundle.CPU: NaN" */
};

bool locality_is_given(const struct locality *locality);
int64_t ray_request_gpus(const struct ray_request *request); /* the amount of "GPU" in its bundle */
bool ray_node_is_head(const struct ray_node *node);
bool ray_node_is_alive(const struct ray_node *node); /* RUNNING, IDLE or DRAINING */
/* The number of nodes that are alive, the head included: Ray also reports dead ones. */
int64_t ray_state_living(const struct ray_state *state);
/* Nothing of its total is in use, and no work without resources: it is IDLE or node_activity is empty. Of
 * an IDLE node the GCS keeps the last text (UpdateAliveNode); one that drains may have either. */
bool ray_node_is_unused(const struct ray_node *node);
/* The same without status and node_activity. */
bool ray_node_is_free(const struct ray_node *node);

#endif
