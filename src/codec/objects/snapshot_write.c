#include "codec/objects/snapshot_write.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/device_table_json.h"
#include "codec/objects/event_json.h"
#include "codec/objects/field.h"
#include "codec/objects/memory_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json_write.h"

/* The word of a CHOICE: its unit is "ray|fewest-gpus", in the order of the enum. */
static void write_choice(struct json_writer *writer, const struct settings_row *row, int value,
			 struct arena *arena)
{
	const char *word = row->unit, *end;

	for (; value > 0; value--)
		word = strchr(word, '|') + 1;
	end = strchrnul(word, '|');
	json_write_text(writer, row->name, arena_strndup(arena, word, (size_t)(end - word)));
}

static void write_settings(struct json_writer *writer, const struct settings *settings,
			   struct arena *arena)
{
	size_t count;
	const struct settings_row *rows = settings_rows(&count);

	json_write_object(writer, "settings");
	for (size_t i = 0; i < count; i++) {
		const void *member = (const char *)settings + rows[i].offset;

		switch (rows[i].kind) {
		case SETTINGS_INTEGER:
			json_write_integer(writer, rows[i].name, *(const int64_t *)member);
			break;
		case SETTINGS_BOOLEAN:
			json_write_boolean(writer, rows[i].name, *(const bool *)member);
			break;
		case SETTINGS_CHOICE:
			write_choice(writer, &rows[i], *(const int *)member, arena);
			break;
		case SETTINGS_LIST:
			if (((const struct strings *)member)->count > 0)
				field_write_texts(writer, rows[i].name, member);
			break;
		}
	}
	json_write_object_end(writer);
}

#define WRITE_OBJECTS(writer, name, write, objects, count)                                         \
	do {                                                                                       \
		json_write_array((writer), (name));                                                \
		for (size_t i_ = 0; i_ < (count); i_++)                                            \
			write((writer), NULL, &(objects)[i_]);                                     \
		json_write_array_end((writer));                                                    \
	} while (0)

static void write_ray_state(struct json_writer *writer, const struct snapshot *snapshot)
{
	if (!snapshot->ray_state) {
		json_write_null(writer, "rayState");
		return;
	}
	ray_state_write(writer, "rayState", snapshot->ray_state);
	json_write_time(writer, "rayStateTime", snapshot->ray_state_time);
}

static void write_pods(struct json_writer *writer, const struct snapshot *snapshot)
{
	json_write_array(writer, "pods");
	for (size_t i = 0; i < snapshot->pod_count; i++)
		pod_write(writer, NULL, &snapshot->pods[i]);
	for (size_t i = 0; i < snapshot->foreign_pod_count; i++)
		pod_write_foreign(writer, NULL, &snapshot->foreign_pods[i]);
	json_write_array_end(writer);
}

static void write_members(struct json_writer *writer, const struct snapshot *snapshot,
			  struct arena *arena)
{
	json_write_text(writer, "apiVersion", SNAPSHOT_API_VERSION);
	json_write_text(writer, "kind", "Snapshot");
	json_write_time(writer, "now", snapshot->now);
	ray_cluster_write(writer, "rayCluster", &snapshot->cluster);
	write_pods(writer, snapshot);
	if (snapshot->view_problem && snapshot->view_problem[0])
		json_write_text(writer, "viewProblem", snapshot->view_problem);
	write_ray_state(writer, snapshot);
	if (snapshot->events_known)
		WRITE_OBJECTS(writer, "events", event_write, snapshot->events,
			      snapshot->event_count);
	write_settings(writer, &snapshot->settings, arena);
	if (snapshot->autoscaler)
		autoscaler_write(writer, "autoscaler", snapshot->autoscaler);
	if (snapshot->nodes_known)
		WRITE_OBJECTS(writer, "nodes", node_write, snapshot->nodes, snapshot->node_count);
	if (snapshot->other_pods_known)
		WRITE_OBJECTS(writer, "otherPods", pod_write, snapshot->other_pods,
			      snapshot->other_pod_count);
	if (device_table_own(snapshot->device_table).count > 0)
		device_table_write(writer, "deviceTable", snapshot->device_table);
	if (snapshot->has_gpu_budget)
		json_write_amount(writer, "gpuBudget", snapshot->gpu_budget);
	if (snapshot->has_gpu_budget && snapshot->gpu_budget_of && snapshot->gpu_budget_of[0])
		json_write_text(writer, "gpuBudgetOf", snapshot->gpu_budget_of);
	if (snapshot->memory)
		memory_write(writer, "memory", snapshot->memory);
}

int snapshot_write(const struct snapshot *snapshot, struct buf *buf, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	write_members(&writer, snapshot, &arena);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the snapshot has more than %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}
