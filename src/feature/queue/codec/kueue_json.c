#include "feature/queue/codec/kueue_json.h"

#include <string.h>

#include "codec/text/json.h"

/* ---- a Workload in a snapshot ---- */

const struct kueue_workload kueue_workload_none = {
	.problem = "", .name = "", .reason = "", .message = "", .since = TIME_NONE
};

static const struct kueue_pod_set pod_set_none = { .name = "" };

#define SET struct kueue_pod_set
#define WORKLOAD struct kueue_workload

static const struct field snapshot_pod_set_fields[] = {
	FIELD_NAME(SET, name, "name", .flags = FIELD_REQUIRED),
	FIELD_INTEGER(SET, pods, "pods", .flags = FIELD_ALWAYS, .most = INT32_MAX),
	FIELD_INTEGER(SET, admitted, "admitted", .flags = FIELD_ALWAYS, .most = INT32_MAX),
	FIELD_END,
};

const struct field kueue_workload_fields[] = {
	FIELD_TEXT(WORKLOAD, problem, "problem"),
	FIELD_TEXT(WORKLOAD, name, "name"),
	FIELD_TEXT(WORKLOAD, reason, "reason"),
	FIELD_TEXT(WORKLOAD, message, "message"),
	FIELD_TIME(WORKLOAD, since, "since"),
	FIELD_LIST(WORKLOAD, pod_sets, pod_set_count, snapshot_pod_set_fields, "podSets",
		   .flags = FIELD_LINE, .initial = &pod_set_none, .limit = KUEUE_POD_SETS_MAX,
		   .strict = "a Pod set"),
	FIELD_END,
};

/* ---- a Workload of the API server ---- */

#define SLICE struct kueue_slice

static const struct kueue_pod_set pod_set_initial = { .name = "", .pods = 1 };

static const struct field pod_set_rows[] = {
	FIELD_TEXT(SET, name, "name"),
	FIELD_INTEGER(SET, pods, "count", .most = INT32_MAX),
	FIELD_END,
};

static const struct field metadata_rows[] = {
	FIELD_TEXT(SLICE, name, "name"),
	FIELD_TIME(SLICE, created, "creationTimestamp"),
	FIELD_INTEGER(SLICE, generation, "generation"),
	FIELD_END,
};

static const struct field spec_rows[] = {
	FIELD_LIST(SLICE, pod_sets, pod_set_count, pod_set_rows, "podSets",
		   .initial = &pod_set_initial, .limit = KUEUE_POD_SETS_MAX),
	FIELD_END,
};

/* A condition of an older form of the Workload is left out. */
static int conditions_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	SLICE *slice = object;

	for (struct json_at one = json_first(member); one.json; json_next(&one)) {
		struct condition condition = { .last_transition = TIME_NONE };
		int64_t generation;
		bool is_true, is_quota, has_generation;

		if (json_expect(&one, JSON_OBJECT) ||
		    field_decode_all(&one, condition_fields, &condition) ||
		    json_integer(&one, "observedGeneration", &has_generation, &generation))
			return -1;
		is_true = strcmp(condition.status, "True") == 0;
		is_quota = strcmp(condition.type, "QuotaReserved") == 0;
		slice->has_quota |= is_quota && is_true;
		slice->ended |= is_true && (strcmp(condition.type, "Finished") == 0 ||
					    strcmp(condition.type, "Evicted") == 0);
		if (is_quota && strcmp(condition.status, "False") == 0 &&
		    (!has_generation || generation == slice->generation))
			slice->refusal = condition;
	}
	return 0;
}

static const struct field status_rows[] = {
	FIELD_HOOK("conditions", .read = conditions_decode),
	FIELD_END,
};

static const struct field slice_fields[] = {
	FIELD_OBJECT(metadata_rows, "metadata"),
	FIELD_OBJECT(spec_rows, "spec"),
	FIELD_OBJECT(status_rows, "status"),
	FIELD_END,
};

int kueue_slices_add(const struct cJSON *workload, struct arena *arena, struct kueue_slices *slices,
		     struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(workload, "", &reader);
	struct kueue_slice slice = {
		.name = "", .refusal = { .reason = "", .message = "", .last_transition = TIME_NONE }
	};

	if (json_expect(&root, JSON_OBJECT) || field_decode_all(&root, slice_fields, &slice))
		return -1;
	if (!slice.ended)
		VEC_PUSH(arena, &slices->list, slice);
	return 0;
}

/* ---- the one that waits ---- */

static const struct kueue_slice *newest(const struct kueue_slices *slices, bool with_quota)
{
	const struct kueue_slice *found = NULL;

	VEC_EACH(const struct kueue_slice, slice, &slices->list)
		if (slice->has_quota == with_quota && (!found || slice->created >= found->created))
			found = slice;
	return found;
}

void kueue_workload_make(const struct kueue_slices *slices, struct arena *arena,
			 struct kueue_workload *ret_workload)
{
	const struct kueue_slice *waiting = newest(slices, false), *has = newest(slices, true);
	struct kueue_pod_set *sets;

	*ret_workload = kueue_workload_none;
	if (!waiting || (has && has->created > waiting->created))
		return;
	sets = arena_array(arena, waiting->pod_set_count, sizeof(*sets));
	for (size_t i = 0; i < waiting->pod_set_count; i++) {
		const struct kueue_pod_set *old;

		sets[i] = waiting->pod_sets[i];
		old = has ? ARRAY_FIND(has->pod_sets, has->pod_set_count, name, sets[i].name) :
			    NULL;
		sets[i].admitted = old ? old->pods : 0;
	}
	ret_workload->name = waiting->name;
	ret_workload->pod_sets = sets;
	ret_workload->pod_set_count = waiting->pod_set_count;
	ret_workload->reason = waiting->refusal.reason;
	ret_workload->message = waiting->refusal.message;
	ret_workload->since = waiting->refusal.last_transition;
}
