/* CPU time of share() for 1,000 clusters in 50 queues with 10,000 workers and 10,000 waiting units,
 * for a tenth of them in 50 queues and in 5, and the exponents by which the time grows; best of
 * several runs. An argument selects one of
 *   free       nothing is held: the pool is given away
 *   busy       all is held by busy workers, also where queues may be drained
 *   idle       all is held by idle workers that demand does not need: many are released
 *   exchanged  by idle ones that demand needs: shares are made equal
 *   forged     as idle, and each queue also asks for gangs as large as the pool
 *   fleets     pool_allocate for as many RayClusters, without Nodes (amounts) and with 1,250 of 8
 *              GPUs (places); recount: those Nodes and their 10,000 Pods counted again, which the loop does
 *              before an allocation when Nodes have changed; members: pool_member_make for all RayClusters with their
 *              Pods, as after a start; templates: those of one RayCluster of 1,000 groups with 1 KiB of resources
 *              each, which a thread beside the loop reads; large: pool_member_make for it, on the loop */
#include <math.h>

#include "base/buf.h"
#include "core/model/device.h"
#include "feature/pools/core/pool_allocation.h"
#include "test/support/bench_usage.h"
#include "test/support/share_scene.h"
#include "test/support/support.h"

#define RUNS 15
#define AIM_MS 10

struct kind {
	const char *name;
	enum share_state state;
	bool held, needed, drains, forged;
};

static const struct kind KINDS[] = {
	{ .name = "free" },
	{ "busy", SHARE_BUSY, .held = true, .drains = true },
	{ "idle", SHARE_IDLE, .held = true },
	{ "exchanged", SHARE_IDLE, .held = true, .needed = true },
	{ "forged", SHARE_IDLE, .held = true, .forged = true },
};

static uint64_t state;

static void add_clusters(struct scene *scene, size_t queues, size_t clusters)
{
	for (size_t i = 0; i < queues; i++) {
		struct share_queue *queue = scene_queue(scene,
							arena_printf(&scene->arena, "queue-%zu", i),
							(int64_t)(clusters * 5 / queues));

		queue->weight = 1 + (int64_t)support_random_below(&state, 4);
		queue->priority = i % 10 == 0;
	}
	for (size_t i = 0; i < clusters; i++) {
		scene_cluster(scene, arena_printf(&scene->arena, "team/cluster-%zu", i));
		scene->clusters.at[i].queue = support_random_below(&state, queues);
	}
}

static void make(struct scene *scene, const struct kind *kind, size_t part, size_t queues)
{
	size_t clusters = 1000 / part, units = 10000 / part;

	state = 1;
	scene_start(scene, (int64_t)units);
	add_clusters(scene, queues, clusters);
	for (size_t i = 0; i < units; i++) {
		int64_t gpus = kind->forged && i % 2 ? (int64_t)units : i % 20 ? 1 : 8;
		size_t unit = scene_ask(scene, gpus, (int64_t)support_random_below(&state, 200));

		scene->units.at[unit].cluster = support_random_below(&state, clusters);
	}
	for (size_t i = 0; i < units && kind->held; i++) {
		size_t worker = scene_hold(scene, kind->state, 1);

		/* Half of the clusters hold most of it. */
		scene->workers.at[worker].cluster =
			support_random_below(&state, i % 10 ? clusters / 2 : clusters);
		scene->workers.at[worker].needed = kind->needed;
		scene->workers.at[worker].since_ms -=
			(int64_t)support_random_below(&state, 3600 * SECOND);
	}
	ARRAY_EACH(struct share_queue, queue, scene->queues.at, scene->queues.count)
		queue->drain_after_ms = kind->drains ? 600 * SECOND : SHARE_NEVER;
	scene_finish(scene);
}

static double best_ms(const struct kind *kind, size_t part, size_t queues, size_t counts[3])
{
	struct arena arena = ARENA_INIT;
	struct scene scene;
	double best = INFINITY;

	make(&scene, kind, part, queues);
	for (int run = 0; run < RUNS; run++) {
		double start = bench_usage_ms(), took;

		arena_reset(&arena);
		scene.result = share(&scene.pool, 1, &arena);
		took = bench_usage_ms() - start;
		best = took < best ? took : best;
	}
	counts[0] = counts[1] = 0;
	for (size_t i = 0; i < scene.units.count; i++) {
		counts[0] += scene.result->units[i] == SHARE_GRANTED;
		counts[1] += scene.result->units[i] == SHARE_COMING;
	}
	counts[2] = scene.workers.count - scene_ends(&scene, SHARE_STAY);
	scene_done(&scene);
	arena_done(&arena);
	return best;
}

/* ---- RayClusters ---- */

static const struct quantity one_gpu[] = { { "nvidia.com/gpu", "1", true, RESOURCE_UNIT } };
static const struct quantity eight_gpus[] = { { "nvidia.com/gpu", "8", true, 8 * RESOURCE_UNIT } };
static const struct container one_container = { .name = "ray",
						.image = "",
						.limits = { one_gpu, 1 } };
static const struct pod_spec one_spec = { .containers = &one_container,
					  .container_count = 1,
					  .node_name = "" };

enum fleet_work {
	FLEET_AMOUNTS,
	FLEET_PLACES,
	FLEET_RECOUNT,
	FLEET_MEMBERS,
	FLEET_TEMPLATES,
	FLEET_LARGE,
	FLEET_WORKS
};

struct fleet {
	struct arena arena;
	struct pool_input input;
	struct gpu_pool pool;
	const struct gpu_pool *pools[1];
	int64_t capacity;
	const char *held[1];
	struct pod *pods;
	size_t pod_count;
	struct pool_room free;
	struct pool_room_input nodes;
	const struct pool_groups *kept; /* NULL: not made yet */
};

static void count_nodes(struct fleet *fleet)
{
	pool_room_make(&fleet->free, &fleet->nodes);
	for (size_t i = 0; i < fleet->pod_count; i++)
		pool_room_count(&fleet->free, &fleet->pods[i], 1);
}

static void add_nodes(struct fleet *fleet, size_t workers, const struct settings *settings)
{
	static const struct label labels[] = { { LABEL_CLUSTER, "demo" } };
	struct node *nodes = arena_array(&fleet->arena, workers / 8, sizeof(*nodes));
	struct pod *all = arena_array(&fleet->arena, workers, sizeof(*all));

	for (size_t i = 0; i < workers / 8; i++)
		nodes[i] = (struct node){ .name = arena_printf(&fleet->arena, "node-%04zu", i),
					  .resource_version = "",
					  .allocatable = { eight_gpus, 1 },
					  .capacity = { eight_gpus, 1 } };
	for (size_t i = 0; i < workers; i++) {
		all[i] = (struct pod){ .namespace_ = "",
				       .name = arena_printf(&fleet->arena, "worker-%zu", i),
				       .phase = "Running",
				       .labels = { labels, 1 },
				       .spec = one_spec };
		all[i].spec.node_name = nodes[i / 8].name;
	}
	fleet->pods = all;
	fleet->pod_count = workers;
	fleet->nodes = (struct pool_room_input){ .pools = fleet->pools,
						 .pool_count = 1,
						 .nodes = nodes,
						 .node_count = workers / 8,
						 .settings = settings,
						 .devices = device_table_builtin() };
	count_nodes(fleet);
}

static void add_queues(struct fleet *fleet, size_t queues, size_t clusters)
{
	struct gpu_pool_queue *list = arena_array(&fleet->arena, queues, sizeof(*list));

	for (size_t q = 0; q < queues; q++) {
		struct label *label = ARENA_NEW(&fleet->arena, struct label);

		*label = (struct label){ "team", arena_printf(&fleet->arena, "team-%02zu", q) };
		list[q] = (struct gpu_pool_queue){
			.name = label->value,
			.namespaces = { .match_labels = { label, 1 } },
			.guaranteed = (int64_t)(clusters * 5 / queues) * GPU,
			.weight = 1 + (int64_t)q % 4,
		};
	}
	fleet->pool.queues = list;
	fleet->pool.queue_count = queues;
}

/* One RayCluster with ten workers and an ask of ten more; the first half hold all. */
static void add_member(struct fleet *fleet, size_t index, size_t clusters,
		       struct labels *ret_labels, struct pool_member *member,
		       struct pool_asks *asks)
{
	size_t queue = index % fleet->pool.queue_count, workers = index % 10 ? 10 : 11;

	*member = (struct pool_member){
		.namespace_ = "",
		.key = arena_printf(&fleet->arena, "/cluster-%04zu", index),
		.groups = ARENA_NEW(&fleet->arena, struct pool_group),
		.group_count = 1,
	};
	member->groups[0] = (struct pool_group){
		.name = "gpu", .replica_gpus = GPU, .spec = &one_spec, .shape = "", .hosts = 1
	};
	for (size_t w = 0; w < workers && index * 10 + w < clusters * 10; w++) {
		struct pool_worker *worker = VEC_ADD(&fleet->arena, &member->workers);

		*worker = (struct pool_worker){ .gpus = GPU,
						.state = w % 2 ? SHARE_IDLE : SHARE_BUSY,
						.since = SCENE_NOW - 60 * SECOND };
		VEC_PUSH(&fleet->arena, &worker->pods,
			 ((struct pool_pod){ .pod = &fleet->pods[index * 10 + w % 10] }));
		worker->pods.at[0].name = worker->pods.at[0].pod->name;
	}
	VEC_PUSH(&fleet->arena, &asks->list,
		 ((struct pool_waiting){ .parts = ARENA_NEW(&fleet->arena, struct pool_ask_part),
					 .part_count = 1,
					 .groups = "gpu*1",
					 .count = 10,
					 .since = SCENE_NOW - (int64_t)(index % 200) * SECOND,
					 .granted_since = TIME_NONE }));
	asks->list.at[0].parts[0] = (struct pool_ask_part){ .replicas = index % 20 ? 1 : 8 };
	*ret_labels = fleet->pool.queues[queue].namespaces.match_labels;
}

static void make_fleet(struct fleet *fleet, size_t part, bool places)
{
	size_t clusters = 1000 / part;
	const struct pool_member **members =
		arena_array(&fleet->arena, clusters, sizeof(struct pool_member *));
	const struct pool_asks **asks =
		arena_array(&fleet->arena, clusters, sizeof(struct pool_asks *));
	struct labels *labels = arena_array(&fleet->arena, clusters, sizeof(*labels));
	static struct settings settings;

	settings_init(&settings);
	fleet->pool = (struct gpu_pool){ .name = "pool",
					 .uid = "",
					 .resource_version = "",
					 .groups = { .accelerator_type = "", .resource_name = "" },
					 .idle_after_seconds = 5,
					 .busy_after_seconds = GPU_POOL_NEVER,
					 .reserve_after_seconds = 120 };
	fleet->pools[0] = &fleet->pool;
	add_nodes(fleet, clusters * 10, &settings);
	add_queues(fleet, 50, clusters);
	for (size_t i = 0; i < clusters; i++) {
		struct pool_member *member = ARENA_NEW(&fleet->arena, struct pool_member);
		struct pool_asks *own = ARENA_NEW(&fleet->arena, struct pool_asks);

		add_member(fleet, i, clusters, &labels[i], member, own);
		pool_member_locate(member, &fleet->free);
		members[i] = member;
		asks[i] = own;
	}
	fleet->capacity = (int64_t)clusters * 10 * GPU;
	fleet->input = (struct pool_input){ .pools = fleet->pools,
					    .capacities = &fleet->capacity,
					    .stopped = fleet->held,
					    .pool_count = 1,
					    .members = members,
					    .asks = asks,
					    .member_count = clusters,
					    .namespace_labels = labels,
					    .free = places ? &fleet->free : NULL,
					    .devices = device_table_builtin(),
					    .now = SCENE_NOW };
}

/* RayClusters of so many groups each. Those of FLEET_LARGE are made in the first run alone. */
static void make_members(struct fleet *fleet, enum fleet_work work, size_t clusters, size_t groups,
			 const char *resources, struct arena *arena)
{
	struct label params[] = { { "resources", resources } };
	struct worker_group *list = arena_array(arena, groups, sizeof(*list));
	const struct pod **pods = arena_array(arena, fleet->pod_count, sizeof(*pods));
	struct ray_cluster cluster = {
		.namespace_ = "", .name = "demo", .uid = "u", .groups = list, .group_count = groups
	};

	for (size_t g = 0; g < groups; g++)
		list[g] = (struct worker_group){ .name = arena_printf(arena, "gpu-%zu", g),
						 .replicas = 10,
						 .ray_start_params = { params, 1 },
						 .template = { .spec = one_spec } };
	for (size_t i = 0; i < fleet->pod_count; i++)
		pods[i] = &fleet->pods[i];
	for (size_t i = 0; i < clusters; i++) {
		struct pool_member_input input = { .namespace_ = "",
						   .key = "/demo",
						   .cluster = &cluster,
						   .pods = &pods[i * 10],
						   .pod_count = 10,
						   .pools = fleet->pools,
						   .pool_count = 1,
						   .settings = fleet->nodes.settings,
						   .devices = fleet->nodes.devices,
						   .free = &fleet->free };

		input.groups = fleet->kept;
		if (!input.groups)
			input.groups = pool_groups_make(
				&input, work == FLEET_LARGE ? &fleet->arena : arena);
		if (work == FLEET_LARGE)
			fleet->kept = input.groups;
		if (work != FLEET_TEMPLATES)
			(void)pool_member_make(&input, arena);
	}
}

/* {"r000": 1, "r001": 1, ...} of 1 KiB. */
static const char *long_resources(struct arena *arena)
{
	struct buf text = BUF_INIT(2048);
	const char *copy;

	for (int i = 0; i < 100; i++)
		(void)buf_printf(&text, "%s\"r%03d\": 1", i ? ", " : "{", i);
	(void)buf_add_string(&text, "}");
	copy = arena_strdup(arena, buf_string(&text));
	buf_done(&text);
	return copy;
}

static const char *const fleet_names[FLEET_WORKS] = { "amounts", "places",    "recount",
						      "members", "templates", "large" };

static double fleet_ms(size_t part, enum fleet_work work)
{
	struct fleet fleet = { .arena = ARENA_INIT };
	struct arena arena = ARENA_INIT;
	double best = INFINITY;

	make_fleet(&fleet, part, work == FLEET_PLACES);
	for (int run = 0; run < RUNS; run++) {
		double start = bench_usage_ms(), took;

		arena_reset(&arena);
		if (work == FLEET_RECOUNT)
			count_nodes(&fleet);
		else if (work == FLEET_MEMBERS)
			make_members(&fleet, work, 1000 / part, 1, "{}", &arena);
		else if (work == FLEET_TEMPLATES || work == FLEET_LARGE)
			make_members(&fleet, work, 1, 1000 / part, long_resources(&arena), &arena);
		else
			(void)pool_allocate(&fleet.input, &arena);
		took = bench_usage_ms() - start;
		best = took < best ? took : best;
	}
	arena_done(&arena);
	arena_done(&fleet.arena);
	pool_room_done(&fleet.free);
	return best;
}

static void measure_fleets(void)
{
	for (enum fleet_work work = 0; work < FLEET_WORKS; work++) {
		double small = fleet_ms(10, work), large = fleet_ms(1, work);

		printf("%-9s %6.2f ms; a tenth %5.2f ms, n^%.2f\n", fleet_names[work], large, small,
		       log10(large / small));
	}
}

int main(int argc, char **argv)
{
	bool failed = false;

	for (size_t i = 0; i < SUPPORT_COUNT(KINDS); i++) {
		size_t counts[3];
		double same, fewer, large;

		if (argc > 1 && strcmp(argv[1], KINDS[i].name) != 0)
			continue;
		same = best_ms(&KINDS[i], 10, 50, counts);
		fewer = best_ms(&KINDS[i], 10, 5, counts);
		large = best_ms(&KINDS[i], 1, 50, counts);
		printf("%-9s %6.2f ms; a tenth %5.2f ms, n^%.2f; in 5 queues %5.2f ms, n^%.2f; "
		       "%zu granted, %zu coming, %zu end\n",
		       KINDS[i].name, large, same, log10(large / same), fewer, log10(large / fewer),
		       counts[0], counts[1], counts[2]);
		failed |= large > AIM_MS;
	}
	if (argc == 1 || strcmp(argv[1], "fleets") == 0)
		measure_fleets();
	return failed;
}
