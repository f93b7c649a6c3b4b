/* Every request is placed, infeasible or unserved, exactly once, and placement groups keep their
 * strategy: see laws_check.h. */
#include "laws_check.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/memory.h"

#define KEY_BYTES_MAX (1 << 16)
#define BUNDLES_MAX 64

/* ---- equal requests ---- */

static int compare_entries(const void *left, const void *right)
{
	return strcmp((*(const struct cJSON *const *)left)->string,
		      (*(const struct cJSON *const *)right)->string);
}

/* A text that is equal for bundles that are equal. */
static void add_bundle(struct buf *key, const struct cJSON *bundle)
{
	const struct cJSON *entries[BUNDLES_MAX];
	size_t count = 0;

	TREE_EACH(entry, bundle)
		if (count < BUNDLES_MAX)
			entries[count++] = entry;
	qsort(entries, count, sizeof(entries[0]), compare_entries);
	for (size_t i = 0; i < count; i++) {
		if (cJSON_IsString(entries[i]))
			buf_printf(key, "%s=%s,", entries[i]->string, entries[i]->valuestring);
		else
			buf_printf(key, "%s=%.17g,", entries[i]->string,
				   round(entries[i]->valuedouble * FACTS_UNIT));
	}
}

static void add_request(struct buf *key, const struct cJSON *request)
{
	add_bundle(key, TREE_AT(request, "resourcesBundle"));
	TREE_EACH(selector, TREE_AT(request, "labelSelectors")) {
		buf_add_string(key, "|");
		TREE_EACH(constraint, TREE_AT(selector, "labelConstraints")) {
			const char *operation = tree_text(constraint, "operator");

			if (strcmp(operation, "LABEL_OPERATOR_UNSPECIFIED") == 0)
				operation = ""; /* the default is not written */
			buf_printf(key, "%s %s", tree_text(constraint, "labelKey"), operation);
			TREE_EACH(value, TREE_AT(constraint, "labelValues"))
				buf_printf(key, " %s", value->valuestring);
			buf_add_string(key, ";");
		}
	}
	TREE_EACH(constraint, TREE_AT(request, "placementConstraints"))
		buf_printf(key, "/%s%s", constraint->child ? constraint->child->string : "",
			   tree_text(constraint->child, "labelName"));
}

/* Of a request or a placement group, as received or as the plan repeats it. */
static char *key_of(const struct cJSON *request, bool gang)
{
	struct buf key;

	buf_init(&key, KEY_BYTES_MAX);
	if (gang) {
		buf_add_string(&key, tree_text(request, "details"));
		for (int choice = 0; facts_gang_bundles(request, choice); choice++) {
			buf_add_string(&key, "[");
			TREE_EACH(bundle, facts_gang_bundles(request, choice)) {
				buf_add_string(&key, "{");
				add_request(&key, bundle);
			}
		}
	} else {
		add_request(&key, request);
	}
	return buf_steal(&key);
}

/* ---- sums over equal requests ---- */

static int64_t placed_of(const struct cJSON *plan, const char *kind, const char *source, int index)
{
	int64_t sum = 0;

	TREE_EACH(place, TREE_AT(plan, "placements"))
		TREE_EACH(item, TREE_AT(place, "requests"))
			if (tree_is(item, "kind", kind) && tree_is(item, "source", source) &&
			    tree_integer(item, "index", -1) == index)
				sum += tree_integer(item, "count", 0);
	return sum;
}

static int64_t declared_of(const struct cJSON *plan, const char *kind, const char *source,
			   const char *key)
{
	static const char *const LISTS[] = { "infeasible", "unserved" };
	int64_t sum = 0;

	for (size_t i = 0; i < 2; i++)
		TREE_EACH(entry, TREE_AT(plan, LISTS[i])) {
			AUTO(memory_free_string) char *other = NULL;

			if (!tree_is(entry, "kind", kind) || !tree_is(entry, "source", source))
				continue;
			other = key_of(TREE_AT(entry, "request"), strcmp(kind, "gang") == 0);
			if (strcmp(key, other) == 0)
				sum += tree_integer(entry, "count", 0);
		}
	return sum;
}

/* Entry `first` of the list and all that are equal to it, if it is the first of them. */
static void check_equal(const struct cJSON *plan, const struct cJSON *list,
			const struct cJSON *first, const char *kind, const char *source,
			struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *key = key_of(TREE_AT(first, "request"), false);
	int64_t received = 0, placed = 0, declared;
	bool before = true;
	int index = 0;

	TREE_EACH(entry, list) {
		AUTO(memory_free_string) char *other = key_of(TREE_AT(entry, "request"), false);
		int64_t units = placed_of(plan, kind, source, index++);

		before = before && entry != first;
		if (strcmp(key, other) != 0)
			continue;
		if (before)
			return;
		if (units > tree_integer(entry, "count", 0))
			laws_break(verdict, "counts", "%s %d is placed too often", kind, index - 1);
		received += tree_integer(entry, "count", 0);
		placed += units;
	}
	declared = declared_of(plan, kind, source, key);
	if (placed + declared != received)
		laws_break(verdict, "counts",
			   "%s %s of %s: %lld received, %lld placed, %lld infeasible or unserved",
			   kind, key, source, (long long)received, (long long)placed,
			   (long long)declared);
}

static void check_list(const struct cJSON *plan, const struct cJSON *list, const char *kind,
		       const char *source, struct laws_verdict *verdict)
{
	TREE_EACH(entry, list)
		check_equal(plan, list, entry, kind, source, verdict);
}

/* ---- placement groups ---- */

/* A bundle of a placement group with the worker that it was put on. */
struct seat {
	const struct cJSON *item;
	const struct cJSON *node, *group;
	const char *worker;
};

struct gang_check {
	const struct cJSON *snapshot, *plan, *bundles;
	struct seat seats[BUNDLES_MAX];
	size_t count;
	int taken[BUNDLES_MAX]; /* by bundle: the seat, -1 none */
	bool seen[BUNDLES_MAX];
};

static void find_seats(struct gang_check *check, int index)
{
	TREE_EACH(place, TREE_AT(check->plan, "placements"))
		TREE_EACH(item, TREE_AT(place, "requests")) {
			const char *worker = tree_text(place, "worker");
			bool head = tree_is(place, "group", "headgroup");
			struct seat seat = { .item = item, .worker = worker };

			if (!tree_is(item, "kind", "gang") ||
			    tree_integer(item, "index", -1) != index)
				continue;
			seat.node = head ? facts_head_node(check->snapshot) :
					   facts_living_node(check->snapshot, worker);
			seat.group = head ? TREE_AT(check->snapshot, "rayCluster", "spec",
						    "headGroupSpec") :
					    facts_group(check->snapshot, tree_text(place, "group"));
			for (int64_t i = tree_integer(item, "count", 0);
			     i > 0 && check->count < BUNDLES_MAX; i--)
				check->seats[check->count++] = seat;
		}
}

static const struct cJSON *constraint_of(const struct cJSON *bundle, const char *kind)
{
	return TREE_AT(cJSON_GetArrayItem(TREE_AT(bundle, "placementConstraints"), 0), kind);
}

static bool may_sit(const struct seat *seat, const struct cJSON *bundle)
{
	AUTO(buf_done) struct buf placed = { .data = NULL };
	AUTO(buf_done) struct buf wanted = { .data = NULL };
	const char *apart = tree_text(constraint_of(bundle, "antiAffinity"), "labelName");

	buf_init(&placed, KEY_BYTES_MAX);
	buf_init(&wanted, KEY_BYTES_MAX);
	add_bundle(&placed, TREE_AT(seat->item, "bundle"));
	add_bundle(&wanted, TREE_AT(bundle, "resourcesBundle"));
	if (strcmp(buf_string(&placed), buf_string(&wanted)) != 0 ||
	    !laws_labels_hold(bundle, seat->node, seat->group))
		return false;
	return !*apart || !seat->node || !facts_node_label(seat->node, apart);
}

/* Gives the seat a bundle of its own, moving others if need be. */
static bool seat_bundle(struct gang_check *check, int seat)
{
	int index = 0;

	TREE_EACH(bundle, check->bundles) {
		int at = index++;

		if (check->seen[at] || !may_sit(&check->seats[seat], bundle))
			continue;
		check->seen[at] = true;
		if (check->taken[at] < 0 || seat_bundle(check, check->taken[at])) {
			check->taken[at] = seat;
			return true;
		}
	}
	return false;
}

/* The bundle that a seat was given. */
static const struct cJSON *bundle_of(const struct gang_check *check, size_t seat)
{
	for (int at = 0; at < BUNDLES_MAX; at++)
		if (check->taken[at] == (int)seat)
			return cJSON_GetArrayItem(check->bundles, at);
	return NULL;
}

/* Ray packs those with the same label selectors on one worker (combine_requests_with_affinity). */
static bool belong_together(const struct gang_check *check, size_t a, size_t b)
{
	const struct cJSON *first = bundle_of(check, a), *second = bundle_of(check, b);
	const struct cJSON *selectors = TREE_AT(first, "labelSelectors");

	if (!constraint_of(first, "affinity") || !constraint_of(second, "affinity"))
		return false;
	if (!selectors || !TREE_AT(second, "labelSelectors"))
		return selectors == TREE_AT(second, "labelSelectors");
	return cJSON_Compare(selectors, TREE_AT(second, "labelSelectors"), true);
}

/* STRICT_PACK: one worker; STRICT_SPREAD: as many as bundles. */
static void check_strategy(const struct gang_check *check, int index, struct laws_verdict *verdict)
{
	const struct cJSON *first = tree_first(check->bundles);
	bool spread = constraint_of(first, "antiAffinity") != NULL;

	for (size_t i = 0; i < check->count; i++)
		for (size_t j = 0; j < i; j++) {
			bool same = strcmp(check->seats[i].worker, check->seats[j].worker) == 0;

			if ((!same && belong_together(check, i, j)) || (spread && same))
				laws_break(
					verdict, "gangs",
					"placement group %d: workers %s and %s break its strategy",
					index, check->seats[i].worker, check->seats[j].worker);
		}
}

/* Two groups have the name of a worker's group: the right one is unknown. */
static bool is_ambiguous(const struct gang_check *check)
{
	for (size_t i = 0; i < check->count; i++) {
		int count = 0;

		TREE_EACH(group, facts_groups(check->snapshot))
			count += tree_is(group, "groupName",
					 tree_text(check->seats[i].group, "groupName"));
		if (count > 1)
			return true;
	}
	return false;
}

static void check_choice(struct gang_check *check, int index, struct laws_verdict *verdict)
{
	size_t bundles = (size_t)cJSON_GetArraySize(check->bundles);

	if (check->count != bundles)
		laws_break(verdict, "gangs", "placement group %d: %zu of %zu bundles are placed",
			   index, check->count, bundles);
	memset(check->taken, -1, sizeof(check->taken));
	for (size_t i = 0; i < check->count && !verdict->law; i++) {
		memset(check->seen, 0, sizeof(check->seen));
		if (!seat_bundle(check, (int)i))
			laws_break(verdict, "gangs",
				   "placement group %d: worker %s suits none of its bundles", index,
				   check->seats[i].worker);
	}
	if (!verdict->law)
		check_strategy(check, index, verdict);
}

/* Whether the gang is placed; if it is, all bundles of one choice must be placed as its strategy
 * requires. */
static bool check_gang(const struct cJSON *snapshot, const struct cJSON *plan,
		       const struct cJSON *gang, int index, struct laws_verdict *verdict)
{
	struct gang_check check = { .snapshot = snapshot, .plan = plan };
	struct laws_verdict first = { .law = NULL };

	find_seats(&check, index);
	if (check.count == 0)
		return false;
	if (is_ambiguous(&check))
		return true;
	for (int choice = 0; facts_gang_bundles(gang, choice); choice++) {
		struct laws_verdict one = { .law = NULL };

		check.bundles = facts_gang_bundles(gang, choice);
		check_choice(&check, index, &one);
		if (!one.law)
			return true;
		if (!first.law)
			first = one;
	}
	if (!verdict->law)
		*verdict = first;
	return true;
}

/* Equal placement groups are counted together, because the plan does not tell them apart: as many
 * must be placed or reported as were received. */
static void check_gangs(const struct cJSON *snapshot, const struct cJSON *plan,
			struct laws_verdict *verdict)
{
	const struct cJSON *list = laws_received(snapshot, "gang", "ray");

	TREE_EACH(first, list) {
		AUTO(memory_free_string) char *key = key_of(first, true);
		int64_t received = 0, placed = 0, declared;
		int index = 0;

		if (cJSON_GetArraySize(facts_gang_bundles(first, 0)) == 0)
			continue;
		TREE_EACH(gang, list) {
			AUTO(memory_free_string) char *other = key_of(gang, true);

			if (strcmp(key, other) == 0) {
				received++;
				placed += check_gang(snapshot, plan, gang, index, verdict);
			}
			index++;
		}
		declared = declared_of(plan, "gang", "ray", key);
		if (placed + declared != received)
			laws_break(verdict, "counts",
				   "placement group %s: %lld received, %lld placed, %lld told", key,
				   (long long)received, (long long)placed, (long long)declared);
	}
}

/* Finds entries of the plan that the demand does not have. */
static void check_declared(const struct cJSON *snapshot, const struct cJSON *plan,
			   const struct cJSON *asked, const char *name,
			   struct laws_verdict *verdict)
{
	TREE_EACH(entry, TREE_AT(plan, name)) {
		const char *kind = tree_text(entry, "kind");
		bool gang = strcmp(kind, "gang") == 0, found = false;
		AUTO(memory_free_string) char *key = key_of(TREE_AT(entry, "request"), gang);
		const struct cJSON *list = TREE_AT(asked, tree_text(entry, "source"));

		list = list ? list : laws_received(snapshot, kind, tree_text(entry, "source"));
		TREE_EACH(received, list) {
			AUTO(memory_free_string)
			char *other = key_of(gang ? received : TREE_AT(received, "request"), gang);

			found = found || strcmp(key, other) == 0;
		}
		if (!found)
			laws_break(verdict, "counts", "%s has a %s that nobody asked for: %s", name,
				   kind, key);
	}
}

void laws_check_counts(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict)
{
	struct cJSON *asked;

	if (laws_is_gated(plan))
		return;
	asked = laws_asked(snapshot);
	TREE_EACH(list, asked)
		check_list(plan, list, "constraint", list->string, verdict);
	if (laws_ray_was_read(plan)) {
		check_list(plan, laws_received(snapshot, "request", "ray"), "request", "ray",
			   verdict);
		check_list(plan, laws_received(snapshot, "constraint", "ray"), "constraint", "ray",
			   verdict);
		check_gangs(snapshot, plan, verdict);
	}
	check_declared(snapshot, plan, asked, "infeasible", verdict);
	check_declared(snapshot, plan, asked, "unserved", verdict);
	cJSON_Delete(asked);
}
