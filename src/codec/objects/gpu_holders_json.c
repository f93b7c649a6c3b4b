#include "codec/objects/gpu_holders_json.h"

#include "base/memory.h"
#include "codec/text/number.h"

/* Far above any cluster; the controller writes less. */
#define ANSWER_BYTES_MAX ((size_t)64 << 20)

#define AMOUNT(T, m, n) FIELD_AMOUNT(T, m, n, .flags = FIELD_ALWAYS)
FIELD_WORDS(gpu_holder_kind, enum gpu_holder_kind)

static const struct field holder_fields[] = {
	FIELD_WORD(struct gpu_holder, kind, enum gpu_holder_kind, gpu_holder_kind_word, "kind",
		   .flags = FIELD_ALWAYS, .limit = GPU_HOLDER_KINDS),
	FIELD_SHOWN(struct gpu_holder, name, "name", .flags = FIELD_ALWAYS),
	FIELD_SHOWN(struct gpu_holder, job, "job", .flags = FIELD_ALWAYS),
	FIELD_SHOWN(struct gpu_holder, submission, "submissionId"),
	FIELD_SHOWN(struct gpu_holder, entrypoint, "entrypoint"),
	FIELD_INTEGER(struct gpu_holder, count, "count", .flags = FIELD_ALWAYS),
	AMOUNT(struct gpu_holder, gpus, "gpus"),
	FIELD_TIME(struct gpu_holder, since, "since", .flags = FIELD_ALWAYS),
	FIELD_END,
};

static const struct field worker_fields[] = {
	FIELD_SHOWN(struct gpu_worker, pod, "pod", .flags = FIELD_ALWAYS),
	FIELD_SHOWN(struct gpu_worker, group, "group", .flags = FIELD_ALWAYS),
	AMOUNT(struct gpu_worker, gpus, "gpus"),
	AMOUNT(struct gpu_worker, in_use, "inUse"),
	AMOUNT(struct gpu_worker, unnamed, "unnamed"),
	FIELD_LIST(struct gpu_worker, holders, holder_count, holder_fields, "holders",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_END,
};

const struct field gpu_holders_fields[] = {
	FIELD_TIME(struct gpu_holders, at, "at", .flags = FIELD_ALWAYS),
	FIELD_SHOWN(struct gpu_holders, problem, "problem"),
	FIELD_TEXTS(struct gpu_holders, notes, "notes"),
	FIELD_LIST(struct gpu_holders, workers, worker_count, worker_fields, "workers",
		   .flags = FIELD_ALWAYS),
	FIELD_END,
};

void gpu_holders_write_of(struct json_writer *writer, const char *name,
			  const struct gpu_worker *worker)
{
	json_write_array(writer, name);
	for (size_t i = 0; i < worker->holder_count; i++)
		field_write_line(writer, holder_fields, &worker->holders[i]);
	json_write_array_end(writer);
}

int gpu_holders_read(const char *text, size_t size, struct arena *arena,
		     struct gpu_holders *ret_holders, struct err *err)
{
	static const struct json_limits limits = { .bytes = ANSWER_BYTES_MAX,
						   .depth = 64,
						   .elements = 4000000 };
	AUTO(json_done) struct cJSON *json = NULL;

	if (json_parse(text, size, &limits, &json, err))
		return -1;
	return field_decode_object(json, "", FIELD_WHOLE(struct gpu_holders, gpu_holders_fields),
				   arena, ret_holders, err);
}
