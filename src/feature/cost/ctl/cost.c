#include "feature/cost/ctl/cost.h"

#include "base/memory.h"
#include "core/capacity/price.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/options.h"
#include "ctl/watch/nodes.h"
#include "feature/cost/core/metering.h"

struct metered {
	struct cluster_entry of;
	struct metering metering;
};

static void metered_done(void *one)
{
	metering_done(&((struct metered *)one)->metering);
}

/* NULL: no decision of this cluster. */
static const struct metering *find(const struct feature_state *cost, const char *namespace_,
				   const char *name)
{
	const struct metered *metered = cluster_map_get(&cost->clusters, namespace_, name);

	return metered ? &metered->metering : NULL;
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct feature_state *cost = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const struct metering_prices prices = { cost->control->options->price_table, nodes_labels,
						cost->control->nodes };
	struct metered *metered =
		cluster_map_make(&cost->clusters, cluster->namespace_, cluster->name);

	metering_count(&metered->metering, decision->snapshot, decision->plan, decision->summary,
		       &prices, decision->monotonic_ms);
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
		((const struct feature_state *)self)->control->options->price_table;

	return table && (!key || price_reads_label(table, key));
}

/* ---- metrics ---- */

#define LABELS(cluster, group, fourth)                                                             \
	((const char *const[]){ (cluster)->of.namespace_, (cluster)->of.name, (group)->name,       \
				(fourth) })

static void write_gpu_seconds(const void *self, const struct metrics_cluster *cluster,
			      struct metrics_family *family)
{
	const struct metering *metering = find(self, cluster->of.namespace_, cluster->of.name);

	if (!metering)
		return;
	for (size_t i = 0; i < metering->group_count; i++)
		for (enum metering_state s = METERING_USED; s < METERING_STATE_COUNT; s++)
			metrics_text_integer(
				family,
				LABELS(cluster, &metering->groups[i], metering_state_name(s)),
				metering_seconds_shown(metering, &metering->groups[i], s));
}

static void write_cost(const void *self, const struct metrics_cluster *cluster,
		       struct metrics_family *family)
{
	const struct metering *metering = find(self, cluster->of.namespace_, cluster->of.name);

	if (!metering || !metering->currency)
		return;
	for (size_t i = 0; i < metering->group_count; i++)
		metrics_text_double(
			family, LABELS(cluster, &metering->groups[i], metering->currency),
			(double)metering_cost_shown(metering, &metering->groups[i]) / PRICE_MICROS);
}

static const struct feature_metric metrics[] = {
	{ .row = { METRICS_COUNTER, "rayscaler_gpu_seconds_total",
		   "namespace,raycluster,group,state",
		   "GPU time of Pods on Nodes: used, idle, requested, starting, terminating (docs/COST.md)." },
	  .need = METRICS_SCALED,
	  .write = write_gpu_seconds },
	{ .row = { METRICS_COUNTER, "rayscaler_cost_total", "namespace,raycluster,group,currency",
		   "Its cost by the price table." },
	  .need = METRICS_SCALED,
	  .write = write_cost },
};

const struct feature cost_feature = {
	.state_size = sizeof(struct feature_state),
	.cluster_size = sizeof(struct metered),
	.cluster_done = metered_done,
	.decided = decided,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
	.status = set_status,
	.reads_node_label = reads_node_label,
};
