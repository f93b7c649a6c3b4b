#include "laws_case.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json.h"
#include "codec/text/rfc3339.h"
#include "core/decide.h"
#include "laws_apply.h"
#include "laws_check.h"
#include "laws_cut.h"
#include "laws_identity.h"
#include "laws_keeps.h"
#include "laws_packing.h"
#include "laws_pools.h"
#include "laws_random.h"
#include "laws_repair.h"
#include "laws_stays.h"
#include "laws_unused.h"
#include "laws_waits.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)

void (*laws_case_fault)(struct cJSON *plan);

/* ---- one decision ---- */

struct decision {
	char *text;         /* as `plan` prints it */
	struct cJSON *plan; /* with placements */
};

static void decision_done(struct decision *decision)
{
	memory_free(decision->text);
	cJSON_Delete(decision->plan);
}

static char *write_plan(const struct plan *plan, bool debug)
{
	struct err err;
	struct buf buf;

	buf_init(&buf, TEXT_BYTES_MAX);
	if (plan_write(plan, debug, &buf, &err))
		abort();
	return buf_steal(&buf);
}

static bool read_snapshot(const struct cJSON *tree, struct arena *arena,
			  struct snapshot *ret_snapshot, struct laws_verdict *verdict)
{
	struct err err = { .kind = ERR_NONE };

	if (snapshot_decode(tree, "", arena, ret_snapshot, &err) == 0)
		return true;
	laws_break(verdict, "reads", "%s", err.text);
	return false;
}

char *laws_case_plan(const struct cJSON *snapshot, bool debug, struct laws_verdict *verdict)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot decoded;

	if (!read_snapshot(snapshot, &arena, &decoded, verdict))
		return NULL;
	return write_plan(decide(&decoded, &arena), debug);
}

static bool decide_tree(const struct cJSON *snapshot, struct decision *ret_decision,
			struct laws_counts *counts, struct laws_verdict *verdict)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *debug = NULL;
	struct snapshot decoded;
	const struct plan *plan;

	if (!read_snapshot(snapshot, &arena, &decoded, verdict))
		return false;
	laws_packing_forget();
	plan = decide(&decoded, &arena);
	laws_packing_check(counts, verdict);
	counts->decisions++;
	debug = write_plan(plan, true);
	ret_decision->text = write_plan(plan, false);
	ret_decision->plan = cJSON_Parse(debug);
	if (!ret_decision->plan)
		laws_break(verdict, "reads", "the plan is no JSON");
	else if (laws_case_fault)
		laws_case_fault(ret_decision->plan);
	return ret_decision->plan != NULL;
}

static void check_plan(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict)
{
	laws_check_bounds(snapshot, plan, verdict);
	laws_check_safety(snapshot, plan, verdict);
	laws_check_places(snapshot, plan, verdict);
	laws_check_counts(snapshot, plan, verdict);
	laws_check_idle(snapshot, plan, verdict);
	laws_check_schedules(snapshot, plan, verdict);
}

/* ---- the same plan ---- */

/* Messages about malformed parts contain their index in a list, which another order changes: the
 * line is removed. */
static void drop_problems(char *text)
{
	char *found = strstr(text, "{\"type\": \"InvalidRequest\"");

	if (found)
		memmove(found, found + strcspn(found, "\n"),
			strlen(found + strcspn(found, "\n")) + 1);
}

/* Breaks the law with the place where two texts start to differ. */
static void break_difference(struct laws_verdict *verdict, const char *law, const char *a,
			     const char *b)
{
	size_t at = 0, start;

	while (a[at] && a[at] == b[at])
		at++;
	start = at > 60 ? at - 60 : 0;
	laws_break(verdict, law, "...%.120s... against ...%.120s...", a + start, b + start);
}

/* Decided twice, and decided from the snapshot as the program writes it. A node's amounts that are
 * no numbers are not written. */
static void check_bytes(const struct cJSON *tree, const struct decision *decision,
			struct laws_counts *counts, struct laws_verdict *verdict)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf file = { .data = NULL };
	AUTO(memory_free_string) char *again = NULL, *rewritten = NULL;
	struct snapshot snapshot, reread;
	struct err err = { .kind = ERR_NONE };
	bool numbers = true;

	if (!read_snapshot(tree, &arena, &snapshot, verdict))
		return;
	again = write_plan(decide(&snapshot, &arena), false);
	counts->decisions++;
	if (strcmp(again, decision->text) != 0)
		break_difference(verdict, "bytes", decision->text, again);
	for (size_t i = 0; snapshot.ray_state && i < snapshot.ray_state->node_count; i++)
		numbers = numbers && !snapshot.ray_state->nodes[i].problem;
	buf_init(&file, TEXT_BYTES_MAX);
	if (!numbers)
		return;
	if (snapshot_write(&snapshot, &file, &err) ||
	    snapshot_read(buf_string(&file), file.size, &arena, &reread, &err)) {
		laws_break(verdict, "bytes", "rewritten: %s", err.text);
		return;
	}
	rewritten = write_plan(decide(&reread, &arena), false);
	counts->decisions++;
	if (strcmp(rewritten, decision->text) != 0)
		break_difference(verdict, "bytes", decision->text, rewritten);
}

static void check_order(const struct cJSON *tree, const struct decision *decision, uint64_t seed,
			struct laws_counts *counts, struct laws_verdict *verdict)
{
	struct cJSON *shuffled = laws_apply_shuffle(tree, seed);
	AUTO(memory_free_string) char *text = laws_case_plan(shuffled, false, verdict);
	AUTO(memory_free_string) char *first = memory_strdup(decision->text);

	counts->decisions++;
	if (text)
		drop_problems(text);
	drop_problems(first);
	if (text && strcmp(first, text) != 0)
		break_difference(verdict, "order", first, text);
	cJSON_Delete(shuffled);
}

/* ---- the second decision ---- */

static int64_t sum_of_launches(const struct cJSON *plan)
{
	int64_t sum = 0;

	TREE_EACH(group, TREE_AT(plan, "groups"))
		sum += tree_integer(group, "toLaunch", 0);
	return sum;
}

static int64_t sum_of_unserved(const struct cJSON *plan)
{
	int64_t sum = 0;

	TREE_EACH(entry, TREE_AT(plan, "unserved"))
		sum += tree_integer(entry, "count", 0);
	return sum;
}

static bool lets_go(const struct cJSON *plan)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			if (!laws_is_notified(item))
				return true;
	return false;
}

/* Pods that a cap on starting workers (Conservative, max-starting-workers) kept for later passes. */
static int64_t kept_for_later(const struct cJSON *snapshot, const struct cJSON *planned)
{
	const struct cJSON *group = facts_group(snapshot, tree_text(planned, "name"));
	int64_t hosts = facts_hosts(group);
	int64_t replicas = tree_integer(planned, "targetReplicas", 0) * hosts;
	int64_t there = facts_kept_pods(snapshot, group);
	int64_t maximum = tree_integer(group, "maxReplicas", INT32_MAX) * hosts;
	int64_t asked = tree_integer(group, "replicas", 0) * hosts;
	int64_t base = asked < maximum ? asked : maximum;

	base = there > base ? there : base;
	TREE_EACH(item, TREE_AT(planned, "toTerminate")) {
		/* A Pod that is replaced keeps its place. */
		base -= !laws_is_notified(item) && !tree_is(item, "reason", "RayletGone") &&
			!tree_is(item, "reason", "StartTimeout");
	}
	base += tree_integer(planned, "toLaunch", 0) - replicas;
	return base > 0 ? base : 0;
}

static bool is_capped(const struct cJSON *snapshot)
{
	const struct cJSON *options = TREE_AT(snapshot, "rayCluster", "spec", "autoscalerOptions");

	return facts_setting(snapshot, "max-starting-workers", 0) > 0 ||
	       tree_is(options, "upscalingMode", "Conservative");
}

/* Pods that replace lost hosts of replicas; ceil(Pods / numOfHosts) replicas are kept. */
static int64_t lost_hosts(const struct cJSON *after, const struct cJSON *planned)
{
	const struct cJSON *group = facts_group(after, tree_text(planned, "name"));
	int64_t hosts = facts_hosts(group);

	return (hosts - facts_kept_pods(after, group) % hosts) % hosts;
}

/* A termination freed a place below a maximum, and more demand is served with it. */
static bool is_freed(const struct cJSON *first, const struct cJSON *second)
{
	return lets_go(first) && sum_of_unserved(second) < sum_of_unserved(first);
}

static void check_launches(const struct cJSON *snapshot, const struct cJSON *first,
			   const struct cJSON *after, const struct cJSON *second,
			   struct laws_counts *counts, const char *law,
			   struct laws_verdict *verdict)
{
	const struct cJSON *before = tree_first(TREE_AT(first, "groups"));
	const char *again = NULL;
	int64_t more = 0;
	bool repaired = false;

	counts->second++;
	TREE_EACH(planned, TREE_AT(second, "groups")) {
		int64_t later = is_capped(snapshot) ? kept_for_later(snapshot, before) : 0;
		int64_t launches = tree_integer(planned, "toLaunch", 0);

		if (launches > later && launches <= later + lost_hosts(after, planned)) {
			repaired = true;
		} else if (launches > later) {
			again = tree_text(planned, "name");
			more = launches;
		}
		before = before->next;
	}
	counts->repaired += !again && repaired;
	if (!again)
		return;
	if (is_freed(first, second)) {
		counts->freed++;
		return;
	}
	if (!facts_setting_is(snapshot, "packing", "fewest-gpus") &&
	    laws_packing_is_greedy(after, verdict)) {
		counts->greedy++;
		return;
	}
	/* Known and open: printed, and a failure with LAWS_STRICT=1. */
	if (!getenv("LAWS_STRICT")) {
		if (facts_setting_is(snapshot, "packing", "fewest-gpus"))
			counts->fewest++;
		else
			counts->unexplained++;
		return;
	}
	laws_break(verdict, law, "decided again, group %s launches %lld more", again,
		   (long long)more);
}

static void check_second(const struct cJSON *snapshot, const struct decision *first,
			 struct laws_counts *counts, struct laws_verdict *verdict)
{
	struct cJSON *after = laws_apply_all(snapshot, first->plan);
	AUTO(decision_done) struct decision second = { .text = NULL };

	if (decide_tree(after, &second, counts, verdict)) {
		check_plan(after, second.plan, verdict);
		check_launches(snapshot, first->plan, after, second.plan, counts, "second",
			       verdict);
	}
	cJSON_Delete(after);
}

/* The patch alone: the replicas in it count, so nothing more is requested. */
static void check_patched(const struct cJSON *snapshot, const struct decision *first,
			  struct laws_counts *counts, struct laws_verdict *verdict)
{
	struct cJSON *after = laws_apply_patch(snapshot, first->plan);
	AUTO(decision_done) struct decision second = { .text = NULL };

	if (cJSON_GetArraySize(TREE_AT(first->plan, "patch")) > 0 &&
	    decide_tree(after, &second, counts, verdict)) {
		check_plan(after, second.plan, verdict);
		if (cJSON_GetArraySize(TREE_AT(second.plan, "patch")) > 0)
			check_launches(snapshot, first->plan, after, second.plan, counts, "patched",
				       verdict);
	}
	cJSON_Delete(after);
}

/* ---- fewest GPUs ---- */

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddItemToObject(object, name, value);
}

static int64_t gpus_of(const struct cJSON *snapshot, const struct cJSON *plan)
{
	struct facts_amounts amounts;
	int64_t sum = 0;

	TREE_EACH(planned, TREE_AT(plan, "groups"))
		if (facts_of_group(facts_group(snapshot, tree_text(planned, "name")), &amounts))
			sum += tree_integer(planned, "toLaunch", 0) * facts_amount(&amounts, "GPU");
	return sum;
}

static int64_t unserved_gangs(const struct cJSON *plan)
{
	int64_t sum = 0;

	TREE_EACH(entry, TREE_AT(plan, "unserved"))
		if (tree_is(entry, "kind", "gang"))
			sum += tree_integer(entry, "count", 0);
	return sum;
}

static void check_fewest(const struct cJSON *snapshot, const struct decision *fewest, uint64_t seed,
			 struct laws_counts *counts, struct laws_verdict *verdict)
{
	struct cJSON *other;
	AUTO(decision_done) struct decision ray = { .text = NULL };
	AUTO(decision_done) struct decision cheapest = { .text = NULL };
	AUTO(decision_done) struct decision priced = { .text = NULL };

	if (!facts_setting_is(snapshot, "packing", "fewest-gpus"))
		return;
	other = cJSON_Duplicate(snapshot, true);
	cJSON_SetValuestring(TREE_AT(other, "settings", "packing"), "ray");
	if (decide_tree(other, &ray, counts, verdict)) {
		if (gpus_of(snapshot, fewest->plan) > gpus_of(snapshot, ray.plan))
			laws_break(verdict, "fewest", "launches more GPUs than packing ray");
		else if (sum_of_unserved(fewest->plan) > sum_of_unserved(ray.plan))
			laws_break(verdict, "fewest", "serves less than packing ray");
		else if (unserved_gangs(fewest->plan) > unserved_gangs(ray.plan))
			laws_break(verdict, "fewest", "serves fewer gangs than packing ray");
	}
	/* With one price for all GPUs cheapest decides as fewest-gpus. */
	cJSON_SetValuestring(TREE_AT(other, "settings", "packing"), "cheapest");
	set(other, "priceTable",
	    cJSON_Parse("{\"currency\":\"EUR\",\"prices\":[{\"perGPUHour\":2.5}]}"));
	if (decide_tree(other, &cheapest, counts, verdict) &&
	    strcmp(fewest->text, cheapest.text) != 0)
		laws_break(verdict, "price", "one price for all GPUs is not fewest-gpus");
	laws_packing_price(other, seed);
	decide_tree(other, &priced, counts, verdict);
	cJSON_Delete(other);
}

/* ---- a case ---- */

static void count_plan(const struct cJSON *plan, struct laws_counts *counts)
{
	counts->cases++;
	counts->launches += sum_of_launches(plan) > 0;
	counts->terminations += lets_go(plan);
	counts->placements += cJSON_GetArraySize(TREE_AT(plan, "placements"));
}

void laws_case_check(const struct cJSON *snapshot, uint64_t seed, struct laws_counts *counts,
		     struct laws_verdict *verdict)
{
	AUTO(decision_done) struct decision first = { .text = NULL };
	struct laws_counts own = { .cases = 0 };

	counts = counts ? counts : &own;
	*verdict = (struct laws_verdict){ .law = NULL };
	if (!decide_tree(snapshot, &first, counts, verdict))
		return;
	count_plan(first.plan, counts);
	check_plan(snapshot, first.plan, verdict);
	if (verdict->law) /* after a wrong plan the other laws show nothing more */
		return;
	check_bytes(snapshot, &first, counts, verdict);
	check_order(snapshot, &first, seed, counts, verdict);
	check_second(snapshot, &first, counts, verdict);
	check_patched(snapshot, &first, counts, verdict);
	check_fewest(snapshot, &first, seed, counts, verdict);
	laws_identity_check(snapshot, seed, verdict);
	laws_stays_check(snapshot, seed, &counts->stays, verdict);
	counts->cut += laws_cut_check(snapshot, seed, verdict);
	counts->asked += laws_pools_check(snapshot, seed, verdict);
	counts->waiting += laws_keeps_check(snapshot, seed, verdict);
	counts->emptied += laws_repair_check(snapshot, seed, verdict);
	counts->unused += laws_unused_check(snapshot, seed, verdict);
	laws_waits_check(snapshot, seed, counts, verdict);
}

/* ---- making it ---- */

static void remember_from(struct cJSON *snapshot, int64_t ago_ms)
{
	struct cJSON *before = cJSON_Duplicate(snapshot, true);
	AUTO(decision_done) struct decision decision = { .text = NULL };
	struct laws_counts counts = { .cases = 0 };
	struct laws_verdict verdict = { .law = NULL };
	char text[RFC3339_SIZE];
	const char *problem;
	time_ms now;

	if (rfc3339_parse(tree_text(snapshot, "now"), &now, &problem))
		abort();
	rfc3339_print(now - ago_ms, text);
	set(before, "now", cJSON_CreateString(text));
	if (decide_tree(before, &decision, &counts, &verdict))
		set(snapshot, "memory", cJSON_Duplicate(TREE_AT(decision.plan, "memory"), true));
	cJSON_Delete(before);
}

/* Two decisions, since the second one knows how long workers have not been registered. */
static void remember(struct cJSON *snapshot, struct laws_random *random)
{
	static const int AGO[] = { 1, 5, 20, 70, 300 };
	int64_t ago_ms = 1000 * AGO[laws_random_below(random, 5)];

	remember_from(snapshot, ago_ms + 1000);
	remember_from(snapshot, ago_ms);
}

struct cJSON *laws_case_make(uint64_t seed)
{
	AUTO(buf_done) struct buf text = { .data = NULL };
	struct laws_random random;
	struct cJSON *tree;

	buf_init(&text, TEXT_BYTES_MAX);
	laws_random_snapshot(seed, &text);
	tree = cJSON_Parse(buf_string(&text));
	laws_random_init(&random, ~seed);
	laws_idle_make(tree, seed);
	if (tree && laws_random_below(&random, 3) == 0)
		remember(tree, &random);
	return tree;
}
