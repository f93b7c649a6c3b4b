#include "core/decide/template_look.h"

#include <string.h>

#include "base/text.h"
#include "core/capacity/template_mark.h"

/* Labels of Ray that the template alone decides; others belong to one worker or to its place. */
static const char *const kept_labels[] = { LABEL_ACCELERATOR_TYPE, "ray.io/tpu-pod-type",
					   "ray.io/tpu-topology" };

/* --- the report of one worker --- */

/* TPU-v4-16-head exists only on the first host of a slice, so other workers do not lack it. */
static bool is_slice_head(const char *name)
{
	size_t size = strlen(name);

	return text_begins(name, "TPU-") && size > 9 && strcmp(name + size - 5, "-head") == 0;
}

bool template_look_is_own(const struct ray_node *node, const char *name)
{
	const char *slice = labels_value(&node->labels, "ray.io/tpu-slice-name");

	return text_begins(name, "node:") || strstr(name, "_group_") || is_slice_head(name) ||
	       (slice && strcmp(slice, name) == 0);
}

/* A raylet always has memory; a report that does not name it leaves the amount unknown. */
static bool is_unknown(const struct ray_node *node, const char *name)
{
	return is_slice_head(name) ||
	       (strcmp(name, "memory") == 0 && !resources_find(&node->total, name));
}

/* --- which workers count --- */

static bool is_of_template(const struct offer *offer, const struct group *group, time_ms since,
			   const struct worker *worker)
{
	const struct group_offer *own = &offer->groups[group->index];
	const struct pod_spec *template = &group->spec->template.spec;
	struct accelerator_type type;

	if (!worker->pod || !worker->registered || worker->node->total.count == 0 ||
	    (worker->node->status != RAY_NODE_RUNNING && worker->node->status != RAY_NODE_IDLE))
		return false;
	/* The time of a Pod has no fraction of a second. */
	if (since != TIME_NONE &&
	    (worker->pod->created == TIME_NONE || worker->pod->created + MS_PER_SECOND <= since))
		return false;
	if (!template_mark_same_resources(&worker->pod->spec, template))
		return false;
	/* Made for another GPU model, by the template as it was then. */
	return !own->inferred.type ||
	       !accelerator_type_of_pod(&worker->pod->spec, offer->snapshot->cluster.ray_version,
					offer->arena, &type) ||
	       strcmp(type.type, own->inferred.type) == 0;
}

/* The workers that show the capacity of the group's template. */
struct witnesses {
	const struct worker **at;
	size_t count;
};

static struct witnesses find_witnesses(const struct offer *offer, const struct group *group,
				       time_ms since)
{
	struct witnesses found = { .at = arena_array(offer->arena, group->worker_count,
						     sizeof(*found.at)) };

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &offer->facts->workers[group->first_worker + i];

		if (is_of_template(offer, group, since, worker))
			found.at[found.count++] = worker;
	}
	return found;
}

/* The smallest amount that any of them reports; false: one report does not contain it. */
static bool least(const struct witnesses *witnesses, const char *name, int64_t *ret_amount,
		  const char **ret_pod)
{
	*ret_amount = INT64_MAX;
	for (size_t i = 0; i < witnesses->count; i++) {
		const struct worker *worker = witnesses->at[i];
		int64_t amount = resources_amount(&worker->node->total, name, 0);

		if (is_unknown(worker->node, name))
			return false;
		if (amount >= *ret_amount)
			continue;
		*ret_amount = amount;
		*ret_pod = worker->pod_name;
	}
	return true;
}

struct seen_list {
	VEC(struct resource) at;
	size_t names_size;
};

static bool is_plain(const char *name)
{
	for (; *name != '\0'; name++)
		if (*name <= ' ' || *name > '~' || *name == '"' || *name == '\\')
			return false;
	return true;
}

/* False: the list is full or the name is not accepted. */
static bool add(const struct offer *offer, struct seen_list *list, const char *name, int64_t amount)
{
	size_t size = strlen(name);

	if (list->at.count >= MEMORY_TEMPLATE_RESOURCES_MAX ||
	    size > MEMORY_TEMPLATE_NAME_SIZE_MAX ||
	    list->names_size + size > MEMORY_TEMPLATE_NAMES_SIZE_MAX || !is_plain(name))
		return false;
	list->names_size += size;
	VEC_PUSH(offer->arena, &list->at, ((struct resource){ name, amount }));
	return true;
}

/* Adds a promised resource whose reported amount differs. */
static void compare_promised(const struct offer *offer, const struct witnesses *witnesses,
			     const struct resource *promised, struct seen_list *list,
			     const char **ret_pod)
{
	const char *pod = "";
	int64_t amount;

	if (!least(witnesses, promised->name, &amount, &pod) || amount == promised->amount)
		return;
	if (add(offer, list, promised->name, amount) && amount < promised->amount &&
	    **ret_pod == '\0')
		*ret_pod = pod;
}

/* Adds the resources that are not promised and that all of them report. */
static void add_extras(const struct offer *offer, const struct group *group,
		       const struct witnesses *witnesses, struct seen_list *list)
{
	const struct group_offer *own = &offer->groups[group->index];
	const struct ray_node *node = witnesses->at[0]->node;

	for (size_t i = 0; i < node->total.count; i++) {
		const char *name = node->total.at[i].name, *pod;
		int64_t amount;

		if (template_look_is_own(node, name) ||
		    resources_find(&own->promised.resources, name) ||
		    (own->inferred.type && strcmp(own->inferred.resource, name) == 0))
			continue;
		if (least(witnesses, name, &amount, &pod) && amount > 0)
			add(offer, list, name, amount);
	}
}

static bool all_have(const struct witnesses *witnesses, const char *key, const char *value)
{
	for (size_t i = 0; i < witnesses->count; i++) {
		const char *own = labels_value(&witnesses->at[i]->node->labels, key);

		if (!own || strcmp(own, value) != 0)
			return false;
	}
	return true;
}

static struct labels common_labels(const struct offer *offer, const struct witnesses *witnesses)
{
	struct label *labels = arena_array(
		offer->arena, sizeof(kept_labels) / sizeof(kept_labels[0]), sizeof(*labels));
	size_t count = 0;

	for (size_t k = 0; k < sizeof(kept_labels) / sizeof(kept_labels[0]); k++) {
		const char *key = kept_labels[k];
		const char *value = labels_value(&witnesses->at[0]->node->labels, key);

		if (value && strlen(value) <= MEMORY_TEMPLATE_NAME_SIZE_MAX &&
		    all_have(witnesses, key, value))
			labels[count++] = (struct label){ key, value };
	}
	return labels_sort(labels, count);
}

static void look(const struct offer *offer, const struct group *group,
		 const struct witnesses *witnesses, struct memory_template *entry)
{
	const struct group_offer *own = &offer->groups[group->index];
	const struct resources *promised = &own->promised.resources;
	struct seen_list list = { .at = { .at = NULL } };
	const char *pod = "";

	for (size_t i = 0; i < promised->count; i++)
		compare_promised(offer, witnesses, &promised->at[i], &list, &pod);
	if (own->inferred.type) {
		struct resource type = { own->inferred.resource, RESOURCE_UNIT };

		compare_promised(offer, witnesses, &type, &list, &pod);
	}
	add_extras(offer, group, witnesses, &list);
	entry->resources = resources_sort(list.at.at, list.at.count);
	entry->labels = common_labels(offer, witnesses);
	entry->pod = pod;
}

bool template_look(const struct offer *offer, const struct group *group,
		   struct memory_template *entry)
{
	struct witnesses witnesses = find_witnesses(offer, group, entry->since);

	if (witnesses.count == 0)
		return false;
	look(offer, group, &witnesses, entry);
	return true;
}
