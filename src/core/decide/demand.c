#include "core/decide/demand.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/model/reason.h"

#define TEXT_ENTRIES_MAX 32

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* NaN is equal to itself and before all others. */
static int compare_doubles(double a, double b)
{
	if (a != a || b != b)
		return (a == a) - (b == b);
	return (a > b) - (a < b);
}

static int compare_bundles(const struct ray_request *a, const struct ray_request *b)
{
	size_t count = a->bundle_count < b->bundle_count ? a->bundle_count : b->bundle_count;
	for (size_t i = 0; i < count; i++) {
		const struct bundle_entry *left = &a->bundle[i], *right = &b->bundle[i];
		int order = strcmp(left->name, right->name);
		if (order == 0)
			order = compare_numbers(left->amount, right->amount);
		/* Ray receives the amounts as they were reported, so they decide among equal
		 * ones. */
		if (order == 0)
			order = compare_doubles(left->received, right->received);
		if (order != 0)
			return order;
	}
	return compare_sizes(a->bundle_count, b->bundle_count);
}

static int compare_string_lists(const struct strings *a, const struct strings *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		int order = strcmp(a->at[i], b->at[i]);
		if (order != 0)
			return order;
	}
	return compare_sizes(a->count, b->count);
}

static int compare_selectors(const struct label_selector *a, const struct label_selector *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		const struct label_constraint *left = &a->constraints[i],
					      *right = &b->constraints[i];
		int order = strcmp(left->key, right->key);
		if (order == 0)
			order = compare_numbers(left->operation, right->operation);
		if (order == 0)
			order = compare_string_lists(&left->values, &right->values);
		if (order != 0)
			return order;
	}
	return compare_sizes(a->count, b->count);
}

static int compare_affinities(bool has_a, const struct label *a, bool has_b, const struct label *b)
{
	if (has_a != has_b)
		return has_a ? 1 : -1;
	if (!has_a)
		return 0;
	int order = strcmp(a->key, b->key);
	return order != 0 ? order : strcmp(a->value, b->value);
}

static int compare_placements(const struct placement_constraint *a,
			      const struct placement_constraint *b)
{
	int order = compare_affinities(a->has_anti_affinity, &a->anti_affinity,
				       b->has_anti_affinity, &b->anti_affinity);
	if (order != 0)
		return order;
	return compare_affinities(a->has_affinity, &a->affinity, b->has_affinity, &b->affinity);
}

int demand_compare_requests(const struct ray_request *a, const struct ray_request *b)
{
	int order = compare_bundles(a, b);
	if (order == 0)
		order = compare_sizes(a->selector_count, b->selector_count);
	for (size_t i = 0; order == 0 && i < a->selector_count; i++)
		order = compare_selectors(&a->selectors[i], &b->selectors[i]);
	if (order == 0)
		order = compare_sizes(a->placement_count, b->placement_count);
	for (size_t i = 0; order == 0 && i < a->placement_count; i++)
		order = compare_placements(&a->placements[i], &b->placements[i]);
	return order;
}

/* The bundles of a gang: in its bundle selectors one list for each way to place it, in the older
 * form a single one. */
static size_t gang_choices(const struct ray_gang *gang)
{
	return gang->selector_count > 0 ? gang->selector_count : 1;
}

const struct ray_request *demand_gang_bundles(const struct ray_gang *gang, size_t choice,
					      size_t *ret_count)
{
	if (gang->selector_count > 0) {
		*ret_count = gang->selectors[choice].count;
		return gang->selectors[choice].requests;
	}
	*ret_count = gang->request_count;
	return gang->requests;
}

/* NULL and "": none. */
static int compare_localities(const struct bundle_selector *a, const struct bundle_selector *b)
{
	bool given_a = locality_is_given(&a->locality), given_b = locality_is_given(&b->locality);

	if (!given_a || !given_b)
		return compare_sizes(given_a, given_b);
	return strcmp(a->locality.label, b->locality.label);
}

static int compare_choices(const struct ray_gang *a, const struct ray_gang *b, size_t choice)
{
	size_t count_a, count_b;
	const struct ray_request *bundles_a = demand_gang_bundles(a, choice, &count_a);
	const struct ray_request *bundles_b = demand_gang_bundles(b, choice, &count_b);
	int order = 0;
	for (size_t i = 0; order == 0 && i < count_a && i < count_b; i++)
		order = demand_compare_requests(&bundles_a[i], &bundles_b[i]);
	if (order == 0 && a->selector_count > 0 && b->selector_count > 0)
		order = compare_localities(&a->selectors[choice], &b->selectors[choice]);
	return order != 0 ? order : compare_sizes(count_a, count_b);
}

int demand_compare_gangs(const struct ray_gang *a, const struct ray_gang *b)
{
	size_t choices_a = gang_choices(a), choices_b = gang_choices(b);
	int order = 0;
	for (size_t i = 0; order == 0 && i < choices_a && i < choices_b; i++)
		order = compare_choices(a, b, i);
	if (order == 0)
		order = compare_sizes(choices_a, choices_b);
	return order != 0 ? order : strcmp(a->details, b->details);
}

const char *demand_bundle_text(struct arena *arena, const struct ray_request *request)
{
	size_t count = request->bundle_count < TEXT_ENTRIES_MAX ? request->bundle_count :
								  TEXT_ENTRIES_MAX;
	struct resource *items = arena_array(arena, count, sizeof(*items));
	for (size_t i = 0; i < count; i++)
		items[i] = (struct resource){ request->bundle[i].name, request->bundle[i].amount };
	struct resources resources = { items, count };
	return resources_text(arena, &resources);
}

static uint64_t hash_selectors(struct arena *arena, uint64_t hash,
			       const struct ray_request *request)
{
	ARRAY_EACH(const struct label_selector, selector, request->selectors,
		   request->selector_count) {
		ARRAY_EACH(const struct label_constraint, constraint, selector->constraints,
			   selector->count) {
			hash = hash_add(hash, constraint->key);
			hash = hash_add(hash,
					arena_printf(arena, "%d", (int)constraint->operation));
			for (size_t v = 0; v < constraint->values.count; v++)
				hash = hash_add(hash, constraint->values.at[v]);
		}
		hash = hash_add(hash, "|");
	}
	return hash;
}

static uint64_t hash_request(struct arena *arena, uint64_t hash, const struct ray_request *request)
{
	for (size_t i = 0; i < request->bundle_count; i++) {
		hash = hash_add(hash, request->bundle[i].name);
		hash = hash_add(hash, resource_amount_text(arena, request->bundle[i].amount));
	}
	return hash_selectors(arena, hash, request);
}

const char *demand_key(struct arena *arena, const struct ray_request *request)
{
	uint64_t hash = hash_request(arena, HASH_START, request);
	return arena_printf(arena, "%016llx", (unsigned long long)hash);
}

const char *demand_gang_key(struct arena *arena, const struct ray_gang *gang)
{
	size_t count;
	const struct ray_request *bundles = demand_gang_bundles(gang, 0, &count);
	uint64_t hash = hash_add(HASH_START, gang->details);
	for (size_t i = 0; i < count; i++)
		hash = hash_request(arena, hash, &bundles[i]);
	return arena_printf(arena, "gang-%016llx", (unsigned long long)hash);
}

/* Ray accepts fractions of one GPU or whole numbers and rejects 1.5. Only bundles as
 * received are checked: the sum of a STRICT_PACK group may be 1.5. */
static bool has_broken_gpu(const struct ray_request *request)
{
	int64_t gpus = ray_request_gpus(request);
	return gpus > RESOURCE_UNIT && gpus % RESOURCE_UNIT != 0;
}

static void judge_request(struct facts *facts, const struct ray_request *request,
			  enum reason *ret_reason, const char **ret_message)
{
	if (request->problem) {
		*ret_reason = REASON_BAD_AMOUNT;
		*ret_message = request->problem;
	} else if (has_broken_gpu(request)) {
		*ret_reason = REASON_FRACTION_ABOVE_ONE;
		*ret_message = arena_printf(facts->arena,
					    "%s: amounts of GPU above 1 must be whole numbers",
					    demand_bundle_text(facts->arena, request));
	}
}

struct received {
	const struct ray_request *request;
	size_t index;
	int64_t count;
};

static int compare_received(const void *left, const void *right)
{
	const struct received *a = left;
	const struct received *b = right;
	int order = demand_compare_requests(a->request, b->request);
	return order != 0 ? order : compare_sizes(a->index, b->index);
}

static void join_equal(struct facts *facts, const struct received *received, size_t count,
		       enum demand_source source, struct demand_list *ret_list)
{
	size_t *indices = arena_array(facts->arena, count, sizeof(*indices));
	int64_t *counts = arena_array(facts->arena, count, sizeof(*counts));
	for (size_t i = 0; i < count; i++) {
		indices[i] = received[i].index;
		counts[i] = received[i].count;
		struct demand *last =
			ret_list->at.count > 0 ? &ret_list->at.at[ret_list->at.count - 1] : NULL;
		if (last && demand_compare_requests(last->request, received[i].request) == 0) {
			last->count = last->count > INT64_MAX - counts[i] ? INT64_MAX :
									    last->count + counts[i];
			last->received_count++;
			continue;
		}
		struct demand *demand = VEC_ADD(facts->arena, &ret_list->at);
		*demand = (struct demand){
			.request = received[i].request,
			.count = counts[i],
			.source = source,
			.received = &indices[i],
			.received_counts = &counts[i],
			.received_count = 1,
		};
		judge_request(facts, demand->request, &demand->reason, &demand->message);
	}
}

static void collect_requests(struct facts *facts, const struct ray_request_count *requests,
			     size_t count, enum demand_source source, struct demand_list *ret_list)
{
	struct received *received = arena_array(facts->arena, count, sizeof(*received));
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		if (requests[i].count > 0)
			received[used++] =
				(struct received){ &requests[i].request, i, requests[i].count };
	qsort(received, used, sizeof(*received), compare_received);
	join_equal(facts, received, used, source, ret_list);
}

/* One invalid bundle makes the whole gang invalid, in whichever of its choices it is. */
static void judge_gang(struct facts *facts, struct gang *gang)
{
	for (size_t c = 0; c < gang_choices(gang->gang); c++) {
		size_t count;
		const struct ray_request *bundles = demand_gang_bundles(gang->gang, c, &count);
		for (size_t b = 0; b < count; b++)
			if (!gang->reason)
				judge_request(facts, &bundles[b], &gang->reason, &gang->message);
	}
}

static int compare_gangs(const void *left, const void *right, void *context)
{
	const struct gang *gangs = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int order = demand_compare_gangs(gangs[a].gang, gangs[b].gang);
	return order != 0 ? order : compare_sizes(a, b);
}

static void sort_gangs(struct facts *facts)
{
	facts->gangs_by_content =
		arena_array(facts->arena, facts->gang_count, sizeof(*facts->gangs_by_content));
	for (size_t i = 0; i < facts->gang_count; i++)
		facts->gangs_by_content[i] = i;
	if (facts->gang_count > 0)
		qsort_r(facts->gangs_by_content, facts->gang_count,
			sizeof(*facts->gangs_by_content), compare_gangs, facts->gangs);
}

/* In the order of the list: among equal ones, the GCS lists those that wait longest first. */
static void collect_gangs(struct facts *facts, const struct ray_state *state)
{
	facts->gangs = arena_array(facts->arena, state->gang_count, sizeof(*facts->gangs));
	for (size_t i = 0; i < state->gang_count; i++) {
		size_t count;
		demand_gang_bundles(&state->gangs[i], 0, &count);
		if (count == 0) /* placement groups that are placed leave empty entries (T5) */
			continue;
		struct gang *gang = &facts->gangs[facts->gang_count++];
		*gang = (struct gang){ .gang = &state->gangs[i], .received = i, .message = "" };
		judge_gang(facts, gang);
	}
	sort_gangs(facts);
}

static void note_amounts(struct facts *facts, const struct demand_list *list, const char *of)
{
	for (size_t i = 0; i < list->at.count; i++)
		if (list->at.at[i].request->problem)
			VEC_PUSH(facts->arena, &facts->problems,
				 arena_printf(facts->arena, "%s: %s in a bundle", of,
					      list->at.at[i].request->problem));
}

/* As lists of Ray they do not add up. */
static void collect_added(struct facts *facts)
{
	VEC_EACH(const struct added_requests, added, &facts->added_requests) {
		struct demand_list *list = &facts->constraints[facts->constraint_count++];

		collect_requests(facts, added->bundles->requests, added->bundles->count,
				 SOURCE_SCHEDULE, list);
		for (size_t k = 0; k < list->at.count; k++)
			list->at.at[k].schedule = added->schedule;
		note_amounts(facts, list, added->path);
	}
}

static void collect_constraints(struct facts *facts, const struct ray_state *state)
{
	const struct snapshot *snapshot = facts->snapshot;
	size_t of_ray = state ? state->constraint_count : 0;
	const struct ray_constraint *annotation = ray_cluster_requested(&snapshot->cluster);
	facts->constraints = arena_array(facts->arena, of_ray + 1 + facts->added_requests.count,
					 sizeof(*facts->constraints));
	for (size_t i = 0; i < of_ray; i++)
		collect_requests(facts, state->constraints[i].requests, state->constraints[i].count,
				 SOURCE_RAY, &facts->constraints[i]);
	facts->constraint_count = of_ray;
	if (annotation) {
		collect_requests(facts, annotation->requests, annotation->count, SOURCE_ANNOTATION,
				 &facts->constraints[facts->constraint_count++]);
		note_amounts(facts, &facts->constraints[of_ray],
			     "annotation " ANNOTATION_REQUEST_RESOURCES);
	}
	collect_added(facts);
}

void demand_collect(struct facts *facts)
{
	const struct ray_state *state = facts->ray_reachable ? facts->snapshot->ray_state : NULL;
	if (state) {
		collect_requests(facts, state->requests, state->request_count, SOURCE_RAY,
				 &facts->demands);
		collect_gangs(facts, state);
		for (size_t i = 0; i < state->problems.count; i++)
			VEC_PUSH(facts->arena, &facts->problems, state->problems.at[i]);
	}
	collect_constraints(facts, state);
}
