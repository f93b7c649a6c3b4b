#include "cli/gpus.h"

#include <stdarg.h>
#include <string.h>

#include "cli/gpu_holders.h"
#include "cli/shared/table.h"
#include "codec/text/text.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)
#define WIDTH 100
#define INDENT 2
#define STRANDED_SHOWN 20

struct writer {
	const struct gpus_answer *answer;
	const struct inventory *inventory;
	bool colours;
	struct arena *arena;
	struct buf *buf;
};

static const char *amount(const struct writer *w, int64_t value)
{
	return resource_amount_text(w->arena, value);
}

static const char *share(const struct writer *w, int64_t used, int64_t total)
{
	return arena_printf(w->arena, "%s/%s", amount(w, used), amount(w, total));
}

static enum table_colour colour_of(int64_t used, int64_t total)
{
	if (total == 0)
		return TABLE_FAINT;
	return used >= total ? TABLE_BUSY : TABLE_PLAIN;
}

static const struct inventory_resource *find(const struct inventory_node *node,
					     const char *resource)
{
	return VEC_FIND(node, amount->resource, resource);
}

/* ---- one resource ---- */

/* "GiB", "MiB": the unit of a share of memory; "" otherwise. */
static const char *unit_of(const struct device_row *row)
{
	if (row->share != DEVICE_MEMORY)
		return "";
	return row->memory_unit_bytes == GIB ? "GiB" : row->memory_unit_bytes == MIB ? "MiB" : "";
}

static size_t most_devices(const struct writer *w, const struct inventory_total *total)
{
	size_t most = 0;

	for (size_t n = 0; n < w->inventory->node_count; n++) {
		const struct inventory_resource *item =
			find(&w->inventory->nodes[n], total->resource);

		if (item && item->amount->device_count > most)
			most = item->amount->device_count;
	}
	return most;
}

static const char *notes_of(const struct writer *w, const struct inventory_node *node,
			    const struct inventory_resource *item)
{
	const char *text = "";
	const char *sign = gpus_sign_of(node->capacity->node, w->arena);
	int64_t lost = item->amount->capacity - item->amount->allocatable;

	if (!node->ready)
		text = "not Ready";
	if (node->capacity->node->unschedulable)
		text = arena_printf(w->arena, "%s%scordoned", text, *text != '\0' ? ", " : "");
	if (*sign != '\0')
		text = arena_printf(w->arena, "%s%s%s", text, *text != '\0' ? ", " : "", sign);
	if (lost > 0)
		text = arena_printf(w->arena, "%s%s%s not allocatable", text,
				    *text != '\0' ? ", " : "", amount(w, lost));
	if (node->shared)
		text = arena_printf(w->arena, "%s%sgpushare", text, *text != '\0' ? ", " : "");
	return text;
}

static void add_devices(const struct writer *w, struct table *table,
			const struct inventory_resource *item, size_t columns)
{
	for (size_t d = 0; d < columns; d++) {
		const struct node_device *device = &item->amount->devices[d];

		if (d < item->amount->device_count)
			table_add(table, colour_of(device->used, device->total),
				  share(w, device->used, device->total));
		else
			table_add(table, TABLE_FAINT, "");
	}
}

static void add_node(const struct writer *w, struct table *table, const struct inventory_node *node,
		     const struct inventory_resource *item, size_t devices)
{
	const struct node_amount *has = item->amount;

	table_add(table, node->ready ? TABLE_PLAIN : TABLE_BAD, node->capacity->node->name);
	table_add(table, TABLE_PLAIN, node->capacity->node->address);
	add_devices(w, table, item, devices);
	if (devices > 0)
		table_add(table, has->unplaced > 0 ? TABLE_BUSY : TABLE_FAINT,
			  has->unplaced > 0 ? amount(w, has->unplaced) : "");
	table_add(table, colour_of(has->used, has->allocatable),
		  share(w, has->used, has->allocatable));
	table_add(table, item->stranded > 0 ? TABLE_BAD : TABLE_FAINT,
		  item->stranded > 0 ? amount(w, item->stranded) : "");
	table_add(table, TABLE_FAINT, notes_of(w, node, item));
}

/* NAME, IPADDRESS, a column for each device of the Node with most, PENDING, the Node's sum. */
static const struct table_column *columns_of(const struct writer *w,
					     const struct inventory_total *total, size_t devices,
					     size_t *ret_count)
{
	struct table_column *columns = arena_array(w->arena, devices + 6, sizeof(*columns));
	const char *unit = unit_of(total->row);
	size_t count = 0;

	columns[count++].title = "NAME";
	columns[count++].title = "IPADDRESS";
	for (size_t d = 0; d < devices; d++)
		columns[count++].title = arena_printf(w->arena, "GPU%zu(Allocated/Total)", d);
	if (devices > 0)
		columns[count++].title = "PENDING(Allocated)";
	if (total->row->share == DEVICE_MEMORY)
		columns[count++].title = *unit != '\0' ?
						 arena_printf(w->arena, "GPU Memory(%s)", unit) :
						 "GPU Memory";
	else
		columns[count++].title = "Allocated/Total";
	columns[count++].title = "STRANDED";
	columns[count++].title = "NOTE";
	*ret_count = count;
	return columns;
}

static __attribute__((format(printf, 2, 3))) void add_line(const struct writer *w,
							   const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text_add_wrapped(w->buf, arena_vprintf(w->arena, format, arguments), 0, INDENT, WIDTH);
	va_end(arguments);
	buf_add_char(w->buf, '\n');
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void write_stranded(const struct writer *w, const struct inventory_total *total)
{
	size_t shown = 0, more = 0;

	if (total->stranded == 0)
		return;
	ARRAY_EACH(const struct inventory_node, node, w->inventory->nodes,
		   w->inventory->node_count) {
		const struct inventory_resource *item = find(node, total->resource);

		if (!item || item->stranded == 0)
			continue;
		if (shown++ >= STRANDED_SHOWN) {
			more++;
			continue;
		}
		add_line(w, "stranded on Node %s: %s free, %s", node->capacity->node->name,
			 amount(w, item->stranded), item->stranded_why);
	}
	if (more > 0)
		add_line(w, "and on %zu more Node%s", more, plural(more));
}

static void write_total(const struct writer *w, const struct inventory_total *total)
{
	const char *what = total->row->share == DEVICE_MEMORY ? "GPU Memory" : total->resource;

	add_line(w, "------------------------------------------------------------");
	add_line(w, "Allocated/Total %s In Cluster:", what);
	add_line(w, "%s (%lld%%)", share(w, total->used, total->allocatable),
		 total->allocatable > 0 ?
			 (long long)((__int128)total->used * 100 / total->allocatable) :
			 0);
	write_stranded(w, total);
	if (total->waiting_pods > 0)
		add_line(w, "waiting: %zu Pod%s without a Node ask%s for %s", total->waiting_pods,
			 plural(total->waiting_pods), total->waiting_pods == 1 ? "s" : "",
			 amount(w, total->waiting));
}

static void write_resource(const struct writer *w, const struct inventory_total *total)
{
	size_t devices = most_devices(w, total), columns;

	add_line(w, "%s", total->resource);
	if (total->nodes > 0) {
		const struct table_column *titles = columns_of(w, total, devices, &columns);
		struct table table = TABLE_INIT(w->arena, titles, columns);

		ARRAY_EACH(const struct inventory_node, node, w->inventory->nodes,
			   w->inventory->node_count) {
			const struct inventory_resource *item = find(node, total->resource);

			if (item)
				add_node(w, &table, node, item, devices);
		}
		table_write(&table, w->colours, w->buf);
	}
	write_total(w, total);
	buf_add_char(w->buf, '\n');
}

/* ---- Pods that use them ---- */

static const struct table_column user_columns[] = {
	{ "NODE", false },       { "RESOURCE", false },  { "GPU", true },
	{ "ALLOCATED", true },   { "NAMESPACE", false }, { "POD", false },
	{ "RAYCLUSTER", false }, { "GROUP", false },     { "HELD BY", false },
};
#define USER_COLUMNS (sizeof(user_columns) / sizeof(user_columns[0]))

/* "": not a worker of a RayCluster, "?": unknown. */
static const char *held_by(const struct writer *w, const struct inventory_user *user)
{
	const struct gpu_holders *holders;
	const struct gpu_worker *worker = gpus_worker(w->answer, user, &holders);
	const char *line;

	if (*user->cluster == '\0')
		return "";
	if (!worker)
		return "?";
	line = gpu_holders_line(holders, worker, w->arena);
	return *line != '\0' ? line : "nothing";
}

static void add_user(const struct writer *w, struct table *table, const char *node,
		     const char *resource, const struct inventory_user *user)
{
	TABLE_ADD_TEXTS(table, node, resource,
			user->device == INVENTORY_NO_DEVICE ?
				"" :
				arena_printf(w->arena, "%zu", user->device),
			amount(w, user->amount), user->pod->namespace_, user->pod->name,
			user->cluster, user->group);
	if (w->answer->holders_asked)
		table_add(table, TABLE_PLAIN, held_by(w, user));
}

static void write_holder_notes(const struct writer *w)
{
	if (w->answer->holders_asked && *w->answer->holders_problem != '\0')
		add_line(w, "HELD BY is unknown: %s", w->answer->holders_problem);
	if (w->answer->left_out > 0)
		add_line(w,
			 "HELD BY is unknown for %zu Pods: only %d RayClusters are "
			 "asked for",
			 w->answer->left_out, GPUS_CLUSTERS_MAX);
	ARRAY_EACH(const struct cluster_holders, cluster, w->answer->clusters,
		   w->answer->cluster_count) {
		if (cluster->holders.problem && *cluster->holders.problem != '\0')
			add_line(w, "%s/%s: HELD BY is unknown: %s", cluster->namespace_,
				 cluster->name, cluster->holders.problem);
		for (size_t k = 0; k < cluster->holders.notes.count; k++)
			add_line(w, "%s/%s: %s", cluster->namespace_, cluster->name,
				 cluster->holders.notes.at[k]);
	}
}

static void write_users(const struct writer *w)
{
	struct table table = TABLE_INIT(w->arena, user_columns,
					w->answer->holders_asked ? USER_COLUMNS : USER_COLUMNS - 1);

	ARRAY_EACH(const struct inventory_node, node, w->inventory->nodes,
		   w->inventory->node_count) {
		for (size_t i = 0; i < node->count; i++)
			for (size_t u = 0; u < node->at[i].users.count; u++)
				add_user(w, &table, node->capacity->node->name,
					 node->at[i].amount->resource, &node->at[i].users.at[u]);
	}
	if (table.cells.count > 0)
		table_write(&table, w->colours, w->buf);
	else
		add_line(w, "no Pod uses any of them");
	write_holder_notes(w);
}

/* ---- devices of ResourceSlices ---- */

static const struct table_column stock_columns[] = {
	{ "DRIVER", false }, { "TYPE", false },   { "PRODUCT", false }, { "TOTAL", true },
	{ "FREE", true },    { "CLAIMED", true }, { "TAINTED", true },  { "BLOCKED", true },
};

static const char *number(const struct writer *w, int64_t value)
{
	return arena_printf(w->arena, "%lld", (long long)value);
}

static void write_stocks(const struct writer *w)
{
	const struct gpus_answer *answer = w->answer;
	struct table table = TABLE_INIT(w->arena, stock_columns,
					sizeof(stock_columns) / sizeof(stock_columns[0]));

	if (answer->stocks.count == 0)
		return;
	add_line(w, "%sdevices of ResourceSlices",
		 w->inventory->total_count > 0 || w->inventory->node_count > 0 ? "\n" : "");
	ARRAY_EACH(const struct device_stock, stock, answer->stocks.at, answer->stocks.count)
		TABLE_ADD_TEXTS(&table, stock->driver, stock->type, stock->product,
				number(w, stock->count.total), number(w, stock->count.free),
				number(w, stock->count.claimed), number(w, stock->count.tainted),
				number(w, stock->count.blocked));
	table_write(&table, w->colours, w->buf);
	if (answer->stocks.problem)
		add_line(w, "CLAIMED is unknown: %s", answer->stocks.problem);
}

void gpus_text_write(const struct gpus_answer *answer, bool colours, struct arena *arena,
		     struct buf *buf)
{
	const struct inventory *inventory = &answer->inventory;
	const struct writer w = { answer, inventory, colours, arena, buf };

	for (size_t i = 0; i < inventory->total_count; i++)
		write_resource(&w, &inventory->totals[i]);
	if (inventory->total_count > 0)
		write_users(&w);
	else
		add_line(&w, "no accelerators on %zu Node%s", inventory->other_nodes,
			 plural(inventory->other_nodes));
	write_stocks(&w);
	if (answer->unreadable > 0)
		add_line(&w, "%zu object%s cannot be decoded and not counted", answer->unreadable,
			 plural(answer->unreadable));
}
