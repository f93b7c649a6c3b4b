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

struct kueue_condition {
	const char *type, *status, *reason, *message;
	time_ms since;
	int64_t generation; /* of the Workload that it is about; 0: not given */
};

#define SLICE struct kueue_slice
#define CONDITION struct kueue_condition

static const struct kueue_condition condition_initial = {
	.type = "", .status = "", .reason = "", .message = "", .since = TIME_NONE
};
static const struct kueue_pod_set pod_set_initial = { .name = "", .pods = 1 };

static const struct field condition_rows[] = {
	FIELD_TEXT(CONDITION, type, "type"),
	FIELD_TEXT(CONDITION, status, "status"),
	FIELD_TEXT(CONDITION, reason, "reason"),
	FIELD_SHOWN(CONDITION, message, "message"),
	FIELD_TIME(CONDITION, since, "lastTransitionTime"),
	FIELD_INTEGER(CONDITION, generation, "observedGeneration"),
	FIELD_END,
};

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

static const struct field status_rows[] = {
	FIELD_LIST(SLICE, conditions, condition_count, condition_rows, "conditions",
		   .initial = &condition_initial, .limit = 1000),
	FIELD_END,
};

static const struct field slice_fields[] = {
	FIELD_OBJECT(metadata_rows, "metadata"),
	FIELD_OBJECT(spec_rows, "spec"),
	FIELD_OBJECT(status_rows, "status"),
	FIELD_END,
};

static const struct kueue_condition *find(const struct kueue_slice *slice, const char *type)
{
	return ARRAY_FIND(slice->conditions, slice->condition_count, type, type);
}

static bool is(const struct kueue_slice *slice, const char *type)
{
	const struct kueue_condition *condition = find(slice, type);

	return condition && strcmp(condition->status, "True") == 0;
}

int kueue_slices_add(const struct cJSON *workload, struct arena *arena, struct kueue_slices *slices,
		     struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(workload, "", &reader);
	struct kueue_slice slice = { .name = "" };

	if (json_expect(&root, JSON_OBJECT) || field_decode_all(&root, slice_fields, &slice))
		return -1;
	if (!is(&slice, "Finished") && !is(&slice, "Evicted"))
		VEC_PUSH(arena, &slices->list, slice);
	return 0;
}

/* ---- the one that waits ---- */

static const struct kueue_slice *newest(const struct kueue_slices *slices, bool with_quota)
{
	const struct kueue_slice *found = NULL;

	VEC_EACH(const struct kueue_slice, slice, &slices->list)
		if (is(slice, "QuotaReserved") == with_quota &&
		    (!found || slice->created >= found->created))
			found = slice;
	return found;
}

/* Of the Workload as it is now; NULL: none. */
static const struct kueue_condition *refusal(const struct kueue_slice *slice)
{
	const struct kueue_condition *condition = find(slice, "QuotaReserved");

	return condition && strcmp(condition->status, "False") == 0 &&
			       (condition->generation == 0 ||
				condition->generation == slice->generation) ?
		       condition :
		       NULL;
}

void kueue_workload_make(const struct kueue_slices *slices, struct arena *arena,
			 struct kueue_workload *ret_workload)
{
	const struct kueue_slice *waiting = newest(slices, false), *has = newest(slices, true);
	const struct kueue_condition *condition;
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
	condition = refusal(waiting);
	if (!condition)
		return;
	ret_workload->reason = condition->reason;
	ret_workload->message = condition->message;
	ret_workload->since = condition->since;
}
