#include "feature/device_claims/core/device_count.h"

#include <string.h>

#include "core/nodes/node_match.h"

/* ---- what a Pod wants ---- */

/* The only alternative of its request, for any device that matches. */
static bool is_plain(const struct device_wants *wants, size_t at)
{
	const struct device_want *want = &wants->at.at[at];

	return want->matches && want->count > 0 && !want->ask->all &&
	       want->ask->toleration_count == 0 && want->ask->capacity.count == 0 &&
	       (at == 0 || wants->at.at[at - 1].request != want->request) &&
	       (at + 1 == wants->at.count || wants->at.at[at + 1].request != want->request);
}

static struct device_want *find_plain(const struct device_wants *wants,
				      const struct device_matches *matches)
{
	for (size_t i = 0; i < wants->at.count; i++)
		if (wants->at.at[i].matches == matches && is_plain(wants, i))
			return &wants->at.at[i];
	return NULL;
}

void device_wants_add(struct device_wants *wants, const struct device_wants *claim,
		      struct arena *arena)
{
	size_t first = wants->request_count;

	if (claim->at.count > DEVICE_WANTS_MAX - wants->at.count)
		return;
	for (size_t i = 0; i < claim->at.count; i++) {
		struct device_want want = claim->at.at[i];
		struct device_want *same = is_plain(claim, i) ? find_plain(wants, want.matches) :
								NULL;

		if (same) {
			same->count += want.count;
			continue;
		}
		want.request += first;
		VEC_PUSH(arena, &wants->at, want);
	}
	wants->request_count += claim->request_count;
}

/* ---- one device ---- */

static bool is_tainted(const struct device_ask *ask, const struct free_device *one)
{
	const struct pod_spec spec = { .tolerations = ask->tolerations,
				       .toleration_count = ask->toleration_count };
	const struct node node = { .taints = one->taints, .taint_count = one->taint_count };

	return one->taint_count > 0 && node_match_taint(&spec, &node) != NULL;
}

/* The amount that the ask takes of this capacity of a shared device. */
static int64_t part_of(const struct device_ask *ask, const struct free_device *one,
		       const struct quantity *capacity)
{
	const struct quantity *asked =
		device_free_amount(&ask->capacity, one->slice->driver, capacity->name);

	if (!asked)
		asked = quantities_find(&one->device->defaults, capacity->name);
	return asked ? asked->amount : capacity->amount;
}

static bool has_capacity(const struct device_ask *ask, const struct free_device *one)
{
	const struct quantities *capacity = &one->device->capacity;
	size_t found = 0;

	if (ask->capacity.count == 0)
		return true;
	for (size_t i = 0; i < capacity->count; i++) {
		const struct quantity *asked = device_free_amount(
			&ask->capacity, one->slice->driver, capacity->at[i].name);

		if (asked && asked->amount > capacity->at[i].amount)
			return false;
		found += asked != NULL;
	}
	return found >= ask->capacity.count;
}

/* How often the ask gets the device, as it is now. */
static int64_t times_of(const struct device_ask *ask, const struct free_device *one)
{
	int64_t times = INT64_MAX;

	if (one->claimed || one->blocked || is_tainted(ask, one) || !has_capacity(ask, one))
		return 0;
	if (!one->left)
		return 1;
	for (size_t i = 0; i < one->device->capacity.count; i++) {
		int64_t part = part_of(ask, one, &one->device->capacity.at[i]);

		if (part > 0 && one->left[i] / part < times)
			times = one->left[i] / part;
	}
	return times;
}

/* ---- Pods ---- */

static int64_t add(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* A device of no single Node is on this one; NULL: a Node that is not known. */
static bool is_on_node(const struct free_device *one, const struct node *node)
{
	const struct resource_slice *slice = one->slice;
	bool by_slice = *slice->node_name || slice->all_nodes || slice->node_term_count > 0;
	const struct pod_spec terms = {
		.required_node_terms = by_slice ? slice->node_terms : one->device->node_terms,
		.required_node_term_count = by_slice ? slice->node_term_count :
						       one->device->node_term_count,
	};

	if (*one->node || !node || (by_slice ? slice->all_nodes : one->device->all_nodes))
		return true;
	return terms.required_node_term_count > 0 && node_match_affinity(&terms, node);
}

/* Devices of a range, on one Node: how often a want is satisfied. */
struct range {
	const struct device_free *free;
	size_t first, end;
	const struct node *node;
};

static int64_t count_range(const struct device_want *want, const struct range *range, bool *ret_all)
{
	int64_t sum = 0;

	for (size_t i = range->first; i < range->end; i++) {
		const struct free_device *one = &range->free->devices[i];
		int64_t times;

		if (!device_matches_has(want->matches, i) || !is_on_node(one, range->node))
			continue;
		times = times_of(want->ask, one);
		*ret_all = *ret_all && times > 0;
		sum = add(sum, times);
	}
	return sum;
}

struct counting {
	const struct device_place *place;
	const struct device_wants *wants;
	size_t loose;  /* devices of no single Node, which are the first ones */
	int64_t *sums; /* by want: over all Nodes, each device once */
};

/* The Pods for which the devices of a Node are enough. */
static int64_t count_node(struct counting *c, const struct range *own)
{
	const struct range loose = { own->free, 0, c->loose, own->node };
	int64_t pods = INT64_MAX, request_pods = 0;

	for (size_t i = 0; i < c->wants->at.count; i++) {
		const struct device_want *want = &c->wants->at.at[i];
		bool all = true;
		int64_t found = count_range(want, own, &all),
			more = count_range(want, &loose, &all);

		c->sums[i] = add(c->sums[i], found);
		found = add(found, more);
		if (want->count == 0)
			found = INT64_MAX;
		else if (want->ask->all)
			found = found > 0 && all;
		else
			found /= want->count;
		request_pods = add(request_pods, found);
		if (i + 1 < c->wants->at.count && want[1].request == want->request)
			continue;
		pods = request_pods < pods ? request_pods : pods;
		request_pods = 0;
	}
	return pods;
}

/* Devices of no single Node were counted on each: they are enough for fewer Pods together. */
static int64_t count_together(const struct counting *c)
{
	const struct range loose = { c->place->free, 0, c->loose, NULL };
	int64_t pods = INT64_MAX, request_pods = 0;

	for (size_t i = 0; i < c->wants->at.count; i++) {
		const struct device_want *want = &c->wants->at.at[i];
		int64_t found = add(c->sums[i], count_range(want, &loose, &(bool){ true }));

		request_pods = add(request_pods, want->count == 0 || want->ask->all ?
							 INT64_MAX :
							 found / want->count);
		if (i + 1 < c->wants->at.count && want[1].request == want->request)
			continue;
		pods = request_pods < pods ? request_pods : pods;
		request_pods = 0;
	}
	return pods;
}

static bool selects(const struct device_place *place, const struct node *node)
{
	return !node ||
	       (node_match_selects(place->spec, node) && !node_match_taint(place->spec, node));
}

int64_t device_count_pods(const struct device_place *place, const struct device_wants *wants,
			  int64_t most, struct arena *arena)
{
	const struct device_free *free = place->free;
	struct counting c = { .place = place, .wants = wants };
	int64_t pods = 0, together;

	c.sums = arena_array(arena, wants->at.count, sizeof(*c.sums));
	c.loose = device_free_of_node(free, "", &(size_t){ 0 });
	if (free->device_count == c.loose)
		pods = count_node(&c, &(struct range){ free, 0, 0, NULL });
	for (size_t first = c.loose, end; first < free->device_count; first = end) {
		const char *name = free->devices[first].node;
		const struct node *node = ARRAY_FIND(place->nodes, place->node_count, name, name);

		for (end = first; end < free->device_count; end++)
			if (strcmp(free->devices[end].node, name) != 0)
				break;
		if (pods >= most && c.loose == 0)
			break;
		if (selects(place, node))
			pods = add(pods, count_node(&c, &(struct range){ free, first, end, node }));
	}
	together = c.loose > 0 ? count_together(&c) : most;
	pods = pods < together ? pods : together;
	return pods < most ? pods : most;
}

/* ---- for messages ---- */

void device_count_add(struct device_count *count, const struct device_ask *ask,
		      const struct free_device *one)
{
	count->total++;
	if (one->claimed)
		count->claimed++;
	else if (is_tainted(ask, one))
		count->tainted++;
	else if (times_of(ask, one) == 0)
		count->blocked++;
	else
		count->free++;
}

void device_count_all(const struct device_free *free, const struct device_ask *ask,
		      const struct device_matches *matches, struct device_count *ret_count)
{
	*ret_count = (struct device_count){ .total = 0 };
	for (size_t i = 0; i < free->device_count; i++)
		if (device_matches_has(matches, i))
			device_count_add(ret_count, ask, &free->devices[i]);
}
