#include "feature/pools/cli/status_pools.h"

#include <string.h>

#include "base/int64.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/text.h"
#include "cli/shared/table.h"
#include "codec/objects/foreign_object.h"
#include "codec/schema/document_head.h"
#include "codec/text/text.h"
#include "feature/pools/codec/gpu_pool_json.h"

#define PATH "/apis/" OWN_GROUP_VERSION "/gpupools"
#define POOLS_MAX 1000
#define BAR_CELLS 40
#define OTHERS "(others)"

/* ---- reading ---- */

static void add_pool(void *context, const char *text, size_t size, const char *problem)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct listed_pools *pools = context;
	struct gpu_pool pool;
	struct err err;

	if (pools->list.count == POOLS_MAX) {
		pools->left_out++;
		return;
	}
	foreign_object_parse(text, size, false, &tree, &err);
	if (problem)
		err_set(&err, ERR_LIMIT, "%s", problem);
	if (err.kind == ERR_NONE && gpu_pool_decode(tree, "", pools->arena, &pool, &err) == 0)
		VEC_PUSH(pools->arena, &pools->list, pool);
	else if (gpu_pool_decode_unreadable(tree, err.text, pools->arena, &pool) == 0)
		VEC_PUSH(pools->arena, &pools->list, pool);
}

static int compare(const void *a, const void *b)
{
	const struct gpu_pool *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int explain_failure(struct err *err)
{
	struct err cause = *err;

	if (cause.kind == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND,
			       "the API server knows no GPUPools; an administrator installs their "
			       "definition: kubectl apply -f "
			       "charts/rayscaler/crds/gpupools.rayscaler.dev.yaml");
	if (cause.kind == ERR_DENIED)
		return err_set(err, ERR_DENIED,
			       "%s; an administrator gives the right to read GPUPools: kubectl "
			       "create clusterrolebinding NAME --clusterrole=rayscaler-pools "
			       "--user=USER",
			       cause.text);
	return -1;
}

static int read_pools(struct connection *connection, struct arena *arena, const void **ret_objects,
		      struct err *err)
{
	struct listed_pools *pools = ARENA_NEW(arena, struct listed_pools);

	*pools = (struct listed_pools){ .arena = arena };
	if (api_connection_list(connection, PATH, FOREIGN_OBJECT_MAX_BYTES, add_pool, pools, arena,
				err))
		return explain_failure(err);
	if (pools->list.count > 0)
		sort_stable(pools->list.at, pools->list.count, sizeof(*pools->list.at), compare);
	*ret_objects = pools;
	return 0;
}

/* ---- the bar ---- */

struct bar {
	char cells[BAR_CELLS + 1];
	size_t count;
	int64_t gpus, drawn; /* of the pool, and so far */
	size_t width;
};

/* Adds the amount as cells; rounded so that the cells of all parts add up. */
static void draw(struct bar *bar, char mark, int64_t amount)
{
	__int128 end;

	bar->drawn = resource_sum(bar->drawn, amount > 0 ? amount : 0);
	end = ((__int128)bar->drawn * (int64_t)bar->width * 2 + bar->gpus) /
	      ((__int128)bar->gpus * 2);
	while (bar->count < bar->width && (__int128)bar->count < end)
		bar->cells[bar->count++] = mark;
	if (end > (__int128)bar->width)
		bar->cells[bar->width - 1] = '>';
	bar->cells[bar->count] = '\0';
}

/* Idle workers count first as borrowed, because those are released first. */
static const char *bar_text(const struct gpu_pool_queue_status *queue, int64_t gpus,
			    struct arena *arena)
{
	struct bar bar = { .gpus = gpus };
	int64_t own, idle = queue->idle, below = queue->guaranteed - queue->held;

	bar.width = (size_t)int64_min(BAR_CELLS, (gpus + RESOURCE_UNIT - 1) / RESOURCE_UNIT);
	if (bar.width == 0)
		return "";
	own = queue->held - queue->borrowed;
	draw(&bar, '#', own - (idle > queue->borrowed ? idle - queue->borrowed : 0));
	draw(&bar, '+', queue->borrowed - int64_min(idle, queue->borrowed));
	draw(&bar, '-', idle);
	draw(&bar, 'w', queue->waiting);
	if (below > queue->waiting)
		draw(&bar, '.', below - queue->waiting);
	return arena_strdup(arena, bar.cells);
}

/* ---- text ---- */

static const char *gpu_text(int64_t gpus, struct arena *arena)
{
	return arena_printf(arena, "%s GPU%s", resource_amount_text(arena, gpus),
			    gpus == RESOURCE_UNIT ? "" : "s");
}

static const char *age_text(time_ms since, time_ms now, struct arena *arena)
{
	return since == TIME_NONE ? "" : table_age(arena, (now - since) / MS_PER_SECOND);
}

static void add_queue(struct table *table, const struct gpu_pool_queue_status *queue, int64_t gpus,
		      time_ms now)
{
	struct arena *arena = table->arena;
	bool below = queue->below_guarantee_since != TIME_NONE;

	TABLE_ADD_TEXTS(table, *queue->name != '\0' ? queue->name : OTHERS,
			bar_text(queue, gpus, arena), resource_amount_text(arena, queue->held),
			resource_amount_text(arena, queue->guaranteed),
			resource_amount_text(arena, queue->borrowed),
			resource_amount_text(arena, queue->idle));
	table_add(table, queue->waiting > 0 ? TABLE_BUSY : TABLE_PLAIN,
		  resource_amount_text(arena, queue->waiting));
	table_add(table, below ? TABLE_BAD : TABLE_PLAIN,
		  age_text(queue->below_guarantee_since, now, arena));
}

static void write_queues(const struct gpu_pool_status *status,
			 const struct status_page_input *input, struct arena *arena,
			 struct buf *buf)
{
	const struct table_column columns[] = {
		{ "QUEUE", false },     { "GPUS", false },           { "HELD", true },
		{ "GUARANTEED", true }, { "BORROWED", true },        { "IDLE", true },
		{ "WAITING", true },    { "BELOW GUARANTEE", true },
	};
	struct table table = TABLE_INIT(arena, columns, sizeof(columns) / sizeof(columns[0]));

	if (status->queue_count == 0)
		return;
	for (size_t i = 0; i < status->queue_count; i++)
		add_queue(&table, &status->queues[i], status->gpus, input->now);
	table_write(&table, input->colours, buf);
}

static void add_line(struct buf *buf, const struct status_page_input *input,
		     enum table_colour colour, const char *line)
{
	table_add_text(buf, colour, line, input->colours);
	buf_add_char(buf, '\n');
}

static const struct condition *condition_of(const struct gpu_pool *pool, const char *type)
{
	return pool->status ? condition_find(pool->status->conditions.at,
					     pool->status->conditions.count, type) :
			      NULL;
}

/* The text why the pool cannot do what its spec says; NULL: it can, or that is unknown. */
static const char *not_ready(const struct gpu_pool *pool, bool *ret_shares)
{
	static const char *const sharing[] = { "GuaranteesAboveSize", "EmptyQueue", "NoGroups" };
	const struct condition *ready = condition_of(pool, "Ready");

	*ret_shares = false;
	if (pool->problems.count > 0)
		return pool->problems.at[0];
	if (!ready || strcmp(ready->status, "False") != 0)
		return NULL;
	*ret_shares = text_is_among(ready->reason, sharing, sizeof(sharing) / sizeof(sharing[0]));
	return ready->message;
}

static void write_status(const struct gpu_pool *pool, const struct status_page_input *input,
			 struct arena *arena, struct buf *buf)
{
	const struct gpu_pool_status *status = pool->status;
	const struct gpu_pool_waiting *first = status->waiting_units;

	add_line(buf, input, TABLE_TITLE,
		 arena_printf(arena, "%s: %s GPUs held, %s waiting%s%s%s", pool->name,
			      gpu_pool_held_text(status, arena),
			      resource_amount_text(arena, status->waiting),
			      status->updated != TIME_NONE ? " (" : "",
			      age_text(status->updated, input->now, arena),
			      status->updated != TIME_NONE ? " ago)" : ""));
	write_queues(status, input, arena, buf);
	if (status->waiting_unit_count > 0)
		add_line(buf, input, TABLE_PLAIN,
			 arena_printf(arena, "waits longest: %s: %lld x %s (%s) for %s",
				      first->cluster, (long long)first->count, first->groups,
				      gpu_text(first->gpus, arena),
				      age_text(first->since, input->now, arena)));
	if (*status->reserved_for != '\0')
		add_line(buf, input, TABLE_PLAIN,
			 arena_printf(arena, "free GPUs are kept for %s", status->reserved_for));
}

/* Conditions that are shown while they are True. */
static const struct told {
	const char *condition, *title;
} TOLD[] = {
	{ GPU_POOL_UNUSED, "not used" },
	{ GPU_POOL_ABOVE_MAXIMUM, "above its maximum" },
};

static void write_pool(const struct gpu_pool *pool, const struct status_page_input *input,
		       struct arena *arena, struct buf *buf)
{
	bool shares;
	const char *problem = not_ready(pool, &shares);

	if (pool->status && pool->status->updated != TIME_NONE)
		write_status(pool, input, arena, buf);
	else
		add_line(buf, input, TABLE_TITLE,
			 arena_printf(arena,
				      "%s: no status yet; a controller for all namespaces writes "
				      "it: kubectl get deployments -A -l "
				      "app.kubernetes.io/name=rayscaler",
				      pool->name));
	if (problem)
		add_line(buf, input, TABLE_BAD,
			 arena_printf(arena, "%s: %s", shares ? "not ready" : "grants nothing",
				      problem));
	ARRAY_EACH(const struct told, told, TOLD, sizeof(TOLD) / sizeof(TOLD[0])) {
		const struct condition *condition = condition_of(pool, told->condition);

		if (condition && strcmp(condition->status, "True") == 0)
			add_line(buf, input, TABLE_BAD,
				 arena_printf(arena, "%s: %s", told->title, condition->message));
	}
}

static void write_text(const struct status_page_input *input, struct arena *arena, struct buf *buf)
{
	const struct listed_pools *pools = input->objects;
	bool bars = false;

	if (pools->list.count == 0) {
		buf_add_string(buf, "there are no GPUPools; docs/GPUPOOL.md has one to apply\n");
		return;
	}
	for (size_t i = 0; i < pools->list.count; i++) {
		const struct gpu_pool *pool = &pools->list.at[i];

		if (i > 0)
			buf_add_char(buf, '\n');
		write_pool(pool, input, arena, buf);
		bars = bars || (pool->status && pool->status->queue_count > 0);
	}
	if (bars)
		buf_add_string(buf, "\n# within the guarantee  + borrowed  - idle  w waiting  "
				    ". guaranteed, not asked for\n");
	if (pools->left_out > 0)
		buf_printf(buf, "%zu more pools are not shown\n", pools->left_out);
}

/* ---- JSON ---- */

static void write_problem(struct json_writer *writer, const struct field *field, const void *object)
{
	bool shares;
	const char *problem = not_ready(object, &shares);

	json_write_text(writer, field->name, problem ? problem : "");
}

static const struct field pool_fields[] = {
	FIELD_TEXT(struct gpu_pool, name, "name", .flags = FIELD_ALWAYS),
	FIELD_HOOK("problem", .write = write_problem),
	FIELD_POINTER(struct gpu_pool, status, gpu_pool_status_fields, "status",
		      .flags = FIELD_ALWAYS),
	FIELD_END,
};

static const struct field page_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", "PoolStatusList"),
	FIELD_VEC(struct listed_pools, list, pool_fields, "pools", .flags = FIELD_ALWAYS),
	FIELD_END,
};

static void write_json(const struct status_page_input *input, struct arena *arena UNUSED,
		       struct buf *buf)
{
	field_write_page(page_fields, input->objects, buf);
}

const struct status_page status_pools_page = {
	.flag = "--pools",
	.usage = "       @ status --pools [-w] [-o table|json|yaml] [flags]\n",
	.description = "With --pools: what each queue of the GPUPools holds and waits for.\n",
	.flags = "  --pools                       GPUs shared by teams\n",
	.read = read_pools,
	.write_text = write_text,
	.write_json = write_json,
};
