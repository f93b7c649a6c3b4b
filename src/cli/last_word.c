#include "cli/last_word.h"

#include "codec/objects/autoscaler_json.h"
#include "codec/text/json.h"

static int decode(const struct cJSON *json, const char *path, struct arena *arena, void *ret_object,
		  struct err *err)
{
	struct last_word *word = ret_object;
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), status, gpus, summary;

	if (autoscaler_decode(json, path, arena, &word->object, err) ||
	    json_object(&root, "status", &status) || json_text(&status, "reason", &word->reason) ||
	    json_text(&status, "message", &word->message) ||
	    json_object(&status, "summary", &summary) || json_text(&summary, "gpus", &word->gpus) ||
	    json_object(&status, "gpus", &gpus) || json_text(&gpus, "pending", &word->pending))
		return -1;
	return 0;
}

const struct kube_type kube_type_last_word = {
	.kind = "RayClusterAutoscaler",
	.plural = "rayclusterautoscalers",
	.group = "rayscaler.dev",
	.versions = { "v1alpha1", NULL },
	.install = "",
	.object_size = sizeof(struct last_word),
	.decode = decode,
};
