#include "kube/kube_verb.h"

#define JSON "Content-Type: application/json"
#define JSON_PATCH "Content-Type: application/json-patch+json"
#define MERGE_PATCH "Content-Type: application/merge-patch+json"

const struct kube_verb_words kube_verbs[] = {
	[KUBE_GET] = { "get", "GET", JSON },
	[KUBE_CREATE] = { "create", "POST", JSON },
	[KUBE_JSON_PATCH] = { "patch", "PATCH", JSON_PATCH },
	[KUBE_MERGE_PATCH] = { "patch", "PATCH", MERGE_PATCH },
	[KUBE_UPDATE] = { "update", "PUT", JSON },
	[KUBE_DELETE] = { "delete", "DELETE", JSON },
};
