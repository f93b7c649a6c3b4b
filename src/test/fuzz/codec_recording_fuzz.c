/* A recording: answers of /work (JSON, separated by NULs) become a file, and a file with PodStarts is
 * read. Laws: a refusal has a reason; what is written can be read as RayClusters and as a workload. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/cluster_set.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/workload_file.h"
#include "codec/text/yaml.h"
#include "feature/record/core/pod_start_time.h"
#include "feature/record/objects/ray_work_json.h"
#include "feature/record/objects/recording.h"

static const char cluster_text[] =
	"metadata: {name: demo}\nspec: {workerGroupSpecs: [{groupName: g, template: {}}]}\n";
static const struct json_limits limits = { .bytes = 4096, .depth = 16, .elements = 1000 };

static void check_file(const struct recording *recording, struct arena *arena)
{
	AUTO(buf_done) struct buf file;
	struct cluster_set *set = cluster_set_new();
	struct workload workload;
	struct err err;

	buf_init(&file, RECORDING_BYTES_MAX);
	REQUIRE(recording_write(recording, arena, &file, &err) == 0);
	REQUIRE(cluster_set_add(set, file.data, file.size, &err) == 0);
	REQUIRE(cluster_set_starts(set).count == recording->starts.count);
	if (recording->items.count > 0) {
		REQUIRE(workload_read(file.data, file.size, NULL, arena, &workload, &err) == 0);
		REQUIRE(workload.count == recording->items.count);
	}
	cluster_set_free(set);
}

/* Times far apart are more than a workload may span, so the recording is of a year. */
static void check_items(const struct recorded_work *work, time_ms until,
			const struct ray_cluster *cluster, struct arena *arena)
{
	static const int64_t ms[] = { 18000, 20500 };
	static const struct pod_starts starts = { "demo", "g", ms, 2 };
	struct recording recording = { .cluster = cluster,
				       .starts = { &starts, 1 },
				       .since = until - INT64_C(366) * 86400 * 1000,
				       .until = until };

	recorded_work_items(work, recording.since, until, arena, &recording.items);
	check_file(&recording, arena);
}

static void check_starts(const char *text, size_t size)
{
	struct cluster_set *set = cluster_set_new();
	struct err err = { .kind = ERR_NONE };
	struct pod_starts_list list;

	if (cluster_set_add(set, text, size, &err))
		REQUIRE(err.text[0] != '\0');
	list = cluster_set_starts(set);
	for (size_t i = 0; i < list.count; i++) {
		REQUIRE(list.at[i].count > 0 && list.at[i].count <= POD_STARTS_MAX);
		for (size_t k = 0; k < list.at[i].count; k++)
			REQUIRE(list.at[i].ms[k] >= 0 && list.at[i].ms[k] <= POD_STARTS_MAX_MS);
	}
	cluster_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct recorded_work *work = recorded_work_new();
	const char *text = (const char *)data, *last = text + size;
	struct ray_cluster cluster;
	time_ms until = TIME_NONE;
	struct err err;

	REQUIRE(yaml_parse(cluster_text, strlen(cluster_text), &limits, &tree, &err) == 0);
	REQUIRE(ray_cluster_decode(tree, "", &arena, &cluster, &err) == 0);
	check_starts(text, size);
	while (text < last) {
		const char *end = memchr(text, '\0', (size_t)(last - text));
		size_t part = end ? (size_t)(end - text) : (size_t)(last - text);
		struct ray_work_page page;

		err = (struct err){ .kind = ERR_NONE };
		if (ray_work_read(text, part, &arena, &page, &err) == 0) {
			recorded_work_add(work, &page);
			until = page.at;
		} else {
			REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		}
		text += part + 1;
	}
	if (until != TIME_NONE)
		check_items(work, until, &cluster, &arena);
	recorded_work_free(work);
	return 0;
}
