#include "codec/objects/node_pools_json.h"

#include <string.h>

#include "base/text.h"
#include "codec/schema/document_head.h"
#include "codec/schema/field.h"
#include "codec/text/duration.h"

#define POOL struct node_pool
#define PROVISION_MS INT64_C(120000)
#define HOUR_MS 3600000.0
#define INTERRUPTIONS_MAX 1000 /* of one Node in an hour */
#define TIME_MAX_MS (INT64_C(10) * 365 * 86400 * 1000)
#define LIFE_MS_MAX 1e15

/* ---- members ---- */

/* A time such as "90s"; FIELD_REQUIRED, or it keeps its value. */
static int duration_decode(const struct json_at *member, const struct field *field, void *object)
{
	int64_t *ret_ms = field_value(field, object);
	const char *problem;

	if (!(field->flags & FIELD_REQUIRED) && json_type(member) == JSON_MISSING)
		return 0;
	if (json_expect(member, JSON_STRING))
		return -1;
	if (duration_parse(json_text_value(member), ret_ms, &problem))
		return json_fail(member, "\"%.40s\" %s", json_text_value(member), problem);
	if (*ret_ms > TIME_MAX_MS)
		return json_fail(member, "must be at most 10 years");
	return 0;
}

static int until_decode(const struct json_at *member, const struct field *field, void *object)
{
	const struct node_pool_window *window = object;

	if (duration_decode(member, field, object))
		return -1;
	return window->until_ms < window->from_ms ? json_fail(member, "must be after from") : 0;
}

static int life_decode(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct node_pool *pool = object;
	double rate;

	if (!json_is_given(member))
		return 0;
	if (json_expect(member, JSON_NUMBER))
		return -1;
	rate = json_number_value(member);
	if (!(rate >= 0 && rate <= INTERRUPTIONS_MAX))
		return json_fail(member, "must be 0 to %d, is %g", INTERRUPTIONS_MAX, rate);
	if (rate > 0)
		pool->life_ms = HOUR_MS / rate < LIFE_MS_MAX ? (int64_t)(HOUR_MS / rate) :
							       (int64_t)LIFE_MS_MAX;
	return 0;
}

static int check_most(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	const struct node_pool *pool = object;

	return pool->max_nodes < pool->min_nodes ?
		       json_fail(member, "must be at least minNodes (%lld), is %lld",
				 (long long)pool->min_nodes, (long long)pool->max_nodes) :
		       0;
}

static bool is_resource(const char *name)
{
	static const char *const names[] = { "cpu", "memory", "ephemeral-storage", "pods" };

	return strchr(name, '/') || strncmp(name, "hugepages-", strlen("hugepages-")) == 0 ||
	       text_is_among(name, names, sizeof(names) / sizeof(names[0]));
}

static int check_amounts(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	const struct node_pool *pool = object;
	const struct quantities *amounts = &pool->node.allocatable;

	for (size_t i = 0; i < amounts->count; i++) {
		struct json_at amount = json_member(member, amounts->at[i].name);

		if (!is_resource(amounts->at[i].name))
			return json_fail(&amount, "must be cpu, memory, ephemeral-storage, pods "
						  "or a name such as nvidia.com/gpu");
		if (!amounts->at[i].valid)
			return json_fail(&amount, "\"%.40s\" is not an amount such as 8 or 64Gi",
					 amounts->at[i].text);
	}
	return 0;
}

static int check_effect(const struct json_at *member, const struct field *field UNUSED,
			void *object)
{
	static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute" };
	const struct taint *taint = object;

	if (text_is_among(taint->effect, effects, sizeof(effects) / sizeof(effects[0])))
		return 0;
	return json_fail(member, "must be NoSchedule, PreferNoSchedule or NoExecute, is \"%.40s\"",
			 taint->effect);
}

static int check_repairs(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	const struct node_pool *pool = object;

	ARRAY_EACH(const struct node_pool_window, repair, pool->repairs, pool->repair_count)
		if (repair->nodes > pool->max_nodes)
			return json_fail(member, "nodes must be at most maxNodes (%lld), is %lld",
					 (long long)pool->max_nodes, (long long)repair->nodes);
	return 0;
}

static int check_pools(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	const struct node_pools *pools = object;

	return pools->count == 0 ? json_fail(member, "must have at least one pool") : 0;
}

/* ---- the document ---- */

static const struct field taint_fields[] = {
	FIELD_NAME(struct taint, key, "key", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct taint, value, "value"),
	FIELD_NAME(struct taint, effect, "effect", .flags = FIELD_REQUIRED, .check = check_effect),
	FIELD_END,
};

static const struct field refusal_fields[] = {
	FIELD_INTEGER(struct node_pool_window, from_ms, "from", .flags = FIELD_REQUIRED,
		      .read = duration_decode),
	FIELD_INTEGER(struct node_pool_window, until_ms, "until", .flags = FIELD_REQUIRED,
		      .read = until_decode),
	FIELD_END,
};

static const struct field repair_fields[] = {
	FIELD_INTEGER(struct node_pool_window, from_ms, "from", .flags = FIELD_REQUIRED,
		      .read = duration_decode),
	FIELD_INTEGER(struct node_pool_window, until_ms, "until", .flags = FIELD_REQUIRED,
		      .read = until_decode),
	FIELD_INTEGER(struct node_pool_window, nodes, "nodes", .most = NODE_POOL_NODES_MAX),
	FIELD_END,
};

static const struct node_pool_window repair_initial = { .nodes = 1 };

static const struct field pool_fields[] = {
	FIELD_NAME(POOL, node.name, "name", .flags = FIELD_REQUIRED, .check = field_check_unique,
		   .size = sizeof(POOL)),
	FIELD_LABELS(POOL, node.labels, "nodeLabels"),
	FIELD_LIST(POOL, node.taints, node.taint_count, taint_fields, "taints",
		   .strict = "a taint"),
	FIELD_QUANTITIES(POOL, node.allocatable, "allocatable", .check = check_amounts),
	FIELD_INTEGER(POOL, min_nodes, "minNodes", .most = NODE_POOL_NODES_MAX),
	FIELD_INTEGER(POOL, max_nodes, "maxNodes", .flags = FIELD_GIVEN,
		      .most = NODE_POOL_NODES_MAX, .check = check_most),
	FIELD_INTEGER(POOL, provision_ms, "provisioningDelay", .read = duration_decode),
	FIELD_LIST(POOL, refusals, refusal_count, refusal_fields, "refusals", .strict = "a refusal",
		   .limit = NODE_POOL_REFUSALS_MAX),
	FIELD_LIST(POOL, repairs, repair_count, repair_fields, "repairs", .strict = "a repair",
		   .initial = &repair_initial, .limit = NODE_POOL_REFUSALS_MAX,
		   .check = check_repairs),
	FIELD_INTEGER(POOL, life_ms, "interruptionsPerHour", .read = life_decode),
	FIELD_END,
};

static const struct node_pool pool_initial = {
	.node = { .name = "", .resource_version = "", .address = "" },
	.provision_ms = PROVISION_MS,
};

static const struct field file_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION, .flags = FIELD_REQUIRED),
	FIELD_FIXED("kind", "NodePools", .flags = FIELD_REQUIRED),
	FIELD_LIST(struct node_pools, at, count, pool_fields, "pools", .flags = FIELD_GIVEN,
		   .strict = "a pool", .check = check_pools, .initial = &pool_initial,
		   .limit = NODE_POOLS_MAX),
	FIELD_END,
};

int node_pools_decode(const struct json_at *root, void *ret_pools)
{
	return document_head_check(root, "NodePools") ||
			       field_check_names(root, file_fields, "a NodePools document") ||
			       field_decode_all(root, file_fields, ret_pools) ?
		       -1 :
		       0;
}
