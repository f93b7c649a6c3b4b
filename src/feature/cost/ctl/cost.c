#include "feature/cost/ctl/cost.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/capacity/price.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/options.h"
#include "ctl/watch/nodes.h"
#include "feature/cost/core/metering.h"

struct cost {
	const struct control *control;
	struct map meterings; /* "namespace/name" to struct metering */
};

static void *begin(const struct control *control)
{
	struct cost *cost = memory_alloc(sizeof(*cost));

	cost->control = control;
	return cost;
}

static void metering_free(struct metering *metering)
{
	if (metering)
		metering_done(metering);
	memory_free(metering);
}

static void end(void *self)
{
	struct cost *cost = self;

	for (size_t i = 0; i < cost->meterings.count; i++)
		metering_free(cost->meterings.entries[i].value);
	map_done(&cost->meterings);
	memory_free(cost);
}

static const char *key_of(const char *namespace_, const char *name, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", namespace_, name);
}

/* NULL: no decision of this cluster. */
static const struct metering *find(const struct cost *cost, const char *namespace_,
				   const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	return map_get(&cost->meterings, key_of(namespace_, name, &scratch));
}

static void decided(void *self, const struct pass_decision *decision)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct cost *cost = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const struct metering_prices prices = { cost->control->options->price_table, nodes_labels,
						cost->control->nodes };
	const char *key = key_of(cluster->namespace_, cluster->name, &scratch);
	struct metering *metering = map_get(&cost->meterings, key);

	if (!metering) {
		metering = memory_alloc(sizeof(*metering));
		map_set(&cost->meterings, key, metering);
	}
	metering_count(metering, decision->snapshot, decision->plan, decision->summary, &prices,
		       decision->monotonic_ms);
}

static void forget(void *self, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct cost *cost = self;

	metering_free(map_remove(&cost->meterings, key_of(namespace_, name, &scratch)));
}

static void set_status(const void *self, const struct pass_decision *decision, struct arena *arena,
		       struct autoscaler_parts *parts)
{
	const struct ray_cluster *cluster = &decision->snapshot->cluster;

	parts->metering = metering_status(find(self, cluster->namespace_, cluster->name),
					  cluster->uid, arena);
}

static bool reads_node_label(const void *self, const char *key)
{
	const struct price_table *table =
		((const struct cost *)self)->control->options->price_table;

	return table && (!key || price_reads_label(table, key));
}

/* ---- metrics ---- */

#define LABELS(cluster, group, fourth)                                                             \
	((const char *const[]){ (cluster)->namespace_, (cluster)->name, (group)->name, (fourth) })

static void write_gpu_seconds(const void *self, const struct metrics_cluster *cluster,
			      struct metrics_family *family)
{
	const struct metering *metering = find(self, cluster->namespace_, cluster->name);

	for (size_t i = 0; metering && i < metering->group_count; i++)
		for (enum metering_state s = METERING_USED; s < METERING_STATE_COUNT; s++)
			metrics_text_integer(
				family,
				LABELS(cluster, &metering->groups[i], metering_state_name(s)),
				metering_seconds_shown(metering, &metering->groups[i], s));
}

static void write_cost(const void *self, const struct metrics_cluster *cluster,
		       struct metrics_family *family)
{
	const struct metering *metering = find(self, cluster->namespace_, cluster->name);

	for (size_t i = 0; metering && metering->currency && i < metering->group_count; i++)
		metrics_text_double(
			family, LABELS(cluster, &metering->groups[i], metering->currency),
			(double)metering_cost_shown(metering, &metering->groups[i]) / PRICE_MICROS);
}

static const struct feature_metric metrics[] = {
	{ .row = { METRICS_COUNTER, "rayscaler_gpu_seconds_total",
		   "namespace,raycluster,group,state",
		   "GPU time of Pods on Nodes: used, idle, starting, terminating (docs/COST.md)." },
	  .need = METRICS_SCALED,
	  .write = write_gpu_seconds },
	{ .row = { METRICS_COUNTER, "rayscaler_cost_total", "namespace,raycluster,group,currency",
		   "Its cost by the price table." },
	  .need = METRICS_SCALED,
	  .write = write_cost },
};

const struct feature cost_feature = {
	.begin = begin,
	.end = end,
	.decided = decided,
	.forget = forget,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
	.status = set_status,
	.reads_node_label = reads_node_label,
};
