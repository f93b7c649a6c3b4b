/* Laws of the caller of the allocation, feature/pools/ctl/pools, on random sequences of decisions, patches,
 * answers, watches and restarts. The model of the API server shares no code with it. `make mutants` sees
 * each law fail on errors in the source.
 * POOLS_LAWS_COUNT (300 sequences of 50 steps; 2,000 are 100,000 states) and POOLS_LAWS_SEED choose them. */
#include "feature/pools/ctl/pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/int64.h"
#include "ctl/shared/options.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "net/loop.h"
#include "test/support/codec_support.h"
#include "test/support/support.h"

#define CLUSTERS 4
#define CAPACITY 20
#define STEPS 50
#define LOST_MAX 8

/* A patch, which has an effect only while the API server has `before`. */
struct patch {
	int64_t before, target;
};

/* A RayCluster on the API server and in the cache, with one group of workers of `gpus` GPUs. */
struct model {
	struct quantity limits[1];
	struct container container;
	struct worker_group group; /* as the cache has it */
	struct ray_cluster cluster;
	int64_t gpus, replicas, generation; /* on the API server */
	int64_t singles, gang;              /* that it asks for */
	bool sent;                          /* a patch without an answer yet */
	struct patch patch;
	/* Patches whose answers were lost. They may take effect until this process ends. */
	struct patch lost[LOST_MAX];
	size_t lost_count;
	int64_t unanswered; /* their most replicas: this process counts them for a limited time, also behind their effect */
};

static struct world {
	struct model models[CLUSTERS];
	struct gpu_pool pool;
	bool of_flags;
	struct options options;
	struct control control;
	struct pools *pools;
	struct gpu_share share;
	struct arena arena, pool_arena;
	char *status; /* of the last allocation, as text */
	time_ms now;
} world;

static uint64_t state;
static uint64_t first_seed = 1;
static size_t count = 300;

static const char *const NAMES[CLUSTERS] = { "0", "1", "2", "3" };
static const char *const NAMESPACES[CLUSTERS] = { "a", "a", "b", "c" };

static size_t below(size_t limit)
{
	return support_random_below(&state, limit);
}

static bool often(size_t percent)
{
	return below(100) < percent;
}

/* ---- what pools sees ---- */

static const struct gpu_pool *const *list_pools(void *context, size_t *ret_count,
						const char **ret_problem)
{
	static const struct gpu_pool *list[1];

	(void)context;
	list[0] = &world.pool;
	*ret_count = !world.of_flags;
	*ret_problem = NULL;
	return list;
}

static const struct labels *namespace_labels(void *context, const char *namespace_)
{
	static struct label label = { "team", "" };
	static const struct labels labels = { &label, 1 };

	(void)context;
	label.value = namespace_;
	return &labels;
}

static void each(void *context, struct pools *pools)
{
	(void)context;
	for (size_t i = 0; i < CLUSTERS; i++)
		pools_ray_cluster_changed(pools, NAMESPACES[i], NAMES[i]);
}

static void look(void *context, const char *namespace_, const char *name,
		 struct gpu_share_objects *ret_objects, bool *ret_unreadable)
{
	(void)context;
	(void)namespace_;
	*ret_unreadable = false;
	ret_objects->cluster = &world.models[name[0] - '0'].cluster;
}

static void wake(void *context, const char *namespace_, const char *name)
{
	(void)context;
	(void)namespace_;
	(void)name;
}

static void allocated(void *context, const struct pool_allocation *allocation, int64_t cpu_us)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct gpu_pool_status status;

	(void)context;
	(void)cpu_us;
	if (world.of_flags)
		return;
	pool_status_make(allocation, 0, world.pool.status, &arena, &status);
	free(world.status);
	world.status = strdup(gpu_pool_status_text(&status, &arena));
}

/* ---- a process ---- */

static void start(void)
{
	const struct pools_source source = { .pools = list_pools,
					     .namespace_labels = namespace_labels,
					     .each = each,
					     .look = look,
					     .wake = wake,
					     .allocated = allocated,
					     .settle_max_ms = 3600000,
					     .lost_patch_ms = 3600000 };

	world.pools = pools_new(&world.control, &source);
	world.share = (struct gpu_share){ &pools_hooks, world.pools };
	each(NULL, world.pools);
}

/* With the status of the last allocation. */
static void read_pool(void)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	arena_done(&world.pool_arena);
	tree = codec_tree(arena_printf(
		&scratch,
		"metadata: {name: p}\nspec:\n  gpus: %d\n  queues:\n"
		"  - {name: a, namespaceSelector: {matchLabels: {team: a}}, guaranteed: 6}\n"
		"  - {name: b, namespaceSelector: {matchLabels: {team: b}}, guaranteed: 4,"
		" weight: 2}\n"
		"status: %s\n",
		CAPACITY, world.status ? world.status : "{}"));
	if (gpu_pool_decode(tree, "", &world.pool_arena, &world.pool, &err))
		fail_msg("%s", err.text);
}

static void make_model(size_t i)
{
	struct model *model = &world.models[i];

	*model = (struct model){ .gpus = 1 + (int64_t)below(2), .generation = 1 };
	model->limits[0] =
		(struct quantity){ "nvidia.com/gpu", "", true, model->gpus * RESOURCE_UNIT };
	model->container =
		(struct container){ .name = "ray", .image = "", .limits = { model->limits, 1 } };
	model->group = (struct worker_group){
		.name = "gpu",
		.has_replicas = true,
		.max_replicas = 100,
		.num_of_hosts = 1,
		.template = { .spec = { .containers = &model->container, .container_count = 1 } },
		.scale_gate = "",
	};
	model->cluster = (struct ray_cluster){
		.namespace_ = NAMESPACES[i],
		.name = NAMES[i],
		.uid = "u",
		.ray_version = "",
		.managed_by = "",
		.generation = 1,
		.enable_in_tree_autoscaling = true,
		.groups = &model->group,
		.group_count = 1,
	};
}

static void begin(uint64_t seed)
{
	state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
	support_random(&state);
	world = (struct world){ .arena = ARENA_INIT, .pool_arena = ARENA_INIT };
	world.of_flags = often(30);
	options_init(&world.options);
	world.options.kube_api_timeout_seconds = 0;
	world.options.max_gpus_total = world.of_flags ? CAPACITY : 0;
	world.control = (struct control){ .loop = loop_new(), .options = &world.options };
	world.now = loop_wall(world.control.loop) - 1000 * MS_PER_SECOND;
	for (size_t i = 0; i < CLUSTERS; i++)
		make_model(i);
	read_pool();
	start();
}

static void end(void)
{
	pools_free(world.pools);
	loop_free(world.control.loop);
	options_done(&world.options);
	arena_done(&world.arena);
	arena_done(&world.pool_arena);
	free(world.status);
}

/* ---- a pass ---- */

/* Its last decision is made again. */
static void asks(size_t i)
{
	struct model *model = &world.models[i];
	const struct gpu_share_objects objects = { .cluster = &model->cluster };
	struct plan_group group = { .name = "gpu" };
	struct pool_ask_part one = { 0, 1 }, all = { 0, model->gang };
	struct pool_ask list[] = {
		{ .parts = { .at = &all, .count = 1 }, .count = 1, .gang = true },
		{ .parts = { .at = &one, .count = 1 }, .count = model->singles },
	};
	size_t first = model->gang > 0 ? 0 : 1, past = model->singles > 0 ? 2 : 1;
	struct plan plan = { .groups = { .at = &group, .count = 1 },
			     .asks = { .at = list + first, .count = past - first } };

	world.now += 1 + (time_ms)below(3000);
	(void)gpu_share_decided(&world.share, &objects, &plan, true, world.now);
}

/* All decide again after an allocation that knows nothing of the one before. */
static void allocate_again(void)
{
	pools_changed(world.pools);
	for (size_t i = 0; i < CLUSTERS; i++)
		asks(i);
}

static int64_t grant_of(size_t i)
{
	const struct gpu_share_objects objects = { .cluster = &world.models[i].cluster };
	const struct pool_terms *terms = gpu_share_terms(&world.share, &objects, &world.arena);

	return terms->grants[0].replicas;
}

/* A decision with all that is granted, or a part of it, or fewer workers; its patch is sent. */
static void decides(size_t i)
{
	struct model *model = &world.models[i];
	const struct gpu_share_objects objects = { .cluster = &model->cluster };
	struct plan_group group = { .name = "gpu", .replicas = model->group.replicas };
	struct plan plan = { .groups = { .at = &group, .count = 1 } };

	model->singles = (int64_t)below(9);
	model->gang = often(30) ? 2 + (int64_t)below(8) : 0;
	asks(i);
	group.patch_replicas = model->group.replicas + grant_of(i);
	if (often(30))
		group.patch_replicas = (int64_t)below((size_t)group.patch_replicas + 1);
	else if (often(10))
		group.patch_replicas++; /* more than is granted */
	if (model->sent || group.patch_replicas == model->group.replicas ||
	    !gpu_share_fits(&world.share, &objects, &plan))
		return;
	gpu_share_sent(&world.share, &objects, &plan);
	model->sent = true;
	model->patch = (struct patch){ model->group.replicas, group.patch_replicas };
}

/* ---- the API server ---- */

static bool takes_effect(struct model *model, const struct patch *patch)
{
	if (model->replicas != patch->before)
		return false;
	model->replicas = patch->target;
	model->generation++;
	return true;
}

static void answer(size_t i, enum err_kind kind)
{
	const struct err err = { .kind = kind };

	world.models[i].sent = false;
	gpu_share_answered(&world.share, NAMESPACES[i], NAMES[i], kind ? &err : NULL,
			   world.models[i].generation);
}

static void watch(size_t i)
{
	struct model *model = &world.models[i];

	model->group.replicas = model->replicas;
	model->cluster.generation = model->generation;
	pools_ray_cluster_changed(world.pools, NAMESPACES[i], NAMES[i]);
}

static void answers(size_t i)
{
	struct model *model = &world.models[i];

	if (!model->sent)
		return;
	if (often(15)) {
		answer(i, often(50) ? ERR_CONFLICT : ERR_DENIED);
	} else if (often(15) && model->lost_count < LOST_MAX) {
		model->lost[model->lost_count++] = model->patch;
		model->unanswered = int64_max(model->unanswered, model->patch.target);
		answer(i, ERR_TIMEOUT);
	} else if (takes_effect(model, &model->patch)) {
		if (often(30)) /* the watch is quicker than the answer */
			watch(i);
		answer(i, ERR_NONE);
	} else {
		answer(i, ERR_CONFLICT);
	}
}

static void lost_takes_effect(struct model *model)
{
	size_t at;

	if (model->lost_count == 0)
		return;
	at = below(model->lost_count);
	if (takes_effect(model, &model->lost[at]))
		model->lost[at] = model->lost[--model->lost_count];
}

/* ---- law 1 ---- */

/* The most replicas that it has, or may have without another patch. */
static int64_t possible(const struct model *model)
{
	int64_t most = model->replicas;

	if (model->sent && model->patch.target > most)
		most = model->patch.target;
	for (size_t i = 0; i < model->lost_count; i++)
		if (model->lost[i].target > most)
			most = model->lost[i].target;
	return most;
}

static const char *check_capacity(void)
{
	int64_t sum = 0;

	for (size_t i = 0; i < CLUSTERS; i++)
		sum += world.models[i].gpus * possible(&world.models[i]);
	return sum > CAPACITY ? "1: patches may exceed the pool" : NULL;
}

/* ---- law 10 ---- */

static int64_t asked(const struct model *model)
{
	return model->singles + model->gang;
}

/* All decide again; without contention each one is granted what it asks for. */
static const char *check_no_contention(void)
{
	int64_t sum = 0;

	for (size_t i = 0; i < CLUSTERS; i++) {
		struct model *model = &world.models[i];
		int64_t held = int64_max(possible(model), model->unanswered);

		if (held < model->group.replicas)
			held = model->group.replicas;
		model->singles = (int64_t)below(3);
		model->gang = often(20) ? 2 : 0;
		sum += model->gpus * (held + asked(model));
		asks(i);
	}
	if (sum > CAPACITY)
		return NULL;
	allocate_again();
	for (size_t i = 0; i < CLUSTERS; i++)
		if (grant_of(i) != asked(&world.models[i]))
			return "10: less than was asked for without contention";
	return NULL;
}

/* ---- law 8 ---- */

/* No patch is in flight, and the caches are current. */
static void become_quiet(void)
{
	for (size_t i = 0; i < CLUSTERS; i++) {
		struct model *model = &world.models[i];

		if (model->sent)
			answers(i);
		while (model->lost_count > 0 && often(50))
			lost_takes_effect(model);
		watch(i);
	}
}

/* True when one was granted something before all have asked. */
static bool ask_in_some_order(void)
{
	size_t first = below(CLUSTERS), step = often(50) ? 1 : 3;
	bool early = false;

	for (size_t n = 0; n < CLUSTERS; n++) {
		size_t i = (first + n * step) % CLUSTERS;

		asks(i);
		early |= n + 1 < CLUSTERS && grant_of(i) > 0;
	}
	return early;
}

/* A new process: nothing is granted until each RayCluster was decided on. */
static const char *restart(void)
{
	pools_free(world.pools);
	for (size_t i = 0; i < CLUSTERS; i++) {
		world.models[i].lost_count = 0;
		world.models[i].unanswered = 0;
	}
	if (!world.of_flags)
		read_pool();
	start();
	return ask_in_some_order() ? "8: a grant before the demand of all is known" : NULL;
}

/* The list `waiting` of a status. */
static const char *places_of(const char *status, struct arena *arena)
{
	const char *from = status ? strstr(status, "\"waiting\": [") : NULL;
	const char *to = from ? strchr(from, ']') : NULL;

	return to ? arena_printf(arena, "%.*s", (int)(to - from), from) : "";
}

/* Patches without an answer of the process before count no more, so only without them grants are equal. The pool of
 * the flags has no status, so places in it are lost. */
static const char *check_restart(void)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	int64_t before[CLUSTERS];
	const char *places, *broken;
	bool lost = world.of_flags;

	become_quiet();
	for (size_t i = 0; i < CLUSTERS; i++) {
		lost |= world.models[i].unanswered > 0;
		asks(i);
	}
	allocate_again();
	for (size_t i = 0; i < CLUSTERS; i++)
		before[i] = grant_of(i);
	places = places_of(world.status, &arena);
	broken = restart();
	for (size_t i = 0; i < CLUSTERS && !broken; i++)
		if (!lost && grant_of(i) != before[i])
			broken = "8: a restart changes a grant";
	if (!broken && !lost && strcmp(places_of(world.status, &arena), places) != 0)
		broken = arena_printf(&world.arena, "8: a restart changes places: %s; %s", places,
				      places_of(world.status, &arena));
	return broken;
}

/* ---- all ---- */

static const char *step(void)
{
	size_t i = below(CLUSTERS);
	const char *broken = NULL;

	arena_reset(&world.arena);
	if (often(40))
		decides(i);
	else if (often(50))
		answers(i);
	else if (often(40))
		watch(i);
	else if (often(40))
		lost_takes_effect(&world.models[i]);
	else if (often(30))
		pools_ray_cluster_changed(world.pools, NAMESPACES[i], NAMES[i]);
	else if (often(70))
		broken = check_no_contention();
	else
		broken = check_restart();
	return broken ? broken : check_capacity();
}

static void laws_hold_on_random_sequences(void **unused)
{
	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		begin(seed);
		(void)ask_in_some_order();
		for (int i = 0; i < STEPS; i++) {
			const char *broken = step();

			if (broken)
				fail_msg("seed %llu, step %d: law %s", (unsigned long long)seed, i,
					 broken);
		}
		end();
	}
}

static void read_number(const char *name, uint64_t *number)
{
	const char *text = getenv(name);

	if (text)
		*number = strtoull(text, NULL, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(laws_hold_on_random_sequences) };
	uint64_t number = count;

	read_number("POOLS_LAWS_SEED", &first_seed);
	read_number("POOLS_LAWS_COUNT", &number);
	count = (size_t)number;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
