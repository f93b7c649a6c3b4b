#include "core/schedule/schedule_shape.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "base/text.h"

/* Most tables are those of one gang. */
#define FIRST_SLOTS 8

/* ---- ids in the order of first use ---- */

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0x9fb21c651e98df25);
	value ^= value >> 29;
	value *= UINT64_C(0xd6e8feb86659fd93);
	return value ^ (value >> 32);
}

static uint32_t hash_of(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = mix(size + 1), word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return (uint32_t)mix(hash ^ word);
}

/* The slot that contains these bytes, or the free slot for them. */
static uint32_t *slot_of(const struct schedule_intern *intern, const void *bytes, size_t size,
			 uint32_t hash)
{
	size_t mask = intern->slot_count - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &intern->slots[i];
		const struct schedule_intern_entry *entry;

		if (!*slot)
			return slot;
		entry = &intern->entries.at[*slot - 1];
		if (entry->hash == hash && entry->size == size &&
		    (!size || !memcmp(entry->bytes, bytes, size)))
			return slot;
	}
}

/* Fills a new table of slots. */
static void set_slots(struct schedule_intern *intern, size_t count)
{
	intern->slot_count = count;
	intern->slots = arena_array(intern->arena, count, sizeof(*intern->slots));
	for (uint32_t id = 0; id < intern->entries.count; id++) {
		const struct schedule_intern_entry *entry = &intern->entries.at[id];

		*slot_of(intern, entry->bytes, entry->size, entry->hash) = id + 1;
	}
}

uint32_t schedule_intern_add(struct schedule_intern *intern, const void *bytes, size_t size)
{
	uint32_t hash = hash_of(bytes, size), *slot;
	void *copy;

	CHECK(size < UINT32_MAX && intern->entries.count < UINT32_MAX - 1);
	if (2 * intern->entries.count >= intern->slot_count)
		set_slots(intern, intern->slot_count ? intern->slot_count * 4 : FIRST_SLOTS);
	slot = slot_of(intern, bytes, size, hash);
	if (*slot)
		return *slot - 1;
	copy = arena_alloc(intern->arena, size + 1);
	if (size)
		memcpy(copy, bytes, size);
	VEC_PUSH(intern->arena, &intern->entries,
		 ((struct schedule_intern_entry){ copy, (uint32_t)size, hash, 0 }));
	*slot = (uint32_t)intern->entries.count;
	return *slot - 1;
}

/* ---- ids in the order of the bytes ---- */

static int compare_bytes(const void *a, const void *b)
{
	const struct schedule_intern_entry *first = a, *second = b;
	uint32_t common = first->size < second->size ? first->size : second->size;
	int order = memcmp(first->bytes, second->bytes, common);

	return order ? order : (first->size > second->size) - (first->size < second->size);
}

/* Makes the ids the positions in memcmp order, so that they may define an order. Earlier ids are
 * invalid. */
static void intern_sort(struct schedule_intern *intern)
{
	if (!intern->entries.count)
		return;
	sort_stable(intern->entries.at, intern->entries.count, sizeof(*intern->entries.at),
		    compare_bytes);
	set_slots(intern, intern->slot_count);
}

/* SCHEDULE_ID_NONE for bytes that were never added. */
static uint32_t intern_find(const struct schedule_intern *intern, const void *bytes, size_t size)
{
	if (!intern->slot_count)
		return SCHEDULE_ID_NONE;
	/* A free slot is 0, which becomes SCHEDULE_ID_NONE. */
	return *slot_of(intern, bytes, size, hash_of(bytes, size)) - 1;
}

int schedule_compare_ids(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

/* ---- the words of a problem ---- */

/* Writes "key\0value" into words->text. */
static size_t pair_text(struct schedule_vocabulary *words, const char *key, const char *value)
{
	size_t key_size = strlen(key) + 1, value_size = strlen(value);

	if (words->text.capacity < key_size + value_size)
		VEC_RESERVE(words->arena, &words->text, 2 * (key_size + value_size));
	memcpy(words->text.at, key, key_size);
	memcpy(words->text.at + key_size, value, value_size);
	return key_size + value_size;
}

static void label_add(struct schedule_vocabulary *words, const char *key, const char *value,
		      uint32_t mark)
{
	size_t size = pair_text(words, key, value);
	uint32_t id = schedule_intern_add(&words->labels, words->text.at, size);
	uint32_t *marks = &words->labels.entries.at[id].marks, list = *marks / SCHEDULE_LABEL_LIST;

	if (list && list != words->lists)
		mark |= SCHEDULE_LABEL_SHARED;
	*marks = *marks % SCHEDULE_LABEL_LIST | mark | words->lists * SCHEDULE_LABEL_LIST;
}

uint32_t schedule_label_find(struct schedule_vocabulary *words, const char *key, const char *value)
{
	size_t size;

	if (!words->labels.entries.count)
		return SCHEDULE_ID_NONE;
	size = pair_text(words, key, value);
	return intern_find(&words->labels, words->text.at, size);
}

uint32_t schedule_name_find(const struct schedule_vocabulary *words, const char *name)
{
	return intern_find(&words->names, name, strlen(name));
}

bool schedule_is_accelerator(const struct schedule_problem *problem, const char *name)
{
	return !strcmp(name, "GPU") ||
	       (problem->accelerators &&
		text_is_among(name, problem->accelerators->at, problem->accelerators->count));
}

size_t schedule_gang_choices(const struct ray_gang *gang)
{
	return gang->selector_count ? gang->selector_count : 1;
}

const struct ray_request *schedule_gang_requests(const struct ray_gang *gang, size_t choice,
						 size_t *ret_count)
{
	*ret_count = gang->selector_count ? gang->selectors[choice].count : gang->request_count;
	return gang->selector_count ? gang->selectors[choice].requests : gang->requests;
}

/* Adds the names and labels that a request mentions, and records fractional GPU amounts. */
static void collect_request(struct schedule_vocabulary *words, const struct ray_request *request)
{
	bool needless = true;

	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		needless = needless && entry->amount <= 0;
		schedule_intern_add(&words->names, entry->name, strlen(entry->name));
		if (!strcmp(entry->name, "GPU") && entry->amount % RESOURCE_UNIT)
			words->fractions = true;
	}
	words->needless = words->needless || needless;
	ARRAY_EACH(const struct placement_constraint, placement, request->placements,
		   request->placement_count) {
		if (placement->has_anti_affinity)
			label_add(words, placement->anti_affinity.key,
				  placement->anti_affinity.value, SCHEDULE_LABEL_ADDED);
		if (placement->has_affinity)
			label_add(words, placement->affinity.key, placement->affinity.value, 0);
	}
	for (size_t i = 0; i < request->selector_count; i++)
		for (size_t j = 0; j < request->selectors[i].count; j++) {
			const struct label_constraint *constraint =
				&request->selectors[i].constraints[j];

			for (size_t k = 0; k < constraint->values.count; k++)
				label_add(words, constraint->key, constraint->values.at[k],
					  constraint->operation == LABEL_OPERATOR_IN ?
						  SCHEDULE_LABEL_SELECTED :
						  0);
		}
}

static void collect_demands(struct schedule_vocabulary *words,
			    const struct schedule_demand *demands, size_t count)
{
	words->lists++;
	for (size_t i = 0; i < count; i++) {
		collect_request(words, demands[i].request);
		if (demands[i].place == SCHEDULE_DEMAND_NEW_ONLY)
			words->new_only = true;
	}
}

/* Whether both are parts of one request, as the bundles of a gang often are. */
static bool are_shared(const struct ray_request *a, const struct ray_request *b)
{
	return a->bundle == b->bundle && a->selectors == b->selectors &&
	       a->placements == b->placements && a->bundle_count == b->bundle_count &&
	       a->selector_count == b->selector_count && a->placement_count == b->placement_count &&
	       a->problem == b->problem;
}

static void collect_gang(struct schedule_vocabulary *words, const struct ray_gang *gang)
{
	words->lists++;
	for (size_t i = 0; i < schedule_gang_choices(gang); i++) {
		size_t count;
		const struct ray_request *requests = schedule_gang_requests(gang, i, &count);

		for (size_t j = 0; j < count; j++)
			if (!j || !are_shared(&requests[j], &requests[j - 1]))
				collect_request(words, &requests[j]);
	}
}

void schedule_vocabulary_init(struct schedule_vocabulary *words,
			      const struct schedule_problem *problem, struct arena *arena)
{
	size_t prefix = strlen(RAY_IMPLICIT_RESOURCE_PREFIX);

	*words = (struct schedule_vocabulary){ .problem = problem, .arena = arena };
	words->names.arena = words->labels.arena = words->selectors.arena = arena;
	schedule_intern_add(&words->selectors, "", 0);
	for (size_t i = 0; i < problem->constraint_count; i++)
		collect_demands(words, problem->constraints[i].demands,
				problem->constraints[i].count);
	for (size_t i = 0; i < problem->gang_count; i++) {
		collect_gang(words, &problem->gangs[i]);
		if (problem->gangs_new_only && problem->gangs_new_only[i])
			words->new_only = true;
	}
	collect_demands(words, problem->demands, problem->demand_count);
	intern_sort(&words->names);
	intern_sort(&words->labels);
	words->name_count = words->names.entries.count;
	words->is_accelerator = arena_array(arena, words->name_count + 1, sizeof(bool));
	words->is_implicit = arena_array(arena, words->name_count + 1, sizeof(bool));
	for (size_t i = 0; i < words->name_count; i++) {
		const char *name = words->names.entries.at[i].bytes;

		words->is_accelerator[i] = schedule_is_accelerator(problem, name);
		words->is_implicit[i] = !strncmp(name, RAY_IMPLICIT_RESOURCE_PREFIX, prefix);
	}
	words->gpu = schedule_name_find(words, "GPU");
}

/* ---- encoding ---- */

/* Numbers that describe a part of a request are appended to words->encoded; equal numbers, equal
 * meaning. */
static void encode(struct schedule_vocabulary *words, uint32_t value)
{
	VEC_PUSH(words->arena, &words->encoded, value);
}

static void encode_label(struct schedule_vocabulary *words, const struct label *label)
{
	encode(words, 1 + schedule_label_find(words, label->key, label->value));
}

/* The number of sorted values that stay when each is there once. */
static size_t without_repetition(uint32_t *values, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kept || values[i] != values[kept - 1])
			values[kept++] = values[i];
	return kept;
}

/* The number of selectors; of each the number of constraints, of each constraint the operator (0:
 * unknown), the number of values and the labels in order. */
static void encode_selectors(struct schedule_vocabulary *words, const struct ray_request *request)
{
	encode(words, (uint32_t)request->selector_count);
	ARRAY_EACH(const struct label_selector, selector, request->selectors,
		   request->selector_count) {
		encode(words, (uint32_t)selector->count);
		for (size_t j = 0; j < selector->count; j++) {
			const struct label_constraint *constraint = &selector->constraints[j];
			bool known = constraint->operation == LABEL_OPERATOR_IN ||
				     constraint->operation == LABEL_OPERATOR_NOT_IN;
			size_t at, kept;
			uint32_t *values;

			encode(words, known ? (uint32_t)constraint->operation : 0);
			at = words->encoded.count;
			encode(words, 0);
			for (size_t k = 0; k < constraint->values.count; k++)
				encode(words, schedule_label_find(words, constraint->key,
								  constraint->values.at[k]));
			values = &words->encoded.at[at + 1];
			sort_stable(values, constraint->values.count, sizeof(*values),
				    schedule_compare_ids);
			kept = without_repetition(values, constraint->values.count);
			words->encoded.at[at] = (uint32_t)kept;
			words->encoded.count = at + 1 + kept;
		}
	}
}

/* Encodes the request: first the tie-breakers of the sort, then the bundle. */
static void encode_shape(struct schedule_vocabulary *words, struct schedule_shape *shape)
{
	const struct ray_request *request = shape->request;
	size_t selectors;

	words->encoded.count = 0;
	encode(words, (uint32_t)request->placement_count);
	ARRAY_EACH(const struct placement_constraint, placement, request->placements,
		   request->placement_count) {
		if (placement->has_anti_affinity)
			encode_label(words, &placement->anti_affinity);
		else
			encode(words, 0);
		if (placement->has_affinity)
			encode_label(words, &placement->affinity);
		else
			encode(words, 0);
	}
	selectors = words->encoded.count;
	encode_selectors(words, request);
	if (request->selector_count)
		shape->selector =
			schedule_intern_add(&words->selectors, &words->encoded.at[selectors],
					    (words->encoded.count - selectors) * sizeof(uint32_t));
	encode(words, shape->new_only);
	encode(words, shape->impossible);
	shape->content_count = (uint32_t)words->encoded.count;
	for (size_t i = 0; i < request->bundle_count; i++) {
		uint64_t amount = (uint64_t)request->bundle[i].amount;

		encode(words, schedule_name_find(words, request->bundle[i].name));
		encode(words, (uint32_t)(amount >> 32));
		encode(words, (uint32_t)amount);
	}
}

/* ---- one shape ---- */

static void set_needs(struct schedule_vocabulary *words, struct arena *arena,
		      struct schedule_shape *shape)
{
	const struct ray_request *request = shape->request;
	struct schedule_need *needs = arena_array(arena, request->bundle_count, sizeof(*needs));
	uint32_t *labels = arena_array(arena, request->placement_count, sizeof(*labels));

	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		uint32_t name = schedule_name_find(words, entry->name);

		shape->sum += entry->amount;
		if (words->is_accelerator[name])
			shape->asks_accelerator = true;
		if (entry->amount > 0)
			needs[shape->need_count++] = (struct schedule_need){ name, entry->amount };
	}
	ARRAY_EACH(const struct placement_constraint, placement, request->placements,
		   request->placement_count) {
		if (placement->has_anti_affinity)
			labels[shape->anti_label_count++] =
				schedule_label_find(words, placement->anti_affinity.key,
						    placement->anti_affinity.value);
	}
	sort_stable(labels, shape->anti_label_count, sizeof(*labels), schedule_compare_ids);
	shape->anti_label_count = (uint32_t)without_repetition(labels, shape->anti_label_count);
	shape->needs = needs;
	shape->anti_labels = labels;
}

/* The pieces of a combined shape stay in the order of the bundles: a raylet prepares them in that
 * order, and rejects 0.4, 0.4, 0.6, 0.6 on two GPUs (seen with Ray 2.60). */
static void set_pieces(struct arena *arena, struct schedule_shape *shape)
{
	/* Of others the entries are equal. */
	size_t count = shape->combined ? shape->entries.count : 1;
	int64_t *pieces = arena_array(arena, count, sizeof(*pieces));

	for (size_t i = 0; i < count; i++) {
		int64_t gpu = ray_request_gpus(shape->entries.at[i].bundle);

		if (gpu > 0)
			pieces[shape->piece_count++] = gpu;
	}
	shape->pieces = pieces;
}

static int compare_bundles(const struct ray_request *a, const struct ray_request *b)
{
	for (size_t i = 0; i < a->bundle_count && i < b->bundle_count; i++) {
		int order = strcmp(a->bundle[i].name, b->bundle[i].name);

		if (order)
			return order;
		if (a->bundle[i].amount != b->bundle[i].amount)
			return a->bundle[i].amount < b->bundle[i].amount ? -1 : 1;
	}
	return (a->bundle_count > b->bundle_count) - (a->bundle_count < b->bundle_count);
}

static int compare_content(const struct schedule_shape *a, const struct schedule_shape *b)
{
	for (uint32_t i = 0; i < a->content_count && i < b->content_count; i++)
		if (a->content[i] != b->content[i])
			return a->content[i] < b->content[i] ? -1 : 1;
	return (a->content_count > b->content_count) - (a->content_count < b->content_count);
}

/* Ray's order of requests, descending: negative when the first comes first. */
static int compare_shapes(const void *first_shape, const void *second_shape)
{
	const struct schedule_shape *a = first_shape, *b = second_shape;
	size_t first, second;
	int order;

	if (a->request->placement_count != b->request->placement_count)
		return a->request->placement_count < b->request->placement_count ? 1 : -1;
	first = a->request->selector_count ? a->request->selectors[0].count : 0;
	second = b->request->selector_count ? b->request->selectors[0].count : 0;
	if (first != second)
		return first < second ? 1 : -1;
	if (a->request->bundle_count != b->request->bundle_count)
		return a->request->bundle_count < b->request->bundle_count ? 1 : -1;
	if (a->sum != b->sum)
		return a->sum < b->sum ? 1 : -1;
	order = compare_bundles(b->request, a->request);
	return order ? order : compare_content(b, a);
}

/* ---- lists ---- */

struct builder {
	struct schedule_vocabulary *words;
	struct arena *arena;
	struct schedule_intern identities; /* id: index into shapes */
	VEC(struct schedule_shape) shapes;
};

static int64_t add_counts(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static struct schedule_shape *builder_add(struct builder *builder,
					  const struct ray_request *request, bool new_only,
					  int64_t count)
{
	struct schedule_vocabulary *words = builder->words;
	struct schedule_shape shape = {
		.request = request,
		.new_only = new_only,
		.impossible = request->problem != NULL,
	};
	uint32_t id;

	encode_shape(words, &shape);
	id = schedule_intern_add(&builder->identities, words->encoded.at,
				 words->encoded.count * sizeof(uint32_t));
	CHECK(id < builder->identities.entries.count);
	if (id == builder->shapes.count) {
		shape.content = builder->identities.entries.at[id].bytes;
		set_needs(words, builder->arena, &shape);
		VEC_PUSH(builder->arena, &builder->shapes, shape);
	}
	CHECK(id < builder->shapes.count);
	builder->shapes.at[id].count = add_counts(builder->shapes.at[id].count, count);
	return &builder->shapes.at[id];
}

static struct schedule_list builder_list(struct builder *builder)
{
	for (size_t i = 0; i < builder->shapes.count; i++)
		set_pieces(builder->arena, &builder->shapes.at[i]);
	sort_stable(builder->shapes.at, builder->shapes.count, sizeof(*builder->shapes.at),
		    compare_shapes);
	return (struct schedule_list){ builder->shapes.at, builder->shapes.count };
}

static void entry_add(struct builder *builder, struct schedule_shape *shape, size_t index,
		      const struct ray_request *bundle, int64_t count)
{
	VEC_PUSH(builder->arena, &shape->entries,
		 ((struct schedule_entry){ .index = index, .bundle = bundle, .count = count }));
}

struct schedule_list schedule_list_of_demands(struct schedule_vocabulary *words,
					      const struct schedule_demand *demands, size_t count)
{
	struct builder builder = { .words = words,
				   .arena = words->arena,
				   .identities = { .arena = words->arena } };

	/* The size is known; growth would leave the smaller arrays in the arena. */
	VEC_RESERVE(words->arena, &builder.shapes, count);
	for (size_t i = 0; i < count; i++) {
		struct schedule_shape *shape;

		if (demands[i].count <= 0)
			continue;
		shape = builder_add(&builder, demands[i].request,
				    demands[i].place == SCHEDULE_DEMAND_NEW_ONLY, demands[i].count);
		entry_add(&builder, shape, i, demands[i].request, demands[i].count);
	}
	return builder_list(&builder);
}

/* ---- gangs ---- */

/* Bundles that must be on one node: those with the same affinity and the same selectors. */
struct pack {
	struct ray_request *request; /* the sum */
	VEC(struct bundle_entry) bundle;
	VEC(struct schedule_entry) entries;
};

struct packs {
	struct schedule_intern keys; /* id: index into packs */
	VEC(struct pack) packs;
};

static void pack_add(struct schedule_vocabulary *words, struct arena *arena, struct packs *packs,
		     const struct ray_request *request, size_t index)
{
	struct pack *pack;
	uint32_t id;

	words->encoded.count = 0;
	encode_label(words, &request->placements[0].affinity);
	encode_selectors(words, request);
	id = schedule_intern_add(&packs->keys, words->encoded.at,
				 words->encoded.count * sizeof(uint32_t));
	if (id == packs->packs.count) {
		struct placement_constraint *affinity =
			ARENA_NEW(arena, struct placement_constraint);

		affinity->has_affinity = true;
		affinity->affinity = request->placements[0].affinity;
		pack = VEC_ADD(arena, &packs->packs);
		pack->request = ARENA_NEW(arena, struct ray_request);
		pack->request->placements = affinity;
		pack->request->placement_count = 1;
		pack->request->selectors = request->selectors;
		pack->request->selector_count = request->selector_count;
	}
	CHECK(id < packs->packs.count);
	pack = &packs->packs.at[id];
	for (size_t i = 0; i < request->bundle_count; i++)
		VEC_PUSH(arena, &pack->bundle, request->bundle[i]);
	if (!pack->request->problem)
		pack->request->problem = request->problem;
	VEC_PUSH(arena, &pack->entries,
		 ((struct schedule_entry){ .index = index, .bundle = request, .count = 1 }));
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct bundle_entry *)a)->name,
		      ((const struct bundle_entry *)b)->name);
}

/* Adds the bundles of a pack to one request. */
static void pack_sum(struct pack *pack)
{
	struct bundle_entry *bundle = pack->bundle.at;
	size_t kept = 0;

	sort_stable(bundle, pack->bundle.count, sizeof(*bundle), compare_entries);
	for (size_t i = 0; i < pack->bundle.count; i++) {
		if (kept && !strcmp(bundle[kept - 1].name, bundle[i].name)) {
			bundle[kept - 1].received += bundle[i].received;
			bundle[kept - 1].amount =
				add_counts(bundle[kept - 1].amount, bundle[i].amount);
		} else {
			bundle[kept++] = bundle[i];
		}
	}
	pack->request->bundle = bundle;
	pack->request->bundle_count = kept;
}

struct schedule_list schedule_list_of_gang(struct schedule_vocabulary *words, struct arena *arena,
					   size_t index, size_t choice)
{
	const struct schedule_problem *problem = words->problem;
	bool new_only = problem->gangs_new_only && problem->gangs_new_only[index];
	struct builder builder = { .words = words,
				   .arena = arena,
				   .identities = { .arena = arena } };
	struct packs packs = { .keys = { .arena = arena } };
	struct schedule_shape *last = NULL;
	const struct ray_request *requests;
	size_t count;

	requests = schedule_gang_requests(&problem->gangs[index], choice, &count);
	VEC_RESERVE(arena, &builder.shapes, count < FIRST_SLOTS ? count : FIRST_SLOTS);
	for (size_t i = 0; i < count; i++) {
		if (requests[i].placement_count && requests[i].placements[0].has_affinity) {
			pack_add(words, arena, &packs, &requests[i], index);
			continue;
		}
		if (last && are_shared(&requests[i], &requests[i - 1]))
			last->count = add_counts(last->count, 1);
		else
			last = builder_add(&builder, &requests[i], new_only, 1);
		entry_add(&builder, last, index, &requests[i], 1);
	}
	VEC_EACH(struct pack, pack, &packs.packs) {
		struct schedule_shape *shape;

		pack_sum(pack);
		shape = builder_add(&builder, pack->request, new_only, 1);
		shape->combined = true;
		for (size_t j = 0; j < pack->entries.count; j++)
			VEC_PUSH(arena, &shape->entries, pack->entries.at[j]);
	}
	return builder_list(&builder);
}

bool schedule_gang_same_amounts(const struct ray_gang *gang, size_t a, size_t b)
{
	size_t first_count, second_count;
	const struct ray_request *first = schedule_gang_requests(gang, a, &first_count);
	const struct ray_request *second = schedule_gang_requests(gang, b, &second_count);

	if (first_count != second_count)
		return false;
	for (size_t i = 0; i < first_count; i++) {
		if (first[i].placement_count != second[i].placement_count ||
		    (first[i].bundle != second[i].bundle && compare_bundles(&first[i], &second[i])))
			return false;
	}
	return true;
}
