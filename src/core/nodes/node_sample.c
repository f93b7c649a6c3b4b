#include "core/nodes/node_sample.h"

#include <string.h>

#include "base/check.h"
#include "base/int64.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/nodes/disruption_taint.h"
#include "core/nodes/node_fit.h"

struct ranked {
	const struct node_capacity *capacity;
	enum node_fit_level level;
	int cost;
};

struct ranking {
	struct ranked at[NODE_SAMPLE_NODES_MAX];
	size_t count;
};

/* The Pod exists and the scheduler found no Node for it. */
static bool is_unschedulable(const struct pod *pod)
{
	const struct condition *scheduled =
		pod->spec.node_name[0] == '\0' ?
			condition_find(pod->conditions, pod->condition_count, "PodScheduled") :
			NULL;

	return scheduled && strcmp(scheduled->status, "False") == 0 &&
	       strcmp(scheduled->reason, "SchedulingGated") != 0;
}

const char *node_sample_gang(const struct pod_spec *spec)
{
	if (spec->pod_group && *spec->pod_group != '\0')
		return spec->pod_group;
	return spec->workload ? spec->workload : "";
}

static bool has_gang(const struct ray_cluster *cluster, const struct pod *const *pods,
		     size_t pod_count)
{
	for (size_t i = 0; i < pod_count; i++)
		if (node_sample_gang(&pods[i]->spec)[0] != '\0')
			return true;
	ARRAY_EACH(const struct worker_group, group, cluster->groups, cluster->group_count)
		if (node_sample_gang(&group->template.spec)[0] != '\0')
			return true;
	return false;
}

bool node_sample_wanted(const struct ray_cluster *cluster, const struct pod *const *pods,
			size_t pod_count)
{
	for (size_t i = 0; i < pod_count; i++)
		if (is_unschedulable(pods[i]))
			return true;
	return has_gang(cluster, pods, pod_count);
}

/* The Pod that capacity_check.h uses: the first by name. */
static const struct pod *waiting_pod(const struct worker_group *group,
				     const struct pod *const *pods, size_t pod_count)
{
	const struct pod *first = NULL;

	for (size_t i = 0; i < pod_count; i++) {
		const char *name = labels_value(&pods[i]->labels, LABEL_GROUP);

		if (name && strcmp(name, group->name) == 0 && is_unschedulable(pods[i]) &&
		    (!first || strcmp(pods[i]->name, first->name) < 0))
			first = pods[i];
	}
	return first;
}

/* Inserts by level, then cost. The input is sorted by name, so of equal ones the first stays first,
 * as in node_fit_best. */
static void rank(struct ranking *ranking, const struct ranked *new)
{
	size_t at = ranking->count;

	while (at > 0 &&
	       (ranking->at[at - 1].level < new->level ||
		(ranking->at[at - 1].level == new->level && ranking->at[at - 1].cost > new->cost)))
		at--;
	if (at == NODE_SAMPLE_NODES_MAX)
		return;
	if (ranking->count < NODE_SAMPLE_NODES_MAX)
		ranking->count++;
	for (size_t i = ranking->count - 1; i > at; i--)
		ranking->at[i] = ranking->at[i - 1];
	CHECK(at < ranking->count && ranking->count <= NODE_SAMPLE_NODES_MAX);
	ranking->at[at] = *new;
}

/* Adds up to *free Nodes that hold the Pod now to `found`, beside the best ones. */
static void rank_all(const struct node_capacities *capacities, const struct node_demand *demand,
		     struct ranking *ret, int64_t *free, const struct node_capacity **found,
		     size_t *count)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT; /* for messages that are discarded */

	*ret = (struct ranking){ .count = 0 };
	for (size_t i = 0; i < capacities->count; i++) {
		struct node_fit fit;

		if (disruption_taint(capacities->at[i].node))
			continue;
		node_fit_check(demand, &capacities->at[i], &scratch, &fit);
		rank(ret, &(struct ranked){ &capacities->at[i], fit.level, fit.cost });
		if (fit.level == NODE_FIT_NOW && *free > 0) {
			found[(*count)++] = &capacities->at[i];
			(*free)--;
		}
		arena_reset(&scratch);
	}
}

static int compare(const void *a, const void *b)
{
	const struct node_capacity *left = *(const struct node_capacity *const *)a;
	const struct node_capacity *right = *(const struct node_capacity *const *)b;

	return (left > right) - (left < right);
}

size_t node_sample(const struct node_capacities *capacities, const struct ray_cluster *cluster,
		   const struct pod *const *pods, size_t pod_count, struct arena *arena,
		   const struct node_capacity ***ret_capacities)
{
	const struct node_capacity **found;
	size_t count = 0, kept = 0;
	int64_t left = has_gang(cluster, pods, pod_count) ? NODE_SAMPLE_FREE_MAX : 0;

	if (cluster->group_count > NODE_SAMPLE_GROUPS_MAX)
		return 0;
	found = arena_array(arena,
			    cluster->group_count * NODE_SAMPLE_NODES_MAX + NODE_SAMPLE_FREE_MAX,
			    sizeof(*found));
	ARRAY_EACH(const struct worker_group, group, cluster->groups, cluster->group_count) {
		const struct pod *pod = waiting_pod(group, pods, pod_count);
		struct node_demand demand;
		struct ranking ranking;
		/* Each of them holds one of its Pods or more. */
		int64_t most = int64_min(left, group->max_replicas * group->num_of_hosts);
		int64_t free = most;

		node_demand_init(&demand, pod ? &pod->spec : &group->template.spec, !pod,
				 capacities->devices, arena);
		rank_all(capacities, &demand, &ranking, &free, found, &count);
		left -= most - free;
		for (size_t i = 0; i < ranking.count; i++)
			found[count++] = ranking.at[i].capacity;
	}
	sort_stable(found, count, sizeof(*found), compare);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || found[kept - 1] != found[i])
			found[kept++] = found[i];
	CHECK(kept <= capacities->count);
	*ret_capacities = found;
	return kept;
}
