/* The placements of a plan: see laws_check.h. */
#include "laws_check.h"

#include <stdio.h>

#define PARTS_MAX 512
#define NEW_MAX 4096

/* ---- labels ---- */

static const char *label_of(const struct cJSON *node, const struct cJSON *group, const char *key)
{
	const struct cJSON *label;

	if (node)
		return facts_node_label(node, key);
	label = TREE_AT(group, "labels", key);
	return cJSON_IsString(label) ? label->valuestring : NULL;
}

static bool constraint_holds(const struct cJSON *constraint, const char *value)
{
	bool in = false;

	TREE_EACH(wanted, TREE_AT(constraint, "labelValues"))
		in = in || (value && strcmp(wanted->valuestring, value) == 0);
	if (tree_is(constraint, "operator", "LABEL_OPERATOR_IN"))
		return in;
	return tree_is(constraint, "operator", "LABEL_OPERATOR_NOT_IN") && !in;
}

int laws_label_choice(const struct cJSON *request, const struct cJSON *node,
		      const struct cJSON *group)
{
	int index = 0;

	TREE_EACH(selector, TREE_AT(request, "labelSelectors")) {
		bool holds = true;

		TREE_EACH(constraint, TREE_AT(selector, "labelConstraints"))
			holds = holds &&
				constraint_holds(constraint,
						 label_of(node, group,
							  tree_text(constraint, "labelKey")));
		if (holds)
			return index;
		index++;
	}
	return -1;
}

bool laws_labels_hold(const struct cJSON *request, const struct cJSON *node,
		      const struct cJSON *group)
{
	return cJSON_GetArraySize(TREE_AT(request, "labelSelectors")) == 0 ||
	       laws_label_choice(request, node, group) >= 0;
}

/* ---- received demand ---- */

/* Bundles in the form of Ray's demand: equal ones are one entry with a count. Deletes them. */
static struct cJSON *counted(struct cJSON *bundles)
{
	struct cJSON *list = cJSON_CreateArray(), *bundle;

	while ((bundle = cJSON_DetachItemFromArray(bundles, 0))) {
		struct cJSON *entry, *request, *equal = NULL;

		TREE_EACH(other, list)
			if (cJSON_Compare(TREE_AT(other, "request", "resourcesBundle"), bundle,
					  true))
				equal = TREE_AT(other, "count");
		if (equal) {
			cJSON_SetNumberValue(equal, equal->valuedouble + 1);
			cJSON_Delete(bundle);
			continue;
		}
		entry = cJSON_CreateObject();
		request = cJSON_CreateObject();
		cJSON_AddItemToObject(request, "resourcesBundle", bundle);
		cJSON_AddItemToObject(entry, "request", request);
		cJSON_AddNumberToObject(entry, "count", 1);
		cJSON_AddItemToArray(list, entry);
	}
	cJSON_Delete(bundles);
	return list;
}

struct cJSON *laws_asked(const struct cJSON *snapshot)
{
	const char *text = tree_text(TREE_AT(snapshot, "rayCluster", "metadata", "annotations"),
				     "rayscaler.dev/request-resources");
	struct cJSON *asked = cJSON_CreateObject(), *bundles = cJSON_Parse(text);

	if (bundles)
		cJSON_AddItemToObject(asked, "annotation", counted(bundles));
	TREE_EACH(schedule, TREE_AT(snapshot, "autoscaler", "spec", "schedules"))
		if (laws_is_active(schedule) && TREE_AT(schedule, "bundles"))
			cJSON_AddItemToObject(
				asked, "schedule",
				counted(cJSON_Duplicate(TREE_AT(schedule, "bundles"), true)));
	return asked;
}

const struct cJSON *laws_received(const struct cJSON *snapshot, const char *kind,
				  const char *source)
{
	const struct cJSON *state = TREE_AT(snapshot, "rayState");

	if (strcmp(source, "ray") != 0)
		return NULL;
	if (strcmp(kind, "request") == 0)
		return TREE_AT(state, "pendingResourceRequests");
	if (strcmp(kind, "gang") == 0)
		return TREE_AT(state, "pendingGangResourceRequests");
	return TREE_AT(cJSON_GetArrayItem(TREE_AT(state, "clusterResourceConstraints"), 0),
		       "resourceRequests");
}

/* ---- a worker on which something was placed ---- */

struct place {
	const struct cJSON *snapshot, *plan, *asked;
	const struct cJSON *entry, *requests;
	const char *worker;
	const struct cJSON *node, *group; /* node NULL: a worker by its group's template */
	bool is_head, is_constraint;
	struct facts_amounts total, available;
	struct laws_verdict *verdict;
};

static void wrong(const struct place *place, const char *why)
{
	laws_break(place->verdict, "places", "worker %s: %s", place->worker, why);
}

/* Whether the worker and its placements end. A Pod whose raylet died is replaced under the same
 * number of replicas: its placements move to the next one. */
static bool goes(const struct place *place)
{
	TREE_EACH(planned, TREE_AT(place->plan, "groups"))
		TREE_EACH(item, TREE_AT(planned, "toTerminate"))
			if (tree_is(item, "pod", place->worker))
				return place->node || !tree_is(item, "reason", "RayletGone");
	return false;
}

/* A worker that ends has room for a bundle of nothing, which Ray refuses. */
static bool asks_for_something(const struct place *place)
{
	struct facts_amounts bundle;

	TREE_EACH(item, place->requests)
		if (facts_amounts_of(TREE_AT(item, "bundle"), &bundle) && bundle.count > 0)
			return true;
	return false;
}

/* Two groups have this name: the right one is unknown. */
static bool is_ambiguous(const struct place *place)
{
	int count = 0;

	TREE_EACH(group, facts_groups(place->snapshot))
		count += tree_is(group, "groupName", tree_text(place->entry, "group"));
	return count > 1;
}

/* Pods of the group that are asked for and do not exist, and those that this plan adds. */
static int64_t places_to_come(const struct place *place)
{
	const struct cJSON *group = place->group;
	int64_t maximum = tree_integer(group, "maxReplicas", INT32_MAX);
	int64_t replicas = tree_integer(group, "replicas", 0);
	int64_t asked = (replicas < maximum ? replicas : maximum) * facts_hosts(group);
	int64_t missing = asked - facts_kept_pods(place->snapshot, group);

	missing = missing > 0 ? missing : 0;
	TREE_EACH(planned, TREE_AT(place->plan, "groups"))
		if (tree_is(planned, "name", tree_text(group, "groupName")))
			missing += tree_integer(planned, "toLaunch", 0);
	return missing;
}

static bool find_new(struct place *place)
{
	const char *group = tree_text(place->entry, "group");
	char start[80];
	long number;

	snprintf(start, sizeof(start), "new-%s-", group);
	if (strncmp(place->worker, start, strlen(start)) != 0)
		return false;
	number = strtol(place->worker + strlen(start), NULL, 10);
	place->group = facts_group(place->snapshot, group);
	if (!place->group || number < 1 || number > places_to_come(place))
		wrong(place, "is neither asked for nor launched");
	return true;
}

static void find_pod(struct place *place)
{
	const struct cJSON *pod = facts_pod(place->snapshot, place->worker);

	if (!pod || !facts_pod_is_worker(pod)) {
		wrong(place, "is no worker");
		return;
	}
	place->group = facts_group(place->snapshot, facts_pod_label(pod, "ray.io/group"));
	if (laws_ray_was_read(place->plan))
		place->node = facts_living_node(place->snapshot, place->worker);
	if (facts_pod_leaves(place->group, pod) || (goes(place) && asks_for_something(place)))
		wrong(place, "goes");
	if (place->node && tree_is(place->node, "status", "DRAINING"))
		wrong(place, "drains");
	if (!place->node && !place->group)
		wrong(place, "has no group that tells what it will have");
}

static bool find_place(struct place *place)
{
	bool good;

	if (tree_is(place->entry, "group", "headgroup")) {
		place->is_head = true;
		if (laws_ray_was_read(place->plan))
			place->node = facts_head_node(place->snapshot);
		place->group = TREE_AT(place->snapshot, "rayCluster", "spec", "headGroupSpec");
	} else if (!find_new(place)) {
		find_pod(place);
	}
	if (place->verdict->law)
		return false;
	if (place->node) {
		/* An invalid amount counts as none. */
		facts_amounts_of(TREE_AT(place->node, "totalResources"), &place->total);
		facts_amounts_of(TREE_AT(place->node, "availableResources"), &place->available);
		return true;
	}
	good = facts_of_group(place->group, &place->total);
	if (!good)
		wrong(place, "its group does not tell what it will have");
	place->available = place->total;
	return good;
}

/* ---- sums ---- */

static bool of_source(const struct cJSON *item, const char *source)
{
	return tree_is(item, "source", source);
}

static int64_t bundle_amount(const struct cJSON *item, const char *name)
{
	struct facts_amounts bundle;

	return facts_amounts_of(TREE_AT(item, "bundle"), &bundle) ? facts_amount(&bundle, name) : 0;
}

static void check_sum(const struct place *place, const char *source, const char *name)
{
	int64_t left = facts_amount(place->is_constraint ? &place->total : &place->available, name);

	TREE_EACH(item, place->requests)
		if (of_source(item, source))
			left -= bundle_amount(item, name) * tree_integer(item, "count", 0);
	if (left < 0)
		laws_break(place->verdict, "places", "worker %s has %g too little of %s for %s",
			   place->worker, (double)-left / FACTS_UNIT, name,
			   place->is_constraint ? "requests" : "demand");
}

/* Do the parts, the largest first, fit on GPUs of which `left` is free? First fit by trying all. */
static bool lay_out(const int64_t *parts, size_t count, int64_t *left, size_t gpus, int *budget)
{
	if (count == 0)
		return true;
	if ((*budget)-- <= 0)
		return true; /* too many ways: not an error */
	for (size_t i = 0; i < gpus; i++) {
		bool same = false;

		for (size_t j = 0; j < i; j++)
			same = same || left[j] == left[i];
		if (same || left[i] < parts[0])
			continue;
		left[i] -= parts[0];
		if (lay_out(parts + 1, count - 1, left, gpus, budget))
			return true;
		left[i] += parts[0];
	}
	return false;
}

/* On a worker whose GPUs are all free each part lies on one of them. */
static void check_parts(const struct place *place, const char *source)
{
	int64_t gpus = facts_amount(&place->total, "GPU"), whole = 0;
	int64_t parts[PARTS_MAX], left[64];
	size_t count = 0, free_count;
	int budget = 100000;

	if (!place->is_constraint && facts_amount(&place->available, "GPU") != gpus)
		return;
	TREE_EACH(item, place->requests) {
		int64_t amount = bundle_amount(item, "GPU"), units = tree_integer(item, "count", 0);

		if (!of_source(item, source))
			continue;
		whole += amount / FACTS_UNIT * units;
		for (; amount % FACTS_UNIT && units > 0 && count < PARTS_MAX; units--) {
			size_t at = count++;

			for (; at && parts[at - 1] < amount % FACTS_UNIT; at--)
				parts[at] = parts[at - 1];
			parts[at] = amount % FACTS_UNIT;
		}
	}
	if (count == 0 || gpus > 64 * FACTS_UNIT)
		return;
	free_count = whole * FACTS_UNIT > gpus ? 0 : (size_t)(gpus / FACTS_UNIT - whole);
	for (size_t i = 0; i < free_count; i++)
		left[i] = FACTS_UNIT;
	if (!lay_out(parts, count, left, free_count, &budget))
		wrong(place, "parts of GPUs do not lie on whole GPUs");
}

static void check_sums(const struct place *place)
{
	static const char *const SOURCES[] = { "ray", "annotation", "schedule" };

	for (size_t s = 0; s < 3; s++) {
		TREE_EACH(item, place->requests)
			TREE_EACH(entry, TREE_AT(item, "bundle"))
				check_sum(place, SOURCES[s], entry->string);
		check_parts(place, SOURCES[s]);
	}
}

/* ---- each entry ---- */

static const struct cJSON *received_list(const struct place *place, const struct cJSON *item)
{
	const struct cJSON *own = TREE_AT(place->asked, tree_text(item, "source"));

	return own ? own : laws_received(place->snapshot, tree_text(item, "kind"), "ray");
}

static bool same_bundle(const struct cJSON *a, const struct cJSON *b)
{
	struct facts_amounts first, second;

	if (!facts_amounts_of(a, &first) || !facts_amounts_of(b, &second))
		return false;
	for (size_t i = 0; i < first.count; i++)
		if (facts_amount(&second, first.at[i].name) != first.at[i].amount)
			return false;
	for (size_t i = 0; i < second.count; i++)
		if (facts_amount(&first, second.at[i].name) != second.at[i].amount)
			return false;
	return true;
}

static void check_item(const struct place *place, const struct cJSON *item)
{
	const struct cJSON *list = received_list(place, item);
	const struct cJSON *entry = cJSON_GetArrayItem(list, (int)tree_integer(item, "index", -1));
	bool gang = tree_is(item, "kind", "gang");
	const struct cJSON *request = TREE_AT(entry, "request");

	if (tree_is(item, "kind", "constraint") != place->is_constraint)
		wrong(place, "a placement is in the wrong phase");
	if (tree_integer(item, "count", 0) < 1 || !entry) {
		wrong(place, "a placement is of nothing");
		return;
	}
	if (gang) /* with the other bundles of its placement group, in laws_check_counts */
		return;
	if (!same_bundle(TREE_AT(request, "resourcesBundle"), TREE_AT(item, "bundle")))
		wrong(place, "a placement has another bundle than was received");
	if (!laws_labels_hold(request, place->node, place->group))
		wrong(place, "no label selector of a placement holds");
}

void laws_check_places(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict)
{
	struct cJSON *asked = laws_asked(snapshot);

	TREE_EACH(entry, TREE_AT(plan, "placements")) {
		struct place place = {
			.snapshot = snapshot,
			.plan = plan,
			.asked = asked,
			.entry = entry,
			.requests = TREE_AT(entry, "requests"),
			.worker = tree_text(entry, "worker"),
			.is_constraint = tree_is(entry, "phase", "constraint"),
			.verdict = verdict,
		};

		if (is_ambiguous(&place))
			continue;
		if (verdict->law || !find_place(&place))
			break;
		check_sums(&place);
		TREE_EACH(item, place.requests)
			check_item(&place, item);
		TREE_EACH(other, TREE_AT(plan, "placements"))
			if (other != entry && tree_is(other, "worker", place.worker) &&
			    tree_is(other, "phase", tree_text(entry, "phase")))
				wrong(&place, "is listed twice");
	}
	cJSON_Delete(asked);
}
