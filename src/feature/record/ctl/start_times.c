#include "feature/record/ctl/start_times.h"

#include <string.h>

#include "base/memory.h"
#include "ctl/shared/cluster_map.h"
#include "feature/record/core/pod_start_time.h"
#include "kube/kube_informer.h"

struct start {
	char *uid, *group;
	time_ms ready;
	int64_t ms;
};

static void free_start(struct start *start)
{
	memory_free(start->uid);
	memory_free(start->group);
}

void starts_done(void *one)
{
	struct starts *starts = one;

	if (starts->times)
		starts->times->count -= starts->count;

	for (size_t i = 0; i < starts->count; i++)
		free_start(&starts->at[i]);
	memory_free(starts->at);
}

/* ---- Pods ---- */

/* The place for another one: a new one, else that of the oldest. */
static struct start *next_start(struct start_times *times, struct starts *starts)
{
	struct start *start;

	if (starts->count < START_TIMES_OF_CLUSTER_MAX && times->count < START_TIMES_MAX) {
		starts->at = memory_resize(starts->at, starts->count + 1, sizeof(*starts->at));
		times->count++;
		return &starts->at[starts->count++];
	}
	start = &starts->at[starts->next];
	starts->next = (starts->next + 1) % starts->count;
	free_start(start);
	return start;
}

/* Nothing would delete the times of one that does not exist. */
static bool may_exist(const struct control *control, const char *namespace_, const char *cluster)
{
	return !control || !control_synced(control) ||
	       kube_informer_get(control->ray_clusters, namespace_, cluster);
}

void start_times_pod_changed(void *context, const struct pod *old, const struct pod *new_object)
{
	struct start_times *times = context;
	int64_t ms = new_object ? pod_start_time_ms(new_object) : -1;
	const char *cluster, *group;
	struct starts *starts;

	if (ms < 0 || (old && pod_start_time_ms(old) >= 0))
		return;
	cluster = labels_value(&new_object->labels, LABEL_CLUSTER);
	group = labels_value(&new_object->labels, LABEL_GROUP);
	if (!cluster || !group || !may_exist(times->of.control, new_object->namespace_, cluster))
		return;
	starts = times->count < START_TIMES_MAX ?
			 cluster_map_make(&times->of.clusters, new_object->namespace_, cluster) :
			 cluster_map_get(&times->of.clusters, new_object->namespace_, cluster);
	/* Its readiness was interrupted: the time that was kept first is that of the start. */
	if (!starts || (old && VEC_FIND(starts, uid, new_object->uid)))
		return;
	starts->times = times;
	*next_start(times, starts) = (struct start){
		.uid = memory_strdup(new_object->uid),
		.group = memory_strdup(group),
		.ready = new_object->created + ms,
		.ms = ms,
	};
}

void start_times_ray_cluster_changed(void *context, const char *namespace_, const char *name,
				     bool deleted)
{
	struct start_times *times = context;

	if (deleted)
		cluster_map_remove(&times->of.clusters, namespace_, name);
}

const struct ray_work_start *start_times_of(const struct start_times *times, const char *namespace_,
					    const char *name, struct arena *arena,
					    size_t *ret_count)
{
	const struct starts *starts = cluster_map_get(&times->of.clusters, namespace_, name);
	struct ray_work_start *copy;

	*ret_count = starts ? starts->count : 0;
	copy = arena_array(arena, *ret_count, sizeof(*copy));
	if (!starts)
		return copy;
	for (size_t i = 0; i < starts->count; i++)
		copy[i] = (struct ray_work_start){ arena_strdup(arena, starts->at[i].uid),
						   arena_strdup(arena, starts->at[i].group),
						   starts->at[i].ready, starts->at[i].ms };
	return copy;
}
