#include "core/capacity/pod_claims.h"

#include <string.h>

#include "core/model/resources.h"

struct amounts {
	VEC(struct quantity) at;
};

struct maker {
	const char *namespace_, *path;
	const struct pod_spec *spec;
	const struct device_table *devices;
	const struct claimed_index *index;
	struct arena *arena;
	struct amounts ray, charge, least;
	VEC(struct pod_claim_shared) shared;
	struct pod_claims *claims;
	bool has_product;
};

static const struct claimed_index nothing_known = { .at = NULL };

static void add(struct maker *m, struct amounts *amounts, const struct claimed_amount *amount)
{
	struct quantity *found = VEC_FIND(&amounts->at, name, amount->resource);

	if (*amount->resource == '\0' || amount->amount <= 0)
		return;
	if (!found) {
		found = VEC_ADD(m->arena, &amounts->at);
		*found = (struct quantity){ .name = amount->resource, .text = "", .valid = true };
	}
	found->amount = amount->amount < RESOURCE_AMOUNT_MAX - found->amount ?
				found->amount + amount->amount :
				RESOURCE_AMOUNT_MAX;
}

static void note(const char **text, const char *problem)
{
	if (!*text)
		*text = problem;
}

/* The product is known while all GPUs of the Ray container have the same. */
static void add_product(struct maker *m, const struct claimed_request *request)
{
	const struct device_row *row = device_find(m->devices, request->promise.resource);

	if (!row || row->kind != DEVICE_GPU)
		return;
	if (!m->has_product)
		m->claims->product = request->product;
	else if (strcmp(m->claims->product, request->product) != 0)
		m->claims->product = "";
	m->has_product = true;
}

/* ---- claims ---- */

/* Whether the Ray container names this request of the claim. */
static bool ray_uses(const struct maker *m, const struct pod_claim *claim, const char *request)
{
	const struct container *container = m->spec->container_count > 0 ? m->spec->containers :
									   NULL;

	if (!container)
		return false;
	for (size_t i = 0; i < container->claim_count; i++) {
		const struct container_claim *use = &container->claims[i];

		if (strcmp(use->name, claim->name) == 0 &&
		    (*use->request == '\0' || strcmp(use->request, request) == 0))
			return true;
	}
	return false;
}

static void add_requests(struct maker *m, const struct pod_claim *claim,
			 const struct claimed_request *requests, size_t count)
{
	bool is_shared = *claim->claim != '\0';
	struct amounts shared = { .at = { .at = NULL } };

	for (size_t i = 0; i < count; i++) {
		m->claims->channel |= requests[i].channel;
		add(m, is_shared ? &shared : &m->charge, &requests[i].charge);
		if (!is_shared)
			add(m, &m->least, &requests[i].promise);
		if (requests[i].problem)
			note(&m->claims->problem, arena_printf(m->arena, "%s.resourceClaims: %s",
							       m->path, requests[i].problem));
		if (!ray_uses(m, claim, requests[i].request))
			continue;
		add(m, &m->ray, &requests[i].promise);
		add_product(m, &requests[i]);
	}
	if (is_shared)
		VEC_PUSH(m->arena, &m->shared,
			 ((struct pod_claim_shared){ claim->claim,
						     { shared.at.at, shared.at.count } }));
}

static const char *made_claim(const struct pod_claim *claim,
			      const struct pod_claim_status *statuses, size_t count)
{
	const struct pod_claim_status *status =
		statuses ? ARRAY_FIND(statuses, count, name, claim->name) : NULL;

	return status ? status->claim : "";
}

static void add_missing(struct maker *m, const struct pod_claim *claim)
{
	const struct claimed_index *index = m->index;
	bool is_shared = *claim->claim != '\0';
	const char *kind = is_shared ? "ResourceClaim" : "ResourceClaimTemplate";
	const char *name = is_shared ? claim->claim : claim->template_;

	if (is_shared ? index->claims_known : index->templates_known)
		note(&m->claims->missing,
		     arena_printf(m->arena,
				  "%s.resourceClaims: %s %.253s of %.100s does not exist in "
				  "namespace %.63s; create it, or correct the name",
				  m->path, kind, name, claim->name, m->namespace_));
	else
		note(&m->claims->problem,
		     arena_printf(m->arena,
				  "%s.resourceClaims: %s %.253s is not known, so its devices are "
				  "not counted; grant get, list and watch on %ss (resource.k8s.io)",
				  m->path, kind, name,
				  is_shared ? "resourceclaim" : "resourceclaimtemplate"));
}

static void add_claim(struct maker *m, const struct pod_claim *claim, const char *made)
{
	const struct claimed_index *index = m->index;
	const struct claimed_request *found = NULL;
	size_t count;

	if (*claim->claim != '\0')
		found = claimed_find(index, m->namespace_, claim->claim, false, &count);
	else if (*made != '\0')
		found = claimed_find(index, m->namespace_, made, false, &count);
	if (!found && *claim->claim == '\0')
		found = claimed_find(index, m->namespace_, claim->template_, true, &count);
	if (found)
		add_requests(m, claim, found, count);
	else if (*made == '\0')
		add_missing(m, claim);
}

/* ---- names of classes in limits ---- */

static void add_limits(struct maker *m, const struct container *container, bool is_ray)
{
	for (size_t i = 0; i < container->limits.count; i++) {
		const struct quantity *limit = &container->limits.at[i];
		const struct claimed_class *class = NULL;

		if (limit->valid && limit->amount > 0 && !device_find(m->devices, limit->name))
			class = claimed_class_find(m->index, limit->name);
		if (!class)
			continue;
		const struct claimed_amount amount = { class->resource, limit->amount };
		add(m, &m->charge, &amount);
		add(m, &m->least, &amount);
		if (is_ray)
			add(m, &m->ray, &amount);
	}
}

const struct pod_claims *pod_claims_make(const char *namespace_, const struct pod_spec *spec,
					 const struct pod_claim_status *statuses,
					 size_t status_count, const char *path,
					 const struct device_table *devices, struct arena *arena)
{
	struct maker m = { .namespace_ = namespace_,
			   .path = path,
			   .spec = spec,
			   .devices = devices,
			   .index = devices->claims ? devices->claims : &nothing_known,
			   .arena = arena };

	if (!devices->claims && spec->claim_count == 0)
		return NULL;
	m.claims = ARENA_NEW(arena, struct pod_claims);
	m.claims->product = "";
	for (size_t i = 0; i < spec->claim_count; i++)
		add_claim(&m, &spec->claims[i],
			  made_claim(&spec->claims[i], statuses, status_count));
	for (size_t c = 0; c < spec->container_count; c++)
		add_limits(&m, &spec->containers[c], c == 0);
	m.claims->ray = (struct quantities){ m.ray.at.at, m.ray.at.count };
	m.claims->charge = (struct quantities){ m.charge.at.at, m.charge.at.count };
	m.claims->least = (struct quantities){ m.least.at.at, m.least.at.count };
	m.claims->shared = m.shared.at;
	m.claims->shared_count = m.shared.count;
	return spec->claim_count > 0 || m.charge.at.count > 0 ? m.claims : NULL;
}

struct quantities pod_claims_with(const struct quantities *limits, const struct quantities *more,
				  struct arena *arena)
{
	struct quantity *all = arena_array(arena, limits->count + more->count, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < limits->count; i++)
		all[count++] = limits->at[i];
	for (size_t i = 0; i < more->count; i++)
		if (!quantities_find(limits, more->at[i].name))
			all[count++] = more->at[i];
	return (struct quantities){ all, count };
}
