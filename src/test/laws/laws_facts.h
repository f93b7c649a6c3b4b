/* Facts of a snapshot, read from its JSON alone: for the checker of the laws, which shares nothing
 * with the decision that it checks. Trees are borrowed. Amounts are in 1/10000. */
#ifndef TEST_LAWS_FACTS_H
#define TEST_LAWS_FACTS_H

#include "laws_tree.h"

#define FACTS_UNIT 10000
#define FACTS_AMOUNTS_MAX 24

struct facts_amounts {
	struct {
		const char *name;
		int64_t amount;
	} at[FACTS_AMOUNTS_MAX];
	size_t count;
};

/* 0 for a name that is missing. */
int64_t facts_amount(const struct facts_amounts *amounts, const char *name);
/* A map of numbers, as in Ray's messages; false when one of them cannot be an amount. */
bool facts_amounts_of(const struct cJSON *map, struct facts_amounts *ret_amounts);
/* The resources of a new worker of the group; false when they are invalid. */
bool facts_of_group(const struct cJSON *group, struct facts_amounts *ret_amounts);
bool facts_of_head(const struct cJSON *snapshot, struct facts_amounts *ret_amounts);

const struct cJSON *facts_groups(const struct cJSON *snapshot);
const struct cJSON *facts_group(const struct cJSON *snapshot, const char *name);
int64_t facts_hosts(const struct cJSON *group);
/* Nothing may be done with it: malformed, suspended, or a name twice. */
bool facts_group_is_frozen(const struct cJSON *snapshot, const struct cJSON *group);
const struct cJSON *facts_pod(const struct cJSON *snapshot, const char *name);
const char *facts_pod_label(const struct cJSON *pod, const char *key);
bool facts_pod_is_worker(const struct cJSON *pod);
/* Deleted or named in workersToDelete. */
bool facts_pod_leaves(const struct cJSON *group, const struct cJSON *pod);
bool facts_pod_ended(const struct cJSON *pod);
/* No container of it has run. */
bool facts_pod_never_started(const struct cJSON *pod);
/* It runs, and by the memory no reply has known it for unregistered-seconds, since its container's start. */
bool facts_pod_is_unregistered(const struct cJSON *snapshot, const struct cJSON *pod);
int64_t facts_kept_pods(const struct cJSON *snapshot, const struct cJSON *group);
/* With a deletionTimestamp. */
int64_t facts_ending_pods(const struct cJSON *snapshot, const char *group);

/* The node of the Pod that may be busy, if there is one, else any that lives, else NULL. */
const struct cJSON *facts_living_node(const struct cJSON *snapshot, const char *pod);
bool facts_node_is_unused(const struct cJSON *node);
/* The label's value on the node, NULL for none. */
const char *facts_node_label(const struct cJSON *node, const char *key);
const struct cJSON *facts_head_node(const struct cJSON *snapshot);

int64_t facts_setting(const struct cJSON *snapshot, const char *name, int64_t otherwise);
bool facts_setting_is(const struct cJSON *snapshot, const char *name, const char *value);
int64_t facts_idle_timeout_ms(const struct cJSON *snapshot, const struct cJSON *group);

/* The bundles that count of a gang, by choice: those of its bundle selectors in order, of which one has
 * to be placed, else the plain ones. NULL for no such choice. */
const struct cJSON *facts_gang_bundles(const struct cJSON *gang, int choice);

#endif
