#include "core/capacity/template_mark.h"

#include <string.h>

#include "base/hash.h"

/* --- the mark --- */

/* Mixes the bits: FNV mixes the last bytes poorly, and sums of hashes need well-mixed values. */
static uint64_t spread(uint64_t hash)
{
	hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 33;
}

/* Sums: the order of a map is not a part of it. */
static uint64_t hash_quantities(const char *place, const struct quantities *quantities)
{
	uint64_t sum = 0;

	VEC_EACH(const struct quantity, quantity, quantities) {
		uint64_t hash = hash_add(hash_add(HASH_START, place), quantity->name);

		sum += spread(quantity->valid ? hash_bytes(hash, &quantity->amount,
							   sizeof(quantity->amount)) :
						hash_add(hash, quantity->text));
	}
	return sum;
}

static uint64_t hash_labels(const char *place, const struct labels *labels)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < labels->count; i++)
		sum += spread(hash_add(hash_add(hash_add(HASH_START, place), labels->at[i].key),
				       labels->at[i].value));
	return sum;
}

static uint64_t hash_params(const struct labels *params)
{
	static const char *const names[] = { "num-cpus", "num-gpus", "memory", "resources" };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = labels_value(params, names[i]);

		if (value)
			sum += spread(hash_add(hash_add(HASH_START, names[i]), value));
	}
	return sum;
}

static uint64_t hash_term(const struct node_term *term)
{
	uint64_t hash = hash_add(HASH_START, "term");

	ARRAY_EACH(const struct node_expression, expression, term->expressions, term->count) {
		hash = hash_add(hash_add(hash, expression->key), expression->operation);
		for (size_t v = 0; v < expression->values.count; v++)
			hash = hash_add(hash, expression->values.at[v]);
	}
	return spread(hash);
}

static uint64_t hash_env_names(const struct container *container)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < container->env_count; i++)
		sum += spread(hash_add(hash_add(HASH_START, "env"), container->env[i].name));
	return sum;
}

/* Templates without claims keep their mark. */
static uint64_t hash_claims(const struct pod_spec *spec)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < spec->claim_count; i++)
		sum += spread(hash_add(
			hash_add(hash_add(hash_add(HASH_START, "claim"), spec->claims[i].name),
				 spec->claims[i].claim),
			spec->claims[i].template_));
	if (spec->container_count == 0)
		return sum;
	for (size_t i = 0; i < spec->containers[0].claim_count; i++)
		sum += spread(hash_add(hash_add(hash_add(HASH_START, "use"),
						spec->containers[0].claims[i].name),
				       spec->containers[0].claims[i].request));
	return sum;
}

static uint64_t hash_container(const struct container *container)
{
	return hash_env_names(container) +
	       spread(hash_add(hash_add(HASH_START, "image"), container->image)) +
	       hash_quantities("limits", &container->limits) +
	       hash_quantities("requests", &container->requests);
}

const char *template_mark_fingerprint(const struct worker_group *group, struct arena *arena)
{
	const struct pod_spec *spec = &group->template.spec;
	uint64_t sum = hash_quantities("resources", &group->resources) +
		       hash_labels("labels", &group->labels) +
		       hash_params(&group->ray_start_params) +
		       hash_labels("nodeSelector", &spec->node_selector);

	sum += hash_claims(spec);
	if (spec->container_count > 0)
		sum += hash_container(&spec->containers[0]);
	for (size_t i = 0; i < spec->required_node_term_count; i++)
		sum += hash_term(&spec->required_node_terms[i]);
	return arena_printf(arena, "%016llx", (unsigned long long)sum);
}

/* --- the comparison --- */

static const struct quantity *request_of(const struct container *container, const char *name)
{
	const struct quantity *request = quantities_find(&container->requests, name);

	return request ? request : quantities_find(&container->limits, name);
}

static bool same(const struct quantity *a, const struct quantity *b)
{
	if (!a || !b)
		return a == b;
	if (a->valid && b->valid)
		return a->amount == b->amount;
	return a->valid == b->valid && strcmp(a->text, b->text) == 0;
}

/* Whether all requests and limits of `a` are the same in `b`. */
static bool covered(const struct container *a, const struct container *b)
{
	for (size_t i = 0; i < a->limits.count; i++) {
		const char *name = a->limits.at[i].name;

		if (!same(&a->limits.at[i], quantities_find(&b->limits, name)) ||
		    !same(request_of(a, name), request_of(b, name)))
			return false;
	}
	for (size_t i = 0; i < a->requests.count; i++)
		if (!same(&a->requests.at[i], request_of(b, a->requests.at[i].name)))
			return false;
	return true;
}

bool template_mark_same_resources(const struct pod_spec *pod, const struct pod_spec *template)
{
	if (pod->container_count == 0 || template->container_count == 0)
		return false;
	if (pod->containers == template->containers)
		return true; /* a simulated Pod */
	return covered(&pod->containers[0], &template->containers[0]) &&
	       covered(&template->containers[0], &pod->containers[0]) &&
	       hash_claims(pod) == hash_claims(template);
}
