#include "feature/device_claims/core/device_free.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "core/nodes/node_match.h"

/* A counter of a CounterSet. */
struct device_counter {
	size_t pool;
	const char *set, *name;
	int64_t left;
};

struct device_counter_use {
	size_t counter;
	int64_t amount;
};

/* ---- pools ---- */

static int compare_pools(const struct resource_slice *a, const struct resource_slice *b)
{
	int order = strcmp(a->driver, b->driver);

	return order ? order : strcmp(a->pool, b->pool);
}

/* The newest generation of a pool is first. */
static int compare_slices(const void *left, const void *right)
{
	const struct resource_slice *a = *(const struct resource_slice *const *)left;
	const struct resource_slice *b = *(const struct resource_slice *const *)right;
	int order = compare_pools(a, b);

	if (order)
		return order;
	return (a->generation < b->generation) - (a->generation > b->generation);
}

static int compare_devices(const void *left, const void *right)
{
	const struct free_device *a = left, *b = right;
	int order = compare_pools(a->slice, b->slice);

	return order ? order : strcmp(a->device->name, b->device->name);
}

static int compare_counters(const void *left, const void *right)
{
	const struct device_counter *a = left, *b = right;
	int order;

	if (a->pool != b->pool)
		return a->pool < b->pool ? -1 : 1;
	order = strcmp(a->set, b->set);
	return order ? order : strcmp(a->name, b->name);
}

static int compare_nodes(const void *left, const void *right)
{
	const struct free_device *const *a = left, *const *b = right;
	int order = strcmp((*a)->node, (*b)->node);

	return order ? order : (*a > *b) - (*a < *b);
}

static int compare_node(const void *name, const void *one)
{
	return strcmp(name, (*(const struct free_device *const *)one)->node);
}

struct collected {
	VEC(struct free_device) devices;
	VEC(struct device_counter) counters;
};

static void collect_slice(const struct resource_slice *slice, size_t pool,
			  struct collected *collected, struct arena *arena)
{
	ARRAY_EACH(const struct device, device, slice->devices, slice->device_count)
		VEC_PUSH(arena, &collected->devices,
			 ((struct free_device){ .slice = slice,
						.device = device,
						.node = *slice->node_name ? slice->node_name :
									    device->node_name,
						.pool = pool }));
	ARRAY_EACH(const struct device_counters, set, slice->shared, slice->shared_count) {
		ARRAY_EACH(const struct quantity, one, set->counters.at, set->counters.count)
			VEC_PUSH(arena, &collected->counters,
				 ((struct device_counter){ pool, set->set, one->name,
							   one->amount }));
	}
}

/* The index of a pool is that of its first slice in the sorted array. */
static void collect(const struct resource_slice *const *slices, size_t count,
		    struct collected *collected, struct arena *arena)
{
	for (size_t first = 0; first < count;) {
		size_t end = first, newest = first;

		for (; end < count && compare_pools(slices[first], slices[end]) == 0; end++)
			newest += slices[end]->generation == slices[first]->generation;
		for (size_t i = first; i < newest; i++) {
			if ((int64_t)(newest - first) == slices[first]->slice_count)
				collect_slice(slices[i], first, collected, arena);
		}
		first = end;
	}
}

/* A counter that the pool does not have limits nothing, as in the scheduler. */
static void find_uses(const struct device_free *free, struct free_device *one, struct arena *arena)
{
	VEC(struct device_counter_use) uses = { .at = NULL };

	ARRAY_EACH(const struct device_counters, set, one->device->consumes,
		   one->device->consumes_count) {
		ARRAY_EACH(const struct quantity, amount, set->counters.at, set->counters.count) {
			const struct device_counter key = { one->pool, set->set, amount->name, 0 };
			struct device_counter *counter = SORT_FIND(
				&key, free->counters, free->counter_count, compare_counters);

			if (counter)
				VEC_PUSH(arena, &uses,
					 ((struct device_counter_use){
						 (size_t)(counter - free->counters),
						 amount->amount }));
		}
	}
	one->uses = uses.at;
	one->use_count = uses.count;
}

static void init_capacity(struct free_device *one, struct arena *arena)
{
	const struct quantities *capacity = &one->device->capacity;

	if (!one->device->allow_multiple)
		return;
	one->left = arena_array(arena, capacity->count + 1, sizeof(*one->left));
	for (size_t i = 0; i < capacity->count; i++)
		one->left[i] = capacity->at[i].amount;
}

/* ---- devices of claims ---- */

const struct free_device *device_free_find(const struct device_free *free, const char *driver,
					   const char *pool, const char *name)
{
	const struct resource_slice slice = { .driver = driver, .pool = pool };
	const struct device device = { .name = name };
	const struct free_device wanted = { .slice = &slice, .device = &device };

	return SORT_FIND(&wanted, free->devices, free->device_count, compare_devices);
}

/* More than there is leaves nothing. */
static void subtract(int64_t *left, int64_t amount)
{
	*left = *left > amount ? *left - amount : 0;
}

static void claim_device(const struct device_free *free, const struct claim_result *result)
{
	const struct free_device *found =
		device_free_find(free, result->driver, result->pool, result->device);
	struct free_device *one;

	if (!found || result->admin_access)
		return;
	one = &free->devices[found - free->devices];
	if (!one->left) {
		if (one->claimed)
			return;
		for (size_t i = 0; i < one->use_count; i++)
			subtract(&free->counters[one->uses[i].counter].left, one->uses[i].amount);
		one->claimed = true;
		return;
	}
	for (size_t i = 0; i < one->device->capacity.count; i++) {
		const struct quantity *used =
			quantities_find(&result->consumed, one->device->capacity.at[i].name);

		if (used)
			subtract(&one->left[i], used->amount);
	}
}

struct device_free *device_free_make(const struct device_objects *objects, struct arena *arena)
{
	struct device_free *free;
	struct collected collected = { .devices = { .at = NULL } };
	const struct resource_slice **slices =
		arena_array(arena, objects->slice_count + 1, sizeof(*slices));

	for (size_t i = 0; i < objects->slice_count; i++)
		slices[i] = &objects->slices[i];
	qsort(slices, objects->slice_count, sizeof(*slices), compare_slices);
	collect(slices, objects->slice_count, &collected, arena);
	free = ARENA_PUT(arena, (struct device_free){ .objects = objects,
						      .devices = collected.devices.at,
						      .device_count = collected.devices.count,
						      .steps_left = DEVICE_STEPS_MAX,
						      .counters = collected.counters.at,
						      .counter_count = collected.counters.count });
	free->by_node = arena_array(arena, free->device_count + 1, sizeof(struct free_device *));
	if (free->counter_count > 0)
		qsort(free->counters, free->counter_count, sizeof(*free->counters),
		      compare_counters);
	if (free->device_count > 0)
		qsort(free->devices, free->device_count, sizeof(*free->devices), compare_devices);
	for (size_t i = 0; i < free->device_count; i++) {
		find_uses(free, &free->devices[i], arena);
		init_capacity(&free->devices[i], arena);
		free->by_node[i] = &free->devices[i];
	}
	qsort(free->by_node, free->device_count, sizeof(struct free_device *), compare_nodes);
	ARRAY_EACH(const struct resource_claim, claim, objects->claims, objects->claim_count) {
		if (claim->allocated)
			for (size_t i = 0; i < claim->result_count; i++)
				claim_device(free, &claim->results[i]);
	}
	return free;
}

struct device_free *device_free_copy(const struct device_free *free, struct arena *arena)
{
	struct device_free *copy = ARENA_COPY(arena, free, 1);

	copy->devices = ARENA_COPY(arena, free->devices, free->device_count);
	copy->by_node = arena_array(arena, free->device_count, sizeof(struct free_device *));
	copy->counters = ARENA_COPY(arena, free->counters, free->counter_count);
	for (size_t i = 0; i < free->device_count; i++) {
		struct free_device *one = &copy->devices[i];

		copy->by_node[i] = &copy->devices[free->by_node[i] - free->devices];
		if (one->left)
			one->left = ARENA_COPY(arena, one->left, one->device->capacity.count);
	}
	return copy;
}

/* ---- whether a device serves an ask ---- */

static void add_selectors(struct device_selection *selection, const struct strings *texts,
			  struct arena *arena)
{
	for (size_t i = 0; i < texts->count; i++)
		VEC_PUSH(arena, &selection->selectors, cel_compile(texts->at[i], arena));
}

void device_free_select(const struct device_free *free, const struct device_ask *ask,
			struct arena *arena, struct device_selection *ret_selection)
{
	const struct device_objects *objects = free->objects;
	const struct device_class *class =
		ARRAY_FIND(objects->classes, objects->class_count, name, ask->device_class);

	*ret_selection = (struct device_selection){ .no_class = !class && objects->classes_known,
						    .unjudged = !class && !objects->classes_known };
	if (class)
		add_selectors(ret_selection, &class->selectors, arena);
	add_selectors(ret_selection, &ask->selectors, arena);
}

enum cel_verdict device_free_matches(const struct device_selection *selection,
				     const struct free_device *one)
{
	const struct cel_device device = { one->slice->driver, one->device };
	enum cel_verdict verdict = selection->unjudged ? CEL_UNKNOWN : CEL_YES;

	if (selection->no_class)
		return CEL_NO;
	for (size_t i = 0; i < selection->selectors.count; i++) {
		enum cel_verdict next = cel_judge(selection->selectors.at[i], &device);

		if (next == CEL_NO)
			return CEL_NO;
		verdict = next == CEL_UNKNOWN ? CEL_UNKNOWN : verdict;
	}
	return verdict;
}

struct free_device *const *device_free_of_node(const struct device_free *free, const char *node,
					       size_t *ret_count)
{
	struct free_device **first =
		SORT_FIND(node, free->by_node, free->device_count, compare_node);
	size_t most = first ? free->device_count - (size_t)(first - free->by_node) : 0, count = 0;

	while (count < most && strcmp(first[count]->node, node) == 0)
		count++;
	*ret_count = count;
	return first;
}

const char *device_free_attribute(const struct free_device *one, const char *name)
{
	const char *driver = one->slice->driver;
	size_t size = strlen(driver);

	ARRAY_EACH(const struct device_attribute, attribute, one->device->attributes,
		   one->device->attribute_count) {
		if (attribute->kind == ATTRIBUTE_STRING &&
		    strncmp(attribute->name, driver, size) == 0 && attribute->name[size] == '/' &&
		    strcmp(attribute->name + size + 1, name) == 0)
			return attribute->text;
	}
	return "";
}

static bool is_tainted(const struct device_ask *ask, const struct device *device)
{
	const struct pod_spec spec = { .tolerations = ask->tolerations,
				       .toleration_count = ask->toleration_count };
	const struct node node = { .taints = device->taints, .taint_count = device->taint_count };

	return node_match_taint(&spec, &node) != NULL;
}

/* The part of this capacity of a shared device that the ask takes. */
static int64_t share_of(const struct device_ask *ask, const struct quantity *capacity)
{
	const struct quantity *asked = quantities_find(&ask->capacity, capacity->name);

	return asked ? asked->amount : capacity->amount;
}

/* Counters and capacity are left. */
static bool has_room(const struct device_free *free, const struct device_ask *ask,
		     const struct free_device *one)
{
	const struct quantities *capacity = &one->device->capacity;

	ARRAY_EACH(const struct quantity, asked, ask->capacity.at, ask->capacity.count) {
		const struct quantity *offered = quantities_find(capacity, asked->name);

		if (!offered || asked->amount > offered->amount)
			return false;
	}
	if (one->left) {
		for (size_t i = 0; i < capacity->count; i++)
			if (share_of(ask, &capacity->at[i]) > one->left[i])
				return false;
		return true;
	}
	for (size_t i = 0; i < one->use_count; i++)
		if (one->uses[i].amount > free->counters[one->uses[i].counter].left)
			return false;
	return true;
}

void device_free_count(const struct device_free *free, const struct device_ask *ask,
		       struct arena *arena, struct device_count *ret_count)
{
	struct device_selection selection;

	*ret_count = (struct device_count){ .total = 0 };
	device_free_select(free, ask, arena, &selection);
	ARRAY_EACH(const struct free_device, one, free->devices, free->device_count) {
		enum cel_verdict verdict = device_free_matches(&selection, one);

		if (verdict == CEL_NO)
			continue;
		ret_count->unjudged = ret_count->unjudged || verdict == CEL_UNKNOWN;
		ret_count->total++;
		if (one->claimed)
			ret_count->claimed++;
		else if (is_tainted(ask, one->device))
			ret_count->tainted++;
		else if (!has_room(free, ask, one))
			ret_count->blocked++;
		else
			ret_count->free++;
	}
}

/* ---- how many Pods fit ----
 *
 * A depth-first search: the devices of one ask are chosen in the order of its candidates, so that a
 * set of equal devices is tried once and not in each order, and an ask ends when fewer candidates are
 * left than it needs. Chosen devices are on a stack (`chosen`), with which a constraint also
 * compares a further device. Example: a request for 2 devices with one pcieRoot, candidates a
 * and b of root 1 and c of root 2: a, b. If the next request needs b, b is returned, c does not match
 * a, then b, c is tried and does not match, and the Pod does not fit. */

struct request_plan {
	const struct claim_spec *spec;
	const struct device_request *request;
};

struct ask_plan {
	const struct device_ask *ask;
	struct device_selection selection;
	size_t request; /* in requests */
	/* Of the Node. */
	bool shared; /* a candidate is a shared device */
	VEC(struct free_device *) candidates;
};

struct device_choice {
	const struct device_ask *ask;
	size_t request; /* in requests */
	struct free_device *one;
};

struct search {
	VEC(struct request_plan) requests;
	VEC(struct ask_plan) asks; /* in the order of requests */
	VEC(struct device_choice) chosen;
	struct device_free *free;
	size_t pod_start; /* in chosen: of the Pod that is placed */
	int64_t pods;     /* that are placed */
	size_t steps, steps_max;
	bool cut, unjudged;
	struct arena *arena;
};

/* A device of the Node's name, or of no single one. NULL: a Node that is not known. */
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

/* With `all` also those that are claimed: the ask then fails. */
static void add_candidates(struct search *search, const char *name, const struct node *node,
			   struct ask_plan *plan)
{
	size_t count;
	struct free_device *const *devices = device_free_of_node(search->free, name, &count);

	for (size_t i = 0; i < count; i++) {
		struct free_device *one = devices[i];
		bool usable = !one->claimed && !is_tainted(plan->ask, one->device);
		enum cel_verdict verdict;

		if (search->cut)
			break;
		search->cut = ++search->steps > search->steps_max;
		if ((!usable && !plan->ask->all) || !is_on_node(one, node))
			continue;
		verdict = device_free_matches(&plan->selection, one);
		if (verdict == CEL_NO)
			continue;
		search->unjudged = search->unjudged || verdict == CEL_UNKNOWN;
		VEC_PUSH(search->arena, &plan->candidates, one);
		plan->shared = plan->shared || one->left;
	}
}

static void add_request(struct search *search, const struct claim_spec *spec,
			const struct device_request *request)
{
	VEC_PUSH(search->arena, &search->requests, ((struct request_plan){ spec, request }));
	ARRAY_EACH(const struct device_ask, ask, request->asks, request->ask_count) {
		struct ask_plan plan = { .ask = ask, .request = search->requests.count - 1 };

		device_free_select(search->free, ask, search->arena, &plan.selection);
		VEC_PUSH(search->arena, &search->asks, plan);
	}
}

static const struct device_attribute *attribute_of(const struct device *device, const char *name)
{
	return ARRAY_FIND(device->attributes, device->attribute_count, name, name);
}

static bool same_attribute(const struct device *a, const struct device *b, const char *name)
{
	const struct device_attribute *left = attribute_of(a, name), *right = attribute_of(b, name);

	if (!left || !right || left->kind != right->kind)
		return false;
	if (left->kind == ATTRIBUTE_STRING || left->kind == ATTRIBUTE_VERSION)
		return strcmp(left->text, right->text) == 0;
	return left->number == right->number;
}

/* Of the constraint's requests: "gpus", or "gpus/small" for an alternative. */
static bool is_constrained(const struct device_constraint *constraint, const char *request,
			   const char *ask)
{
	size_t size = strlen(request);

	for (size_t i = 0; i < constraint->requests.count; i++) {
		const char *name = constraint->requests.at[i];

		if (strncmp(name, request, size) == 0 &&
		    (name[size] == '\0' ||
		     (name[size] == '/' && strcmp(name + size + 1, ask) == 0)))
			return true;
	}
	return constraint->requests.count == 0;
}

static bool agrees(const struct search *search, const struct ask_plan *plan,
		   const struct device *device, const struct device_constraint *constraint)
{
	const struct request_plan *mine = &search->requests.at[plan->request];

	if (!is_constrained(constraint, mine->request->name, plan->ask->name))
		return true;
	if (!attribute_of(device, constraint->match_attribute))
		return false;
	for (size_t i = search->pod_start; i < search->chosen.count; i++) {
		const struct device_choice *other = &search->chosen.at[i];
		const struct request_plan *its = &search->requests.at[other->request];

		if (its->spec == mine->spec &&
		    is_constrained(constraint, its->request->name, other->ask->name))
			return same_attribute(device, other->one->device,
					      constraint->match_attribute);
	}
	return true;
}

/* sign -1 takes, 1 returns. */
static void move(const struct device_free *free, const struct device_choice *choice, int sign)
{
	struct free_device *one = choice->one;

	if (one->left) {
		for (size_t i = 0; i < one->device->capacity.count; i++)
			one->left[i] += sign * share_of(choice->ask, &one->device->capacity.at[i]);
	} else {
		for (size_t i = 0; i < one->use_count; i++)
			free->counters[one->uses[i].counter].left += sign * one->uses[i].amount;
		one->claimed = sign < 0;
	}
}

static bool take(struct search *search, const struct ask_plan *plan, struct free_device *one)
{
	const struct claim_spec *spec = search->requests.at[plan->request].spec;
	struct device_choice choice = { plan->ask, plan->request, one };

	search->cut = search->cut || ++search->steps > search->steps_max ||
		      search->chosen.count - search->pod_start >= DEVICE_FIT_DEVICES_MAX;
	if (search->cut || one->claimed || !has_room(search->free, plan->ask, one) ||
	    is_tainted(plan->ask, one->device))
		return false;
	ARRAY_EACH(const struct device_constraint, constraint, spec->constraints,
		   spec->constraint_count) {
		if (!agrees(search, plan, one->device, constraint))
			return false;
	}
	move(search->free, &choice, -1);
	VEC_PUSH(search->arena, &search->chosen, choice);
	return true;
}

static void return_last(struct search *search)
{
	move(search->free, &search->chosen.at[--search->chosen.count], 1);
}

static bool place_request(struct search *search, size_t request, size_t ask);

/* The rest of the ask, whose `needed` devices are among the candidates from `from` on. */
static bool place_ask(struct search *search, size_t ask, int64_t needed, size_t from)
{
	const struct ask_plan *plan = &search->asks.at[ask];
	size_t next = ask;

	if (needed == 0) {
		while (next < search->asks.count && search->asks.at[next].request == plan->request)
			next++;
		return place_request(search, plan->request + 1, next);
	}
	for (size_t i = from; i < plan->candidates.count; i++) {
		struct free_device *one = plan->candidates.at[i];
		/* A shared device may serve the ask several times. */
		bool again = one->left && !plan->ask->all;

		if (search->cut)
			return false;
		if (!plan->shared && (int64_t)(plan->candidates.count - i) < needed)
			return false;
		if (take(search, plan, one)) {
			if (place_ask(search, ask, needed - 1, again ? i : i + 1))
				return true;
			return_last(search);
		}
		if (plan->ask->all)
			return false;
	}
	return false;
}

/* The requests from this one on; `ask` is its first alternative. The first alternative with which all
 * fits wins. */
static bool place_request(struct search *search, size_t request, size_t ask)
{
	if (request == search->requests.count)
		return true;
	for (; ask < search->asks.count && search->asks.at[ask].request == request; ask++) {
		const struct ask_plan *plan = &search->asks.at[ask];
		int64_t needed = plan->ask->all ? (int64_t)plan->candidates.count :
						  plan->ask->count;

		if (plan->ask->admin_access)
			needed = 0;
		else if (needed < 1)
			continue;
		if (place_ask(search, ask, needed, 0))
			return true;
	}
	return false;
}

/* As many Pods as fit on the Node of this name. */
static void fit_on(struct search *search, const char *name, const struct device_pods *pods)
{
	const struct node *node = ARRAY_FIND(pods->nodes, pods->node_count, name, name);

	if (node && pods->spec &&
	    (!node_match_selects(pods->spec, node) || node_match_taint(pods->spec, node)))
		return;
	VEC_EACH(struct ask_plan, plan, &search->asks) {
		plan->candidates.count = 0;
		plan->shared = false;
		if (plan->ask->admin_access)
			continue;
		add_candidates(search, name, node, plan);
		if (*name)
			add_candidates(search, "", node, plan);
	}
	while (!search->cut && search->pods < pods->most && place_request(search, 0, 0)) {
		search->pods++;
		/* Without devices all Pods fit. */
		if (search->chosen.count == search->pod_start)
			search->pods = pods->most;
		search->pod_start = search->chosen.count;
	}
}

void device_free_fit(struct device_free *free, const struct device_pods *pods, struct arena *arena,
		     struct device_fit *ret_fit)
{
	size_t limit = free->steps_left < DEVICE_FIT_STEPS_MAX ? free->steps_left :
								 DEVICE_FIT_STEPS_MAX;
	struct search search = { .free = free, .arena = arena, .steps_max = limit };

	for (size_t i = 0; i < pods->spec_count; i++) {
		ARRAY_EACH(const struct device_request, request, pods->specs[i]->requests,
			   pods->specs[i]->request_count)
			add_request(&search, pods->specs[i], request);
	}
	search.cut = search.requests.count > DEVICE_FIT_DEVICES_MAX;
	fit_on(&search, "", pods);
	for (size_t i = 0; i < free->device_count; i++) {
		if (search.cut || search.pods >= pods->most)
			break;
		if (i == 0 || strcmp(free->by_node[i - 1]->node, free->by_node[i]->node) != 0)
			fit_on(&search, free->by_node[i]->node, pods);
	}
	if (!pods->keep)
		while (search.chosen.count > 0)
			return_last(&search);
	free->steps_left -= search.steps < limit ? search.steps : limit;
	*ret_fit = (struct device_fit){ search.pods, search.cut, search.unjudged };
}
