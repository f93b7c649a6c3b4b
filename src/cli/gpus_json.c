#include "cli/gpus.h"

#include "codec/objects/gpu_holders_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json_write.h"
#include "feature/device_claims/core/device_nodes.h"

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

static void write_devices(struct json_writer *writer, const struct node_amount *amount)
{
	json_write_array(writer, "gpus");
	for (size_t i = 0; i < amount->device_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_integer(writer, "gpu", (int64_t)i);
		json_write_amount(writer, "allocated", amount->devices[i].used);
		json_write_amount(writer, "forecast", amount->devices[i].forecast);
		json_write_amount(writer, "total", amount->devices[i].total);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_resource(struct json_writer *writer, const struct gpus_answer *answer,
			   const struct inventory_resource *resource)
{
	const struct node_amount *amount = resource->amount;

	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "resource", amount->resource },
			 { "kind", device_kind_name(amount->row->kind) },
			 { "share", device_share_name(amount->row->share) });
	json_write_amount(writer, "capacity", amount->capacity);
	json_write_amount(writer, "total", amount->allocatable);
	json_write_amount(writer, "allocated", amount->used);
	write_devices(writer, amount);
	json_write_amount(writer, "withoutGpu", amount->unplaced);
	json_write_amount(writer, "stranded", resource->stranded);
	json_write_text(writer, "strandedWhy", resource->stranded_why);
	json_write_array(writer, "users");
	for (size_t i = 0; i < resource->users.count; i++)
		write_user(writer, answer, &resource->users.at[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_node(struct json_writer *writer, const struct gpus_answer *answer,
		       const struct inventory_node *node)
{
	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "name", node->capacity->node->name },
			 { "address", node->capacity->node->address });
	json_write_boolean(writer, "ready", node->ready);
	json_write_boolean(writer, "cordoned", node->capacity->node->unschedulable);
	json_write_boolean(writer, "gpushare", node->shared);
	json_write_array(writer, "resources");
	for (size_t i = 0; i < node->count; i++)
		write_resource(writer, answer, &node->at[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_total(struct json_writer *writer, const struct inventory_total *total)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "resource", total->resource);
	json_write_integer(writer, "nodes", (int64_t)total->nodes);
	json_write_amount(writer, "total", total->allocatable);
	json_write_amount(writer, "allocated", total->used);
	json_write_amount(writer, "stranded", total->stranded);
	json_write_integer(writer, "waitingPods", (int64_t)total->waiting_pods);
	json_write_amount(writer, "waiting", total->waiting);
	json_write_object_end(writer);
}

static void write_stocks(struct json_writer *writer, const struct gpus_answer *answer)
{
	if (answer->stock_count == 0)
		return;
	json_write_array(writer, "devices");
	ARRAY_EACH(const struct device_stock, stock, answer->stocks, answer->stock_count) {
		json_write_object_line(writer, NULL);
		JSON_WRITE_TEXTS(writer, { "driver", stock->driver }, { "type", stock->type },
				 { "product", stock->product });
		json_write_integer(writer, "total", stock->count.total);
		json_write_integer(writer, "free", stock->count.free);
		json_write_integer(writer, "claimed", stock->count.claimed);
		json_write_integer(writer, "tainted", stock->count.tainted);
		json_write_integer(writer, "blocked", stock->count.blocked);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

int gpus_json_write(const struct gpus_answer *answer, struct buf *buf, struct err *err)
{
	const struct inventory *inventory = &answer->inventory;
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", SNAPSHOT_API_VERSION },
			 { "kind", "GpuInventory" });
	json_write_integer(&writer, "unreadable", (int64_t)answer->unreadable);
	json_write_integer(&writer, "nodesWithout", (int64_t)inventory->other_nodes);
	json_write_array(&writer, "nodes");
	for (size_t i = 0; i < inventory->node_count; i++)
		write_node(&writer, answer, &inventory->nodes[i]);
	json_write_array_end(&writer);
	json_write_array(&writer, "totals");
	for (size_t i = 0; i < inventory->total_count; i++)
		write_total(&writer, &inventory->totals[i]);
	json_write_array_end(&writer);
	write_stocks(&writer, answer);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}
