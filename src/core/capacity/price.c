#include "core/capacity/price.h"

#include <string.h>

#include "core/capacity/accelerator_type.h"

/* Labels that name the market of a Node: GKE, EKS, Karpenter, AKS; Ray's own label of a group. */
static const struct market_label {
	const char *key, *value;
	enum price_market market;
} market_labels[] = {
	{ "cloud.google.com/gke-spot", "true", PRICE_SPOT },
	{ "cloud.google.com/gke-preemptible", "true", PRICE_SPOT },
	{ "cloud.google.com/gke-provisioning", "spot", PRICE_SPOT },
	{ "cloud.google.com/gke-provisioning", "preemptible", PRICE_SPOT },
	{ "eks.amazonaws.com/capacityType", "SPOT", PRICE_SPOT },
	{ "eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", PRICE_RESERVED },
	{ "karpenter.sh/capacity-type", "spot", PRICE_SPOT },
	{ "karpenter.sh/capacity-type", "reserved", PRICE_RESERVED },
	{ "kubernetes.azure.com/scalesetpriority", "spot", PRICE_SPOT },
	{ "ray.io/market-type", "spot", PRICE_SPOT },
};

/* The names of the newest Ray, whatever Ray the cluster has. */
#define NAMES_OF_RAY "2.60.0"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The worker that the selectors of a row are compared with. */
struct subject {
	const struct labels *own;      /* of the group */
	const struct labels *template; /* of its Pod template */
	const struct pod_spec *spec;
	const struct labels *node; /* NULL: not known */
	const char *model;         /* "" unknown */
};

static bool equals(const struct labels *labels, const char *key, const char *value)
{
	const char *found = labels_value(labels, key);

	return found && strcmp(found, value) == 0;
}

static bool term_requires(const struct node_term *term, const char *key, const char *value)
{
	ARRAY_EACH(const struct node_expression, e, term->expressions, term->count) {
		if (!e->is_field && strcmp(e->key, key) == 0 && strcmp(e->operation, "In") == 0 &&
		    e->values.count == 1 && strcmp(e->values.at[0], value) == 0)
			return true;
	}
	return false;
}

/* Whether every term of the required node affinity allows this one value of the key. */
static bool affinity_requires(const struct pod_spec *spec, const char *key, const char *value)
{
	for (size_t i = 0; i < spec->required_node_term_count; i++)
		if (!term_requires(&spec->required_node_terms[i], key, value))
			return false;
	return spec->required_node_term_count > 0;
}

static bool node_has(const struct subject *subject, const char *key, const char *value)
{
	if (subject->node)
		return equals(subject->node, key, value);
	return equals(&subject->spec->node_selector, key, value) ||
	       affinity_requires(subject->spec, key, value);
}

static bool group_has(const struct subject *subject, const char *key, const char *value)
{
	return equals(subject->own, key, value) || equals(subject->template, key, value);
}

static enum price_market market_of(const struct subject *subject)
{
	ARRAY_EACH(const struct market_label, label, market_labels, COUNT(market_labels)) {
		if (node_has(subject, label->key, label->value) ||
		    group_has(subject, label->key, label->value))
			return label->market;
	}
	return PRICE_ON_DEMAND;
}

static bool all_have(const struct labels *wanted, const struct subject *subject,
		     bool (*has)(const struct subject *subject, const char *key, const char *value))
{
	for (size_t i = 0; i < wanted->count; i++)
		if (!has(subject, wanted->at[i].key, wanted->at[i].value))
			return false;
	return true;
}

static bool matches(const struct price_row *row, const struct subject *subject,
		    enum price_market market)
{
	return (row->market == PRICE_ANY || row->market == market) &&
	       (*row->gpu_model == '\0' || strcmp(row->gpu_model, subject->model) == 0) &&
	       all_have(&row->group_labels, subject, group_has) &&
	       all_have(&row->node_labels, subject, node_has);
}

/* The model of the Node's labels, of the template's, or of the group's own label. */
static const char *model_of(const struct subject *subject, struct arena *arena)
{
	struct pod_spec by_node = { .node_selector = { .at = NULL } };
	struct accelerator_type type;
	const char *label = labels_value(subject->own, LABEL_ACCELERATOR_TYPE);

	if (subject->node)
		by_node.node_selector = *subject->node;
	if (accelerator_type_of_pod(subject->node ? &by_node : subject->spec, NAMES_OF_RAY, arena,
				    &type))
		return type.type;
	return label ? label : "";
}

static struct subject subject_of(const struct ray_cluster *cluster,
				 const struct worker_group *group, const struct labels *node)
{
	const struct pod_template *template = group ? &group->template : &cluster->head_template;

	return (struct subject){
		.own = group ? &group->labels : &cluster->head_labels,
		.template = &template->labels,
		.spec = &template->spec,
		.node = node,
	};
}

enum price_market price_market_of(const struct ray_cluster *cluster,
				  const struct worker_group *group)
{
	struct subject subject = subject_of(cluster, group, NULL);

	return market_of(&subject);
}

const struct price_row *price_find(const struct price_table *table,
				   const struct ray_cluster *cluster,
				   const struct worker_group *group, const struct labels *node,
				   struct arena *arena)
{
	struct subject subject = subject_of(cluster, group, node);
	enum price_market market = market_of(&subject);

	subject.model = model_of(&subject, arena);
	for (size_t i = 0; i < table->count; i++)
		if (matches(&table->rows[i], &subject, market))
			return &table->rows[i];
	return NULL;
}

bool price_reads_label(const struct price_table *table, const char *key)
{
	for (size_t i = 0; i < COUNT(market_labels); i++)
		if (strcmp(market_labels[i].key, key) == 0)
			return true;
	for (size_t i = 0; i < table->count; i++)
		if (labels_value(&table->rows[i].node_labels, key))
			return true;
	return accelerator_type_is_label(key);
}

int64_t price_per_hour(const struct price_row *row, int64_t gpus)
{
	__int128 micros = row ? (__int128)row->micros_per_gpu_hour * gpus / RESOURCE_UNIT : 0;

	return micros > INT64_MAX ? INT64_MAX : (int64_t)micros;
}
