#include "feature/record/cli/recorder.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"
#include "core/model/pod_starts.h"
#include "feature/record/core/pod_start_time.h"
#include "feature/record/core/recorded_requests.h"
#include "feature/record/objects/recording.h"

/* A Pod that was ready. */
struct ready_pod {
	const char *group;
	time_ms created;
	int64_t ms;
};

struct recorder {
	struct arena arena;
	struct recorded_work *work;
	struct recorded_requests *requests;
	struct map pods; /* uid: struct ready_pod */
	int64_t since_ms;
	time_ms since, until;                 /* TIME_NONE: no answer yet */
	int64_t missing[RAY_LISTS], unusable; /* of the first answer */
	int64_t dropped;                      /* of the last: a GCS counts them all */
	const char *problems[RAY_LISTS];      /* of the last */
};

struct recorder *recorder_new(int64_t since_ms)
{
	struct recorder *recorder = memory_alloc(sizeof(*recorder));

	recorder->work = recorded_work_new();
	recorder->requests = recorded_requests_new();
	recorder->pods = MAP_INIT;
	recorder->since_ms = since_ms;
	recorder->since = recorder->until = TIME_NONE;
	return recorder;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	recorded_work_free(recorder->work);
	recorded_requests_free(recorder->requests);
	map_done(&recorder->pods);
	arena_done(&recorder->arena);
	memory_free(recorder);
}

/* ---- answers ---- */

static void add_start(struct recorder *recorder, const char *uid, const char *group,
		      time_ms created, int64_t ms)
{
	struct ready_pod *ready;

	if (ms < 0 || ms > POD_STARTS_MAX_MS || !group || *uid == '\0' ||
	    map_get(&recorder->pods, uid) || recorder->pods.count >= POD_STARTS_MAX)
		return;
	ready = ARENA_NEW(&recorder->arena, struct ready_pod);
	*ready = (struct ready_pod){ arena_strdup(&recorder->arena, group), created, ms };
	map_set(&recorder->pods, uid, ready);
}

/* Of deleted Pods only those within the recording count. The time that the controller kept
 * when a Pod became ready is the one of its start; the present one may be of a later moment. */
static void add_starts(struct recorder *recorder, const struct snapshot *snapshot,
		       const struct ray_work_page *page)
{
	for (size_t i = 0; i < page->start_count; i++)
		if (page->starts[i].ready >= recorder->since)
			add_start(recorder, page->starts[i].uid, page->starts[i].group,
				  page->starts[i].ready - page->starts[i].ms, page->starts[i].ms);
	for (size_t i = 0; i < snapshot->pod_count; i++)
		add_start(recorder, snapshot->pods[i]->uid,
			  labels_value(&snapshot->pods[i]->labels, LABEL_GROUP),
			  snapshot->pods[i]->created, pod_start_time_ms(snapshot->pods[i]));
}

/* Of the Pods that are ready: since when Ray's nodes are workers with room. */
static void add_nodes(struct recorder *recorder, const struct snapshot *snapshot)
{
	const struct ray_state *state = snapshot->ray_state;
	struct map pods = MAP_INIT;

	if (!state)
		return;
	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (pod_start_time_ms(snapshot->pods[i]) >= 0)
			map_set(&pods, snapshot->pods[i]->name, snapshot->pods[i]);
	for (size_t i = 0; i < state->node_count; i++) {
		const struct pod *pod = map_get(&pods, state->nodes[i].instance_id);

		if (pod)
			recorded_work_node(recorder->work, state->nodes[i].id,
					   pod->created + pod_start_time_ms(pod));
	}
	map_done(&pods);
}

static void add_source(struct recorder *recorder, const struct ray_work_source *source, bool first)
{
	const char **problem = &recorder->problems[source->list];

	if (first)
		recorder->missing[source->list] = source->missing;
	if (source->list == RAY_LIST_TASKS && *source->problem == '\0')
		recorder->dropped = source->dropped;
	if (!*problem || strcmp(*problem, source->problem) != 0)
		*problem = arena_strdup(&recorder->arena, source->problem);
}

/* Without Ray's state its requests are unknown, and those of the last answer hold. */
static void add_requests(struct recorder *recorder, const struct snapshot *snapshot, time_ms at)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct ray_state *state = snapshot->ray_state;
	const struct ray_constraint **constraints;
	size_t count = 0;

	if (!state)
		return;
	constraints = arena_array(&scratch, state->constraint_count + 1, sizeof(*constraints));
	for (size_t i = 0; i < state->constraint_count; i++)
		constraints[count++] = &state->constraints[i];
	if (ray_cluster_requested(&snapshot->cluster))
		constraints[count++] = ray_cluster_requested(&snapshot->cluster);
	recorded_requests_add(recorder->requests, at, constraints, count);
}

void recorder_add(struct recorder *recorder, const struct snapshot *snapshot,
		  const struct ray_work_page *page)
{
	bool first = recorder->until == TIME_NONE;

	if (first) {
		recorder->since = page->at - recorder->since_ms;
		recorder->unusable = page->unusable;
	}
	recorder->until = page->at;
	recorded_work_add(recorder->work, page);
	for (size_t i = 0; i < page->source_count; i++)
		add_source(recorder, &page->sources[i], first);
	add_requests(recorder, snapshot, page->at);
	add_starts(recorder, snapshot, page);
	add_nodes(recorder, snapshot);
}

/* ---- starts ---- */

static int compare_pods(const void *a, const void *b)
{
	const struct ready_pod *left = a, *right = b;
	int order = strcmp(left->group, right->group);

	if (order == 0)
		order = (left->created > right->created) - (left->created < right->created);
	return order != 0 ? order : (left->ms > right->ms) - (left->ms < right->ms);
}

static struct pod_starts_list starts_of(const struct recorder *recorder, const char *cluster,
					struct arena *arena)
{
	size_t count = recorder->pods.count;
	struct ready_pod *pods = arena_array(arena, count, sizeof(*pods));
	int64_t *ms = arena_array(arena, count, sizeof(*ms));
	VEC(struct pod_starts) list = { .at = NULL };

	for (size_t i = 0; i < count; i++)
		pods[i] = *(const struct ready_pod *)recorder->pods.entries[i].value;
	sort_stable(pods, count, sizeof(*pods), compare_pods);
	for (size_t i = 0; i < count; i++) {
		ms[i] = pods[i].ms;
		if (i == 0 || strcmp(pods[i].group, pods[i - 1].group) != 0)
			VEC_PUSH(arena, &list,
				 ((struct pod_starts){ cluster, pods[i].group, &ms[i], 0 }));
		list.at[list.count - 1].count++;
	}
	return (struct pod_starts_list){ list.at, list.count };
}

/* ---- notes ---- */

struct notes {
	struct arena *arena;
	VEC(const char *) list;
};

static void add_count(struct notes *notes, int64_t count, const char *text)
{
	if (count > 0)
		VEC_PUSH(notes->arena, &notes->list,
			 arena_printf(notes->arena, "%lld %s", (long long)count, text));
}

static struct strings notes_of(const struct recorder *recorder, const struct recorded_items *items,
			       struct arena *arena)
{
	struct notes notes = { .arena = arena };

	for (size_t i = 0; i < RAY_LISTS; i++) {
		const char *name = ray_list_name((enum ray_list)i);

		if (recorder->problems[i] && *recorder->problems[i] != '\0')
			VEC_PUSH(arena, &notes.list,
				 arena_printf(arena, "%s are unknown: %s", name,
					      recorder->problems[i]));
		add_count(&notes, recorder->missing[i],
			  arena_printf(arena, "%s are missing: Ray did not list them", name));
	}
	add_count(&notes, recorder->dropped, "tasks are missing: Ray dropped their events");
	add_count(&notes, recorder->unusable + items->unusable,
		  "are missing: no workload can have them");
	add_count(&notes, items->endless, "are missing: they ended at an unknown time");
	add_count(&notes, items->full, "are missing: the recording is full");
	add_count(&notes, items->early,
		  "bundles were requested at an unknown time: they count from the beginning");
	add_count(&notes, items->open, "have not ended: they get the time until now");
	return (struct strings){ notes.list.at, notes.list.count };
}

/* ---- the file ---- */

static void write_summary(const struct recording *recording, size_t pods, size_t processes,
			  struct buf *summary)
{
	char since[RFC3339_SIZE], until[RFC3339_SIZE];
	const int64_t *kinds = recording->items.by_kind;

	rfc3339_print(recording->since, since);
	rfc3339_print(recording->until, until);
	buf_printf(summary,
		   "%lld tasks, %lld actors and %lld placement groups from %s to %s; starts of %zu "
		   "Pods\n",
		   (long long)kinds[WORK_TASK], (long long)kinds[WORK_ACTOR],
		   (long long)kinds[WORK_PLACEMENT_GROUP], since, until, pods);
	if (processes > 0)
		buf_printf(summary, "a process took %.2f s to start (median of %zu)\n",
			   (double)recording->process_ms / MS_PER_SECOND, processes);
	if (kinds[WORK_REQUEST_RESOURCES] > 0)
		buf_printf(summary, "%lld bundles of request_resources\n",
			   (long long)kinds[WORK_REQUEST_RESOURCES]);
	for (size_t i = 0; i < recording->notes.count; i++)
		text_add_line(summary, "%s", recording->notes.at[i]);
}

int recorder_write(const struct recorder *recorder, const struct snapshot *snapshot,
		   struct buf *file, struct buf *summary, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct recording recording = {
		.cluster = &snapshot->cluster,
		.autoscaler = snapshot->autoscaler,
		.starts = starts_of(recorder, snapshot->cluster.name, &arena),
		.since = recorder->since,
		.until = recorder->until,
	};
	size_t processes;

	recording.process_ms = recorded_work_process_ms(recorder->work, &processes);
	recorded_work_items(recorder->work, recorder->since, recorder->until, &arena,
			    &recording.items);
	recorded_requests_items(recorder->requests, recorder->since, recorder->until, &arena,
				&recording.items);
	recording.notes = notes_of(recorder, &recording.items, &arena);
	write_summary(&recording, recorder->pods.count, processes, summary);
	return recording_write(&recording, &arena, file, err);
}
