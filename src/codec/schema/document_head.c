#include "codec/schema/document_head.h"

#include <string.h>

#include "base/arena.h"

#define CLUSTER_FLAG "-f of lint or simulate"

/* Where a file of another kind belongs. */
static const struct {
	const char *kind, *flag;
} places[] = {
	{ "DeviceTable", "--device-table" },
	{ "PriceTable", "--price-table" },
	{ "NodePools", "--node-pools of simulate" },
	{ "Workload", "-w of simulate" },
	{ "Snapshot", "-f of plan" },
	{ "RayCluster", CLUSTER_FLAG },
	{ "RayJob", CLUSTER_FLAG },
	{ "RayService", CLUSTER_FLAG },
	{ "RayClusterAutoscaler", CLUSTER_FLAG },
};

static int fail_kind(const struct json_at *member, const char *kind, const char *is)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(places[i].kind, is) == 0)
			return json_fail(member, "must be %s, is \"%s\"; give a %s with %s", kind,
					 is, is, places[i].flag);
	return json_fail(member, "must be %s, is \"%.80s\"", kind, is);
}

/* A text that must be `value`. */
static int check_text(const struct json_at *root, const char *name, const char *value)
{
	struct json_at member = json_member(root, name);

	if (!json_is_given(&member))
		return json_fail(&member, "is missing; write \"%s: %s\"", name, value);
	if (json_expect(&member, JSON_STRING))
		return -1;
	return strcmp(json_text_value(&member), value) == 0 ?
		       0 :
		       json_fail(&member, "must be %s, is \"%.80s\"", value,
				 json_text_value(&member));
}

int document_head_check(const struct json_at *root, const char *kind)
{
	struct json_at member = json_member(root, "kind");

	if (json_type(root) != JSON_OBJECT)
		return json_fail(
			root,
			"must be a %s, is %s; begin it with \"apiVersion: " OWN_GROUP_VERSION
			"\" and \"kind: %s\"",
			kind, json_type_name(json_type(root)), kind);
	if (json_type(&member) == JSON_STRING && strcmp(json_text_value(&member), kind) != 0)
		return fail_kind(&member, kind, json_text_value(&member));
	return check_text(root, "apiVersion", OWN_GROUP_VERSION) || check_text(root, "kind", kind) ?
		       -1 :
		       0;
}
