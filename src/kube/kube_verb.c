#include "kube/kube_verb.h"

#include "base/check.h"

const char *kube_verb_name(enum kube_verb verb)
{
	static const char *const verbs[] = {
		[KUBE_GET] = "get",           [KUBE_CREATE] = "create", [KUBE_JSON_PATCH] = "patch",
		[KUBE_MERGE_PATCH] = "patch", [KUBE_UPDATE] = "update", [KUBE_DELETE] = "delete",
	};

	return verbs[verb];
}

const char *kube_verb_method(enum kube_verb verb)
{
	switch (verb) {
	case KUBE_GET:
		return "GET";
	case KUBE_CREATE:
		return "POST";
	case KUBE_JSON_PATCH:
	case KUBE_MERGE_PATCH:
		return "PATCH";
	case KUBE_UPDATE:
		return "PUT";
	case KUBE_DELETE:
		break;
	}
	CHECK(verb == KUBE_DELETE);
	return "DELETE";
}

const char *kube_verb_content_type(enum kube_verb verb)
{
	if (verb == KUBE_JSON_PATCH)
		return "Content-Type: application/json-patch+json";
	if (verb == KUBE_MERGE_PATCH)
		return "Content-Type: application/merge-patch+json";
	return "Content-Type: application/json";
}
