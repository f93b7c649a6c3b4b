#include "cli/gpus.h"

#include "codec/objects/gpu_holders_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/json_write.h"

/* Members are always written. */
#define AMOUNT(T, m, n) FIELD_AMOUNT(T, m, n, .flags = FIELD_ALWAYS)
#define COUNT(T, m, n) FIELD_COUNT(T, m, n, .flags = FIELD_ALWAYS)

static void write_user(struct json_writer *writer, const struct gpus_answer *answer,
		       const struct inventory_user *user)
{
	const struct gpu_holders *holders;
	const struct gpu_worker *worker = gpus_worker(answer, user, &holders);

	json_write_object_line(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "namespace", user->pod->namespace_ }, { "pod", user->pod->name },
			 { "rayCluster", user->cluster }, { "group", user->group });
	if (user->device == INVENTORY_NO_DEVICE)
		json_write_null(writer, "gpu");
	else
		json_write_integer(writer, "gpu", (int64_t)user->device);
	json_write_amount(writer, "allocated", user->amount);
	if (worker)
		gpu_holders_write_of(writer, "heldBy", worker);
	else
		json_write_null(writer, "heldBy");
	json_write_object_end(writer);
}

static const struct field device_fields[] = {
	AMOUNT(struct node_device, used, "allocated"),
	AMOUNT(struct node_device, forecast, "forecast"),
	AMOUNT(struct node_device, total, "total"),
	FIELD_END,
};

static void write_devices(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct node_amount *amount = object;

	json_write_array(writer, field->name);
	for (size_t i = 0; i < amount->device_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_integer(writer, "gpu", (int64_t)i);
		field_write_all(writer, device_fields, &amount->devices[i]);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static const struct field amount_fields[] = {
	AMOUNT(struct node_amount, capacity, "capacity"),
	AMOUNT(struct node_amount, allocatable, "total"),
	AMOUNT(struct node_amount, used, "allocated"),
	FIELD_HOOK("gpus", .write = write_devices),
	AMOUNT(struct node_amount, unplaced, "withoutGpu"),
	FIELD_END,
};

static const struct field stranded_fields[] = {
	AMOUNT(struct inventory_resource, stranded, "stranded"),
	FIELD_TEXT(struct inventory_resource, stranded_why, "strandedWhy", .flags = FIELD_ALWAYS),
	FIELD_END,
};

static void write_resource(struct json_writer *writer, const struct gpus_answer *answer,
			   const struct inventory_resource *resource)
{
	const struct node_amount *amount = resource->amount;

	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "resource", amount->resource },
			 { "kind", device_kind_name(amount->row->kind) },
			 { "share", device_share_name(amount->row->share) });
	field_write_all(writer, amount_fields, amount);
	field_write_all(writer, stranded_fields, resource);
	json_write_array(writer, "users");
	for (size_t i = 0; i < resource->users.count; i++)
		write_user(writer, answer, &resource->users.at[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_node(struct json_writer *writer, const struct gpus_answer *answer,
		       const struct inventory_node *node)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "name", node->capacity->node->name },
			 { "address", node->capacity->node->address },
			 { "sign", gpus_sign_of(node->capacity->node, &scratch) });
	json_write_boolean(writer, "ready", node->ready);
	json_write_boolean(writer, "cordoned", node->capacity->node->unschedulable);
	json_write_boolean(writer, "gpushare", node->shared);
	json_write_array(writer, "resources");
	for (size_t i = 0; i < node->count; i++)
		write_resource(writer, answer, &node->at[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_nodes(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct gpus_answer *answer = object;

	json_write_array(writer, field->name);
	for (size_t i = 0; i < answer->inventory.node_count; i++)
		write_node(writer, answer, &answer->inventory.nodes[i]);
	json_write_array_end(writer);
}

static const struct field total_fields[] = {
	FIELD_TEXT(struct inventory_total, resource, "resource", .flags = FIELD_ALWAYS),
	COUNT(struct inventory_total, nodes, "nodes"),
	AMOUNT(struct inventory_total, allocatable, "total"),
	AMOUNT(struct inventory_total, used, "allocated"),
	AMOUNT(struct inventory_total, stranded, "stranded"),
	COUNT(struct inventory_total, waiting_pods, "waitingPods"),
	AMOUNT(struct inventory_total, waiting, "waiting"),
	FIELD_END,
};

#define STOCK_TEXT(m, n) FIELD_TEXT(struct device_stock, m, n, .flags = FIELD_ALWAYS)
#define STOCK_COUNT(m, n) FIELD_INTEGER(struct device_stock, count.m, n, .flags = FIELD_ALWAYS)

static const struct field stock_fields[] = {
	STOCK_TEXT(driver, "driver"),
	STOCK_TEXT(type, "type"),
	STOCK_TEXT(product, "product"),
	STOCK_COUNT(total, "total"),
	STOCK_COUNT(free, "free"),
	STOCK_COUNT(claimed, "claimed"),
	STOCK_COUNT(tainted, "tainted"),
	STOCK_COUNT(blocked, "blocked"),
	FIELD_END,
};

static const struct field answer_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", "GpuInventory"),
	COUNT(struct gpus_answer, unreadable, "unreadable"),
	COUNT(struct gpus_answer, inventory.other_nodes, "nodesWithout"),
	FIELD_HOOK("nodes", .write = write_nodes),
	FIELD_LIST(struct gpus_answer, inventory.totals, inventory.total_count, total_fields,
		   "totals", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_LIST(struct gpus_answer, stocks.at, stocks.count, stock_fields, "devices",
		   .flags = FIELD_LINE),
	FIELD_END,
};

int gpus_json_write(const struct gpus_answer *answer, struct buf *buf, struct err *err)
{
	field_write_page(answer_fields, answer, buf);
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}
