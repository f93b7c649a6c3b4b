#include "feature/record/core/recorded_requests.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/model/label_syntax.h"

#define COUNT_MAX 1000000 /* as a workload accepts of several */

/* A bundle in an answer. */
struct requested {
	struct work_bundle bundle;
	int64_t count;   /* the largest of a constraint */
	int64_t current; /* in the constraint that is read */
};

/* A bundle from one answer to another. */
struct request {
	const char *key;
	struct work_bundle bundle;
	int64_t count;
	time_ms since; /* TIME_NONE: before the first answer */
	time_ms until; /* TIME_NONE: it is still requested */
};

struct recorded_requests {
	struct arena arena;
	VEC(struct request) all;
	bool answered;
	int64_t full, unusable; /* of the last answer */
};

struct recorded_requests *recorded_requests_new(void)
{
	return memory_alloc(sizeof(struct recorded_requests));
}

void recorded_requests_free(struct recorded_requests *requests)
{
	if (!requests)
		return;
	arena_done(&requests->arena);
	memory_free(requests);
}

/* ---- bundles ---- */

/* As Ray reads it: "in(a, b)", "!in(a)"; NULL: it has no such form. */
static const char *selector_text(const struct label_constraint *constraint, struct arena *arena)
{
	const char *text = "";

	if (!label_syntax_key(constraint->key) || constraint->values.count == 0 ||
	    (constraint->operation != LABEL_OPERATOR_IN &&
	     constraint->operation != LABEL_OPERATOR_NOT_IN))
		return NULL;
	for (size_t i = 0; i < constraint->values.count; i++) {
		const char *value = constraint->values.at[i];

		if (*value == '\0' || !label_syntax_value(value))
			return NULL;
		text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", value);
	}
	return arena_printf(arena, "%sin(%s)",
			    constraint->operation == LABEL_OPERATOR_NOT_IN ? "!" : "", text);
}

static bool take_selector(const struct ray_request *request, struct arena *arena,
			  struct labels *ret_labels)
{
	const struct label_selector *selector = request->selectors;
	struct label *labels;

	if (request->selector_count == 0 || selector->count == 0)
		return true;
	labels = arena_array(arena, selector->count, sizeof(*labels));
	for (size_t i = 0; i < selector->count; i++) {
		labels[i].key = arena_strdup(arena, selector->constraints[i].key);
		labels[i].value = selector_text(&selector->constraints[i], arena);
		for (size_t k = 0; k < i; k++)
			if (strcmp(labels[k].key, labels[i].key) == 0)
				return false;
		if (!labels[i].value)
			return false;
	}
	*ret_labels = labels_sort(labels, selector->count);
	return true;
}

/* False: no workload can have it. */
static bool take_bundle(const struct ray_request *request, struct arena *arena,
			struct work_bundle *ret_bundle)
{
	struct resource *resources = arena_array(arena, request->bundle_count, sizeof(*resources));
	size_t count = 0;

	if (request->problem)
		return false;
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if (!ray_work_resource_is_usable(entry->name))
			return false;
		if (entry->amount > 0)
			resources[count++] = (struct resource){ arena_strdup(arena, entry->name),
								entry->amount };
	}
	ret_bundle->resources = (struct resources){ resources, count };
	return count > 0 && take_selector(request, arena, &ret_bundle->selector);
}

/* ---- answers ---- */

static void add_constraint(struct recorded_requests *requests,
			   const struct ray_constraint *constraint, struct arena *arena,
			   struct map *wanted)
{
	ARRAY_EACH(const struct ray_request_count, from, constraint->requests, constraint->count) {
		struct work_bundle bundle = { .resources = { .count = 0 } };
		AUTO(buf_done) struct buf key = BUF_INIT(RECORDED_KEY_BYTES_MAX);

		if (from->count < 1)
			continue;
		if (from->count > COUNT_MAX || !take_bundle(&from->request, arena, &bundle)) {
			requests->unusable++;
			continue;
		}
		work_bundle_add_key(&bundle, &key);
		struct requested *requested = map_get(wanted, buf_string(&key));
		if (!requested) {
			requested = ARENA_PUT(arena, (struct requested){ .bundle = bundle });
			map_set(wanted, buf_string(&key), requested);
		}
		requested->current = resource_sum(requested->current, from->count);
	}
	for (size_t i = 0; i < wanted->count; i++) {
		struct requested *requested = wanted->entries[i].value;

		if (requested->current > requested->count)
			requested->count = requested->current;
		requested->current = 0;
	}
}

/* Ends the bundles that are no longer requested; the others leave `wanted`. */
static void compare_with(struct recorded_requests *requests, time_ms at, struct map *wanted)
{
	VEC_EACH(struct request, request, &requests->all) {
		if (request->until != TIME_NONE)
			continue;
		const struct requested *requested = map_get(wanted, request->key);
		if (requested && requested->count == request->count)
			map_remove(wanted, request->key);
		else
			request->until = at;
	}
}

void recorded_requests_add(struct recorded_requests *requests, time_ms at,
			   const struct ray_constraint *const *constraints, size_t count)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(map_done) struct map wanted = MAP_INIT;

	requests->full = requests->unusable = 0;
	for (size_t i = 0; i < count; i++)
		add_constraint(requests, constraints[i], &scratch, &wanted);
	compare_with(requests, at, &wanted);
	for (size_t i = 0; i < wanted.count; i++) {
		const struct requested *requested = wanted.entries[i].value;

		if (requests->all.count >= RECORDED_REQUESTS_MAX) {
			requests->full++;
			continue;
		}
		struct request *request = VEC_ADD(&requests->arena, &requests->all);
		*request = (struct request){
			.key = arena_strdup(&requests->arena, wanted.entries[i].key),
			.bundle = requested->bundle,
			.count = requested->count,
			.since = requests->answered ? at : TIME_NONE,
			.until = TIME_NONE,
		};
		field_own(work_bundle_fields, &request->bundle, &requests->arena);
	}
	requests->answered = true;
}

/* ---- items ---- */

void recorded_requests_items(const struct recorded_requests *requests, time_ms since, time_ms until,
			     struct arena *arena, struct recorded_items *items)
{
	VEC(struct recorded_item) all = { .at = NULL };

	VEC_RESERVE(arena, &all, items->count + requests->all.count);
	for (size_t i = 0; i < items->count; i++)
		VEC_PUSH(arena, &all, items->at[i]);
	VEC_EACH(const struct request, request, &requests->all) {
		time_ms begin = request->since != TIME_NONE ? request->since : since;
		time_ms end = request->until != TIME_NONE ? request->until : until;

		if (end <= begin)
			continue;
		VEC_PUSH(arena, &all,
			 ((struct recorded_item){ .kind = WORK_REQUEST_RESOURCES,
						  .job = "",
						  .submitted = begin,
						  .duration_ms = end - begin,
						  .count = request->count,
						  .bundles = &request->bundle,
						  .bundle_count = 1 }));
		items->by_kind[WORK_REQUEST_RESOURCES] += request->count;
		items->open += request->until == TIME_NONE ? request->count : 0;
		items->early += request->since == TIME_NONE ? request->count : 0;
	}
	items->full += requests->full;
	items->unusable += requests->unusable;
	items->at = all.at;
	items->count = all.count;
}
