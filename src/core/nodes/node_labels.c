#include "core/nodes/node_labels.h"

#include <string.h>

/* Node labellers of NVIDIA, AMD and Intel, GKE, EKS, gpushare; by their beginning. */
static const char *const device_prefixes[] = {
	"nvidia.com/gpu.",
	"nvidia.com/mig",
	"amd.com/gpu.",
	"gpu.intel.com/",
	"cloud.google.com/gke-accelerator",
	"cloud.google.com/gke-tpu",
	"k8s.amazonaws.com/accelerator",
	"gpushare",
};

void node_labels_done(struct node_labels *read)
{
	map_done(&read->keys);
}

static void add(struct node_labels *read, const char *key)
{
	map_set(&read->keys, key, read);
}

void node_labels_add_terms(struct node_labels *read, const struct node_term *terms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < terms[i].count; j++)
			add(read, terms[i].expressions[j].key);
}

void node_labels_add_spec(struct node_labels *read, const struct pod_spec *spec)
{
	for (size_t i = 0; i < spec->node_selector.count; i++)
		add(read, spec->node_selector.at[i].key);
	for (size_t i = 0; i < spec->pod_affinity_keys.count; i++)
		add(read, spec->pod_affinity_keys.at[i]);
	node_labels_add_terms(read, spec->required_node_terms, spec->required_node_term_count);
}

bool node_labels_is_device(const char *key)
{
	for (size_t i = 0; i < sizeof(device_prefixes) / sizeof(device_prefixes[0]); i++)
		if (strncmp(key, device_prefixes[i], strlen(device_prefixes[i])) == 0)
			return true;
	return false;
}

bool node_labels_has(const struct node_labels *read, const char *key)
{
	return node_labels_is_device(key) || map_get(&read->keys, key) != NULL;
}
