/* The resources that one worker of each group of a RayCluster adds to Ray, for programs of other
 * languages: one RayCluster as JSON per line of standard input, one line of JSON per answer,
 * amounts in 1/10000. Made for the conformance run (e2e/conformance), which gives the same
 * RayClusters to Ray's own autoscaling_config. */

#include "codec/objects/ray_cluster_json.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "core/decide/limits.h"
#include "test/tools/json_lines.h"

#define LINE_BYTES_MAX ((size_t)64 << 20)

static void write_capacity(struct json_writer *writer, const struct capacity *capacity)
{
	json_write_object(writer, "resources");
	for (size_t i = 0; i < capacity->resources.count; i++)
		json_write_integer(writer, capacity->resources.at[i].name,
				   capacity->resources.at[i].amount);
	json_write_object_end(writer);
	json_write_object(writer, "labels");
	for (size_t i = 0; i < capacity->labels.count; i++)
		json_write_text(writer, capacity->labels.at[i].key, capacity->labels.at[i].value);
	json_write_object_end(writer);
}

static void write_problem(struct json_writer *writer, const char *problem)
{
	if (!problem)
		json_write_null(writer, "problem");
	else
		json_write_text(writer, "problem", problem);
}

static void write_group(struct json_writer *writer, const struct group *group)
{
	json_write_object(writer, NULL);
	json_write_text(writer, "name", group->spec->name);
	json_write_integer(writer, "min", group->spec->min_replicas * group->hosts);
	json_write_integer(writer, "max", group->spec->max_replicas * group->hosts);
	json_write_integer(writer, "idleMs", group->idle_timeout_ms);
	json_write_integer(writer, "priority", group->spec->priority);
	write_capacity(writer, &group->template_capacity);
	write_problem(writer, group->problem);
	json_write_object_end(writer);
}

static void write_cluster(struct json_writer *writer, const struct facts *facts)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "upscalingMode", facts->snapshot->cluster.upscaling_mode);
	json_write_array(writer, "groups");
	json_write_object(writer, NULL);
	json_write_text(writer, "name", HEAD_GROUP_NAME);
	write_capacity(writer, &facts->head_capacity);
	write_problem(writer, facts->head_capacity.problem);
	json_write_object_end(writer);
	for (size_t g = 0; g < facts->group_count; g++)
		write_group(writer, &facts->groups[g]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static int answer(const char *line, size_t size, struct arena *arena, struct buf *buf,
		  struct err *err)
{
	const struct json_limits limits = { .bytes = LINE_BYTES_MAX,
					    .depth = 64,
					    .elements = 1000000 };
	struct snapshot snapshot = { .device_table = device_table_builtin() };
	struct facts facts = { .snapshot = &snapshot, .arena = arena };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_writer writer;

	settings_init(&snapshot.settings);
	if (json_parse(line, size, &limits, &json, err) ||
	    ray_cluster_decode(json, "", arena, &snapshot.cluster, err))
		return -1;
	capacity_of_head(&snapshot.cluster, &snapshot.settings, snapshot.device_table, arena,
			 &facts.head_capacity);
	limits_make_groups(&facts);
	json_write_init(&writer, buf, JSON_STYLE_LINE);
	write_cluster(&writer, &facts);
	return 0;
}

int main(void)
{
	return json_lines_run(answer, LINE_BYTES_MAX);
}
