#include "core/nodes/pod_digest.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/nodes/gpu_part.h"
#include "core/nodes/pod_request.h"

/* Resource names of one sum; Nodes have a dozen. */
#define SUM_NAMES_MAX 16

struct sum {
	const char *namespace_, *cluster, *node;
	struct resource items[SUM_NAMES_MAX];
	size_t count;
	int64_t pods;
};

void pod_digest_init(struct pod_digest *digest, const struct device_table *devices, size_t most)
{
	*digest = (struct pod_digest){ .arena = ARENA_INIT, .devices = devices, .most = most };
}

void pod_digest_done(struct pod_digest *digest)
{
	map_done(&digest->sums);
	arena_done(&digest->arena);
}

static bool has_accelerator(const struct pod_digest *digest, const struct resources *request)
{
	for (size_t i = 0; i < request->count; i++)
		if (request->at[i].amount > 0 && device_find(digest->devices, request->at[i].name))
			return true;
	return false;
}

static struct labels copy_labels(struct arena *arena, const struct labels *from)
{
	static const char *const keys[] = { LABEL_CLUSTER, LABEL_GROUP, GPU_PART_GROUP };
	struct label *labels = arena_array(arena, sizeof(keys) / sizeof(keys[0]), sizeof(*labels));
	size_t count = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *value = labels_value(from, keys[i]);

		if (value)
			labels[count++] = (struct label){ keys[i], arena_strdup(arena, value) };
	}
	return (struct labels){ labels, count };
}

/* Gives the Pod one container with all requests. */
static void set_request(struct arena *arena, struct pod *pod, const struct resource *items,
			size_t count)
{
	struct container *container = ARENA_NEW(arena, struct container);
	struct quantity *quantities = arena_array(arena, count, sizeof(*quantities));

	for (size_t i = 0; i < count; i++)
		quantities[i] =
			(struct quantity){ .name = arena_strdup(arena, items[i].name),
					   .text = resource_amount_text(arena, items[i].amount),
					   .valid = true,
					   .amount = items[i].amount };
	container->name = container->image = "";
	container->requests = (struct quantities){ quantities, count };
	pod->spec.containers = container;
	pod->spec.container_count = 1;
}

static struct pod *add_entry(struct pod_digest *digest, const char *namespace_, const char *name,
			     const char *node)
{
	struct arena *arena = &digest->arena;

	digest->overflowed = digest->overflowed || digest->kept.count >= digest->most;
	if (digest->overflowed)
		return NULL;
	struct pod *entry = VEC_ADD(arena, &digest->kept);
	*entry = pod_empty;
	entry->namespace_ = arena_strdup(arena, namespace_);
	entry->name = arena_strdup(arena, name);
	entry->phase = *node != '\0' ? "Running" : "Pending";
	entry->spec.node_name = arena_strdup(arena, node);
	return entry;
}

static void keep(struct pod_digest *digest, const struct pod *pod, const struct resources *request)
{
	struct arena *arena = &digest->arena;
	struct pod *entry = add_entry(digest, pod->namespace_, pod->name, pod->spec.node_name);

	if (!entry)
		return;
	entry->labels = copy_labels(arena, &pod->labels);
	set_request(arena, entry, request->at, request->count);
	entry->device_uses = ARENA_COPY(arena, pod->device_uses, pod->device_use_count);
	entry->device_use_count = pod->device_use_count;
	entry->deleting = pod->deleting;
}

static struct sum *find_sum(struct pod_digest *digest, const struct pod *pod, struct arena *scratch)
{
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);
	const char *key = arena_printf(scratch, "%s %s/%s", pod->spec.node_name,
				       cluster ? pod->namespace_ : "", cluster ? cluster : "");
	struct sum *sum = map_get(&digest->sums, key);

	if (sum)
		return sum;
	digest->overflowed = digest->overflowed || digest->sums.count >= digest->most;
	if (digest->overflowed)
		return NULL;
	sum = ARENA_PUT(
		&digest->arena,
		(struct sum){
			.node = arena_strdup(&digest->arena, pod->spec.node_name),
			.namespace_ = cluster ? arena_strdup(&digest->arena, pod->namespace_) : "",
			.cluster = cluster ? arena_strdup(&digest->arena, cluster) : NULL,
		});
	map_set(&digest->sums, key, sum);
	return sum;
}

static void add_up(struct pod_digest *digest, struct sum *sum, const struct resource *item)
{
	for (size_t i = 0; i < sum->count; i++) {
		if (strcmp(sum->items[i].name, item->name) != 0)
			continue;
		sum->items[i].amount = resource_sum(sum->items[i].amount, item->amount);
		return;
	}
	if (sum->count < SUM_NAMES_MAX)
		sum->items[sum->count++] =
			(struct resource){ arena_strdup(&digest->arena, item->name), item->amount };
}

void pod_digest_add(struct pod_digest *digest, const struct pod *pod)
{
	struct arena scratch = ARENA_INIT;
	bool holds = pod_request_holds(pod);

	digest->seen++;
	if (!holds && pod->spec.node_name[0] != '\0')
		return; /* it has ended */
	struct resources request = pod_request_with_parts(&pod->spec, &scratch);
	if (has_accelerator(digest, &request) || pod->spec.claim_count > 0) {
		keep(digest, pod, &request);
	} else if (holds) {
		struct sum *sum = find_sum(digest, pod, &scratch);

		if (sum)
			for (size_t i = 0; i < request.count; i++)
				add_up(digest, sum, &request.at[i]);
		if (sum)
			sum->pods++;
	}
	arena_done(&scratch);
}

static int compare_pods(const void *a, const void *b)
{
	const struct pod *left = a, *right = b;
	int order = strcmp(left->spec.node_name, right->spec.node_name);

	if (order == 0)
		order = strcmp(left->namespace_, right->namespace_);
	return order != 0 ? order : strcmp(left->name, right->name);
}

const struct pod *pod_digest_finish(struct pod_digest *digest, size_t *ret_count)
{
	for (size_t i = 0; i < digest->sums.count; i++) {
		const struct sum *sum = digest->sums.entries[i].value;
		const char *name = arena_printf(&digest->arena, "%lld-pods-of-%s",
						(long long)sum->pods,
						sum->cluster ? sum->cluster : "others");
		const struct label cluster = { LABEL_CLUSTER, sum->cluster };
		const struct labels labels = { &cluster, sum->cluster ? 1 : 0 };
		struct pod *entry = add_entry(digest, sum->namespace_, name, sum->node);

		if (!entry)
			break;
		entry->labels = copy_labels(&digest->arena, &labels);
		set_request(&digest->arena, entry, sum->items, sum->count);
	}
	sort_stable(digest->kept.at, digest->kept.count, sizeof(struct pod), compare_pods);
	CHECK(digest->kept.count <= digest->most);
	CHECK(digest->overflowed || digest->kept.count <= digest->seen);
	*ret_count = digest->kept.count;
	return digest->kept.at;
}
