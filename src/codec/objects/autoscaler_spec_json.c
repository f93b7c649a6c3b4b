#include "codec/objects/autoscaler_spec_json.h"

#include "codec/objects/request_resources.h"
#include "codec/text/quantity.h"
#include "core/model/kubernetes.h"
#include "feature_codec.h"

#define AUTOSCALER struct autoscaler_object
#define SCHEDULE struct autoscaler_schedule
#define NOT_NEGATIVE "format: int32\nminimum: 0"

static int max_gpus_decode(const struct json_at *member, const struct field *field UNUSED,
			   void *object)
{
	struct autoscaler_object *ret = object;
	struct quantity quantity;

	if (!json_is_given(member))
		return 0;
	if (quantity_decode(member, &quantity))
		return -1;
	/* A quota that does not parse still applies: nothing more is launched. */
	ret->has_max_gpus = true;
	ret->max_gpus = quantity.amount;
	if (!quantity.valid)
		ret->bad_max_gpus = quantity.text;
	return 0;
}

static void write_max_gpus(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct autoscaler_object *autoscaler = object;

	if (autoscaler->bad_max_gpus)
		json_write_text(writer, field->name, autoscaler->bad_max_gpus);
	else if (autoscaler->has_max_gpus)
		json_write_amount(writer, field->name, autoscaler->max_gpus);
}

#define LAUNCH(T, m, h, n, text)                                                                   \
	FIELD_INTEGER(T, launch.m, n, .has = FIELD_HAS(T, launch.h),                               \
		      .check = field_check_not_negative, .description = (text),                    \
		      .schema = NOT_NEGATIVE)
#define LAUNCH_ROWS(T)                                                                             \
	LAUNCH(T, start_seconds, has_start, "startTimeoutSeconds",                                 \
	       "How long a Pod may take until its raylet has registered."),                        \
		LAUNCH(T, node_seconds, has_node, "nodeProvisionTimeoutSeconds",                   \
		       "How long an unschedulable Pod may wait for a Node."),                      \
		LAUNCH(T, hold_seconds, has_hold, "gangHoldSeconds",                               \
		       "How long a part of a gang waits for the rest; 0: no limit."),              \
		LAUNCH(T, most_starting, has_most_starting, "maxStartingWorkers",                  \
		       "Limit on launched workers that are not registered; 0: none.")

static const struct field spec_group_fields[] = {
	FIELD_TEXT(struct autoscaler_group, name, "name", .read = field_group_name_decode,
		   .flags = FIELD_REQUIRED,
		   .description = "groupName of the worker group in the RayCluster.",
		   .schema = "minLength: 1\nmaxLength: 253"),
	FIELD_INTEGER(struct autoscaler_group, idle_timeout_seconds, "idleTimeoutSeconds",
		      .has = FIELD_HAS(struct autoscaler_group, has_idle_timeout_seconds),
		      .check = field_check_not_negative,
		      .description = "As in spec, for this group.", .schema = NOT_NEGATIVE),
	LAUNCH_ROWS(struct autoscaler_group),
	FIELD_NAMES(NULL),
};

FEATURE_SPEC_TABLES(SCHEDULE, FEATURE_SCHEDULE_REQUEST_ROWS(SCHEDULE) REQUEST_BUNDLES_ROW)

const struct field autoscaler_spec_fields[] = {
	FIELD_BOOLEAN(AUTOSCALER, paused, "paused",
		      .description = "True: the RayCluster is not scaled, and Ray is not read."),
	FIELD_INTEGER(AUTOSCALER, idle_timeout_seconds, "idleTimeoutSeconds",
		      .has = FIELD_HAS(AUTOSCALER, has_idle_timeout_seconds),
		      .check = field_check_not_negative,
		      .description = "A worker is terminated when it is idle for longer than this.",
		      .schema = NOT_NEGATIVE),
	FIELD_TEXT(AUTOSCALER, upscaling_mode, "upscalingMode", .check = field_check_enum,
		   .description = "Conservative starts no more workers of a group at once than run "
				  "already; Default and Aggressive have no such limit.",
		   .schema = UPSCALING_MODES),
	FIELD_HOOK("maxGPUs", .read = max_gpus_decode, .write = write_max_gpus,
		   .description = "Limit on the GPUs of the cluster as Ray counts them, the head's "
				  "included. 0 starts no worker with GPUs. The smallest of all "
				  "limits counts. Running workers are not terminated for it.",
		   .schema = "type: integer\n" NOT_NEGATIVE),
	LAUNCH_ROWS(AUTOSCALER),
	FIELD_LIST(AUTOSCALER, groups, group_count, spec_group_fields, "groups",
		   .flags = FIELD_LINE, .description = "Settings of single worker groups.",
		   .schema = "maxItems: 1000\n"
			     "x-kubernetes-list-type: map\n"
			     "x-kubernetes-list-map-keys: [name]",
		   /* A server without strict validation drops a misspelled setting. */
		   .element_schema = "x-kubernetes-validations:\n"
				     "- rule: has(self.idleTimeoutSeconds) || "
				     "has(self.startTimeoutSeconds) || "
				     "has(self.nodeProvisionTimeoutSeconds) || "
				     "has(self.gangHoldSeconds) || "
				     "has(self.maxStartingWorkers)\n"
				     "  message: a group without a setting; set one "
				     "or remove the group"),
	FEATURE_SPEC_ROWS(AUTOSCALER) FIELD_NAMES(NULL),
};
