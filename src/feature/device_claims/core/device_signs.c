#include "feature/device_claims/core/device_signs.h"

#include <string.h>

#include "base/sort.h"
#include "core/decide/device_sign.h"
#include "core/decide/feature_slot.h"
#include "core/nodes/node_match.h"
#include "feature/device_claims/core/device_free.h"

/* Of one decision. */
struct finder {
	struct facts *facts;
	const struct device_free *devices;
	const struct pod **pods; /* workers that have a Node, by name */
	size_t pod_count;
	struct device_signs *signs;
};

static int compare_pods(const void *left, const void *right)
{
	return strcmp((*(const struct pod *const *)left)->name,
		      (*(const struct pod *const *)right)->name);
}

static int compare_name(const void *name, const void *pod)
{
	return strcmp(name, (*(const struct pod *const *)pod)->name);
}

static int compare_signs(const void *left, const void *right)
{
	const struct pod *a = ((const struct device_sign *)left)->pod;
	const struct pod *b = ((const struct device_sign *)right)->pod;
	int order = strcmp(a->spec.node_name, b->spec.node_name);

	return order ? order : strcmp(a->name, b->name);
}

/* The ask of a result's request, "gpus" or "gpus/small" of an alternative; NULL: the claim has none. */
static const struct device_ask *ask_of(const struct resource_claim *claim, const char *request)
{
	size_t size = strcspn(request, "/");
	const char *alternative = request[size] == '/' ? request + size + 1 : "";

	ARRAY_EACH(const struct device_request, one, claim->spec.requests,
		   claim->spec.request_count) {
		if (strlen(one->name) != size || memcmp(one->name, request, size) != 0)
			continue;
		for (size_t i = 0; i < one->ask_count; i++)
			if (strcmp(one->asks[i].name, alternative) == 0)
				return &one->asks[i];
	}
	return NULL;
}

static bool tolerates(const struct device_ask *ask, const struct taint *taint)
{
	const struct pod_spec spec = { .tolerations = ask ? ask->tolerations : NULL,
				       .toleration_count = ask ? ask->toleration_count : 0 };

	return node_match_tolerates(&spec, taint);
}

static void add_signs(const struct finder *finder, const struct resource_claim *claim,
		      const struct device_ask *ask, const struct free_device *one)
{
	ARRAY_EACH(const struct taint, taint, one->taints, one->taint_count) {
		if (tolerates(ask, taint))
			continue;
		for (size_t i = 0; i < claim->pods.count; i++) {
			const struct pod **pod = SORT_FIND(claim->pods.at[i], finder->pods,
							   finder->pod_count, compare_name);

			if (pod)
				VEC_PUSH(finder->facts->arena, &finder->signs->list,
					 ((struct device_sign){ *pod, one->device->name, taint }));
		}
	}
}

static void read_claim(const struct finder *finder, const struct resource_claim *claim)
{
	for (size_t i = 0; i < claim->result_count; i++) {
		const struct claim_result *result = &claim->results[i];
		const struct free_device *one = device_free_find(finder->devices, result->driver,
								 result->pool, result->device);

		if (one && !result->admin_access)
			add_signs(finder, claim, ask_of(claim, result->request), one);
	}
}

static void sort_pods(struct finder *finder)
{
	const struct snapshot *snapshot = finder->facts->snapshot;

	finder->pods =
		arena_array(finder->facts->arena, snapshot->pod_count, sizeof(*finder->pods));
	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (pod_is_worker(snapshot->pods[i]) && !snapshot->pods[i]->deleting &&
		    snapshot->pods[i]->spec.node_name[0] != '\0' &&
		    snapshot->pods[i]->spec.claim_count > 0)
			finder->pods[finder->pod_count++] = snapshot->pods[i];
	sort_stable(finder->pods, finder->pod_count, sizeof(*finder->pods), compare_pods);
}

void device_signs_find(struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct claimed_index *index = snapshot->device_table->claims;
	struct finder finder = { .facts = facts };

	if (!index || !index->devices || !index->devices->tainted)
		return;
	finder.devices = index->devices;
	sort_pods(&finder);
	if (finder.pod_count == 0)
		return;
	finder.signs = ARENA_NEW(facts->arena, struct device_signs);
	ARRAY_EACH(const struct resource_claim, claim, snapshot->device_objects->claims,
		   snapshot->device_objects->claim_count)
		if (claim->allocated &&
		    strcmp(claim->namespace_, snapshot->cluster.namespace_) == 0)
			read_claim(&finder, claim);
	sort_stable(finder.signs->list.at, finder.signs->list.count, sizeof(*finder.signs->list.at),
		    compare_signs);
	feature_slot_set(&facts->slots, facts->arena, &device_signs_slot, finder.signs);
}
