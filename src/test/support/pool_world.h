/* A model of RayClusters, Pods and Nodes around the pools, for the laws of feature/pools: random demand, launches
 * of what is granted, work that begins and ends, clusters that stop being scaled, Nodes that stop being
 * schedulable. It makes the inputs of pool_allocate as the controller does, and keeps its results. */
#ifndef TEST_SUPPORT_POOL_WORLD_H
#define TEST_SUPPORT_POOL_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "feature/pools/core/pool_allocation.h"
#include "feature/pools/core/pool_table.h"
#include "test/support/support.h"

#define GPUS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define POOLS 2
#define TEAMS 3
#define NAMESPACES 4
#define CLUSTERS 6
#define GROUPS 3 /* single and slice in pool a, single in pool b */
#define NODES 6
#define PODS 64
#define ASKS 6
#define HOSTS 2 /* of a slice */
#define SECOND INT64_C(1000)
#define START INT64_C(1800000000000)
#define BUSY_AFTER 30

enum pod_state { ABSENT = 0, POD_STARTING, POD_BUSY, POD_IDLE, POD_LEAVING };

struct model_pod {
	enum pod_state state;
	size_t cluster, group, replica; /* replica: a number of its own */
	bool needed, requested;         /* of an idle one: request_resources holds it */
	time_ms since, ends;            /* ends: of the work of a busy one */
	struct pod pod;
	struct label labels[4];
	char name[16], replica_name[16];
};

/* A unit that a cluster wants. */
struct model_ask {
	struct pool_ask_part parts[GROUPS];
	size_t part_count;
	int64_t count;
	bool gang, requested;
};

struct model_cluster {
	size_t space; /* its namespace */
	char name[4], key[8];
	struct worker_group groups[GROUPS];
	struct ray_cluster cluster;
	struct pod_owner owner;
	bool scaled;
	time_ms silent_since; /* Ray does not answer; 0: it does */
	struct model_ask asks[ASKS];
	size_t ask_count;
	int64_t requested[GROUPS]; /* replicas whose Pods do not exist yet */
	const struct pool_asks *kept;
	const struct pool_drains *drains;
};

static struct world {
	struct arena arenas[2]; /* of the last allocation, and of the one before */
	size_t arena;
	size_t pool_count;
	bool nodes_known;
	struct gpu_pool pools[POOLS];
	struct gpu_pool_queue queues[POOLS][TEAMS];
	struct label pool_labels[POOLS], team_labels[POOLS][TEAMS];
	const struct gpu_pool *list[POOLS];
	int64_t capacities[POOLS];
	struct pool_past pasts[POOLS];
	struct label space_labels[NAMESPACES];
	size_t space_teams[NAMESPACES]; /* TEAMS: none */
	struct container containers[POOLS];
	struct model_cluster clusters[CLUSTERS];
	struct node nodes[NODES];
	size_t node_pools[NODES];
	char node_names[NODES][4];
	int64_t node_gpus[NODES];
	struct quantity node_amounts[NODES];
	size_t node_count;
	struct model_pod pods[PODS];
	size_t next_replica;
	struct settings settings;
	struct pool_room free;
	const struct pool_member *members[CLUSTERS];
	const struct pool_asks *asks[CLUSTERS]; /* of the last allocation */
	const struct pool_allocation *last;
	time_ms now;
} world;

static uint64_t state;

static size_t below(size_t limit)
{
	return support_random_below(&state, limit);
}

static bool often(size_t percent)
{
	return below(100) < percent;
}

static size_t pool_of_group(size_t group)
{
	return group == 2 ? 1 : 0;
}

static int64_t hosts_of_group(size_t group)
{
	return group == 1 ? HOSTS : 1;
}

/* ---- making a world ---- */

static void make_pool(size_t p)
{
	static const char *const names[] = { "a", "b" }, *const teams[] = { "x", "y", "z" },
				 *const queues[] = { "q0", "q1", "q2" };
	struct gpu_pool *pool = &world.pools[p];
	size_t shift = below(TEAMS);
	int64_t left = world.capacities[p] / RESOURCE_UNIT;

	world.pool_labels[p] = (struct label){ "pool", names[p] };
	*pool = (struct gpu_pool){
		.name = names[p],
		.uid = "",
		.resource_version = "",
		.groups = { "", "", { &world.pool_labels[p], 1 } },
		.has_gpus = true,
		.gpus = world.capacities[p],
		.queues = world.queues[p],
		.queue_count = TEAMS,
		.idle_after_seconds = 5,
		.busy_after_seconds = often(70) ? GPU_POOL_NEVER : BUSY_AFTER,
		.reserve_after_seconds = often(20) ? GPU_POOL_NEVER : 120,
		.reserve_at_most_seconds = 600,
	};
	for (size_t q = 0; q < TEAMS; q++) {
		int64_t guaranteed = often(40) ? 0 : (int64_t)below((size_t)left + 1);

		left -= guaranteed;
		world.team_labels[p][q] = (struct label){ "team", teams[(q + shift) % TEAMS] };
		world.queues[p][q] = (struct gpu_pool_queue){
			.name = queues[q],
			.namespaces = { .match_labels = { &world.team_labels[p][q], 1 } },
			.guaranteed = GPUS(guaranteed),
			.has_maximum = often(25),
			.maximum = GPUS(guaranteed + 1 + (int64_t)below(4)),
			.has_lendable = often(25),
			.lendable = GPUS(below((size_t)guaranteed + 1)),
			.weight = 1 + (int64_t)below(2),
			.priority = often(50) ? 0 : (int64_t)below(3),
		};
	}
	world.list[p] = pool;
}

static void make_nodes(size_t p)
{
	static const struct condition ready = { .type = "Ready", .status = "True" };

	for (size_t i = 0; i < NODES / POOLS; i++) {
		size_t n = world.node_count++;

		world.node_gpus[n] = 1 + (int64_t)below(3);
		world.node_pools[n] = p;
		world.node_names[n][0] = 'n';
		world.node_names[n][1] = (char)('0' + n);
		world.node_amounts[n] =
			(struct quantity){ "nvidia.com/gpu", "", true, GPUS(world.node_gpus[n]) };
		world.nodes[n] = (struct node){ .name = world.node_names[n],
						.resource_version = "",
						.address = "",
						.labels = { &world.pool_labels[p], 1 },
						.capacity = { &world.node_amounts[n], 1 },
						.allocatable = { &world.node_amounts[n], 1 },
						.conditions = &ready,
						.condition_count = 1 };
		world.capacities[p] += GPUS(world.node_gpus[n]);
	}
}

static void make_group(struct model_cluster *own, size_t group)
{
	static const char *const names[GROUPS] = { "one", "slice", "other" };
	size_t p = pool_of_group(group);

	own->groups[group] = (struct worker_group){
		.name = names[group],
		.has_replicas = true,
		.max_replicas = 100,
		.num_of_hosts = hosts_of_group(group),
		.template = { .spec = { .containers = &world.containers[p],
					.container_count = 1,
					.node_selector = { &world.pool_labels[p], 1 },
					.node_name = "" } },
		.scale_gate = "",
	};
}

static void make_cluster(size_t c)
{
	static const char *const spaces[NAMESPACES] = { "k", "l", "m", "n" };
	static struct container head = { .name = "head", .image = "" };
	struct model_cluster *own = &world.clusters[c];

	*own = (struct model_cluster){ .space = c * NAMESPACES / CLUSTERS,
				       .scaled = true,
				       .kept = &pool_asks_unknown };
	own->name[0] = (char)('0' + c);
	own->key[0] = spaces[own->space][0];
	own->key[1] = '/';
	own->key[2] = own->name[0];
	own->owner = (struct pod_owner){ "ray.io/v1", "RayCluster", own->name, "" };
	for (size_t g = 0; g < GROUPS; g++)
		make_group(own, g);
	own->cluster = (struct ray_cluster){
		.namespace_ = spaces[own->space],
		.name = own->name,
		.uid = "",
		.ray_version = "",
		.managed_by = "",
		.enable_in_tree_autoscaling = true,
		.head_template = { .spec = { .containers = &head,
					     .container_count = 1,
					     .node_name = "" } },
		.groups = own->groups,
		.group_count = GROUPS,
	};
}

static void world_begin(uint64_t seed, size_t pools)
{
	static const char *const teams[] = { "x", "y", "z", "none" };
	static const struct quantity gpu[] = { { "nvidia.com/gpu", "1", true, GPUS(1) } };

	state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
	support_random(&state);
	world = (struct world){ .now = START, .pool_count = pools, .nodes_known = often(50) };
	settings_init(&world.settings);
	for (size_t p = 0; p < POOLS; p++) {
		world.containers[p] =
			(struct container){ .name = "ray", .image = "", .limits = { gpu, 1 } };
		if (world.nodes_known && p < pools)
			make_nodes(p);
		else
			world.capacities[p] = GPUS(3 + below(6));
		make_pool(p);
	}
	for (size_t s = 0; s < NAMESPACES; s++) {
		world.space_teams[s] = below(TEAMS + 1);
		world.space_labels[s] = (struct label){ "team", teams[world.space_teams[s]] };
	}
	for (size_t c = 0; c < CLUSTERS; c++)
		make_cluster(c);
}

static void world_end(void)
{
	pool_room_done(&world.free);
	arena_done(&world.arenas[0]);
	arena_done(&world.arenas[1]);
}

/* ---- Pods ---- */

static int64_t gpus_on(size_t node)
{
	int64_t sum = 0;

	for (size_t i = 0; i < PODS; i++)
		sum += world.pods[i].state != ABSENT &&
		       world.pods[i].pod.spec.node_name == world.nodes[node].name;
	return sum;
}

/* The scheduler: the first Node with room. */
static void bind(struct model_pod *pod)
{
	for (size_t n = 0; n < world.node_count; n++)
		if (!world.nodes[n].unschedulable &&
		    world.node_pools[n] == pool_of_group(pod->group) &&
		    gpus_on(n) < world.node_gpus[n]) {
			pod->pod.spec.node_name = world.nodes[n].name;
			return;
		}
}

static void bind_all(void)
{
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT && world.pods[i].pod.spec.node_name[0] == '\0')
			bind(&world.pods[i]);
}

static struct model_pod *free_pod(void)
{
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state == ABSENT)
			return &world.pods[i];
	fail_msg("the model needs more Pods");
	return NULL;
}

static void create_pod(size_t cluster, size_t group, size_t replica, size_t host)
{
	struct model_cluster *own = &world.clusters[cluster];
	struct model_pod *pod = free_pod();

	*pod = (struct model_pod){ .state = POD_STARTING,
				   .cluster = cluster,
				   .group = group,
				   .replica = replica,
				   .since = world.now };
	snprintf(pod->name, sizeof(pod->name), "w%zu-%zu", replica, host);
	snprintf(pod->replica_name, sizeof(pod->replica_name), "r%zu", replica);
	pod->labels[0] = (struct label){ LABEL_CLUSTER, own->name };
	pod->labels[1] = (struct label){ LABEL_GROUP, own->groups[group].name };
	pod->labels[2] = (struct label){ LABEL_NODE_TYPE, "worker" };
	pod->labels[3] = (struct label){ LABEL_REPLICA_NAME, pod->replica_name };
	pod->pod = (struct pod){ .namespace_ = own->cluster.namespace_,
				 .name = pod->name,
				 .labels = { pod->labels, 4 },
				 .phase = "Running",
				 .owner = &own->owner,
				 .spec = own->groups[group].template.spec };
	pod->pod.spec.node_name = "";
	bind(pod);
}

/* The operator creates what is requested. */
static void create_requested(size_t cluster)
{
	for (size_t g = 0; g < GROUPS; g++)
		for (; world.clusters[cluster].requested[g] > 0;
		     world.clusters[cluster].requested[g]--) {
			for (size_t h = 0; h < (size_t)hosts_of_group(g); h++)
				create_pod(cluster, g, world.next_replica, h);
			world.next_replica++;
		}
}

static void set_state(struct model_pod *pod, enum pod_state to)
{
	pod->state = to;
	pod->since = world.now;
	pod->needed = to == POD_IDLE && often(30);
	pod->requested = pod->needed && often(50);
	pod->pod.deleting = to == POD_LEAVING;
}

/* All hosts of its replica leave. */
static void leave_replica(const struct model_pod *pod)
{
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT && world.pods[i].replica == pod->replica)
			set_state(&world.pods[i], POD_LEAVING);
}

static struct model_pod *find_pod(size_t cluster, const char *name)
{
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT && world.pods[i].cluster == cluster &&
		    strcmp(world.pods[i].name, name) == 0)
			return &world.pods[i];
	return NULL;
}

/* ---- demand ---- */

static void add_ask(struct model_cluster *own, struct model_ask ask)
{
	if (own->ask_count < ASKS)
		own->asks[own->ask_count++] = ask;
}

static void add_demand(struct model_cluster *own)
{
	struct model_ask ask = { .count = 1 };
	size_t kind = below(world.pool_count > 1 ? 5 : 3);

	if (kind == 0 || kind == 3) {
		ask.parts[0] = (struct pool_ask_part){ kind == 0 ? 0 : 2, 1 };
		ask.count = 1 + (int64_t)below(3);
	} else if (kind == 1) {
		ask.parts[0] = (struct pool_ask_part){ 1, 1 };
	} else {
		ask.parts[0] = (struct pool_ask_part){ 0, 2 + (int64_t)below(4) };
		ask.gang = true;
	}
	ask.part_count = 1;
	ask.requested = !ask.gang && often(30);
	if (kind == 4)
		ask.parts[ask.part_count++] = (struct pool_ask_part){ 2, 1 + (int64_t)below(4) };
	add_ask(own, ask);
}

static void drop_ask(struct model_cluster *own, size_t index)
{
	for (size_t i = index + 1; i < own->ask_count; i++)
		own->asks[i - 1] = own->asks[i];
	own->ask_count--;
}

/* A unit of an entry of the last allocation is launched; the demand for it ends. */
static void launch(size_t cluster, const struct pool_waiting *entry, struct arena *arena)
{
	struct model_cluster *own = &world.clusters[cluster];
	int64_t launched[GROUPS] = { 0 };

	for (size_t p = 0; p < entry->part_count; p++) {
		launched[entry->parts[p].group] += entry->parts[p].replicas;
		own->requested[entry->parts[p].group] += entry->parts[p].replicas;
	}
	own->kept = pool_asks_launched(own->kept, launched, GROUPS, arena);
	for (size_t i = 0; i < own->ask_count; i++) {
		struct model_ask *ask = &own->asks[i];

		if (ask->part_count != entry->part_count ||
		    memcmp(ask->parts, entry->parts, ask->part_count * sizeof(*ask->parts)) != 0)
			continue;
		if (--ask->count == 0)
			drop_ask(own, i);
		return;
	}
}

/* ---- an allocation ---- */

static int by_pod(const void *left, const void *right)
{
	const struct pool_report_worker *a = left, *b = right;

	return (a->pod > b->pod) - (a->pod < b->pod);
}

static const struct pool_report *report_of(size_t cluster, struct arena *arena)
{
	static const enum share_state states[] = {
		[POD_BUSY] = SHARE_BUSY, [POD_IDLE] = SHARE_IDLE, [POD_LEAVING] = SHARE_LEAVING
	};
	struct pool_report *report = ARENA_NEW(arena, struct pool_report);

	report->workers = arena_array(arena, PODS, sizeof(*report->workers));
	for (size_t i = 0; i < PODS; i++) {
		const struct model_pod *pod = &world.pods[i];

		if (pod->state <= POD_STARTING || pod->cluster != cluster)
			continue;
		report->workers[report->worker_count++] =
			(struct pool_report_worker){ hash_text(pod->name), states[pod->state],
						     pod->needed, pod->requested, pod->since };
	}
	qsort(report->workers, report->worker_count, sizeof(*report->workers), by_pod);
	report->group_count = GROUPS;
	report->min_replicas = arena_array(arena, GROUPS, sizeof(int64_t));
	return report;
}

static const struct pool_member *member_of(size_t cluster, struct arena *arena)
{
	struct model_cluster *own = &world.clusters[cluster];
	const struct pod **pods = arena_array(arena, PODS, sizeof(*pods));
	int64_t replicas[GROUPS];
	size_t count = 0, hosts[GROUPS] = { 0 };
	struct pool_member_input input;

	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT && world.pods[i].cluster == cluster) {
			pods[count++] = &world.pods[i].pod;
			hosts[world.pods[i].group] += world.pods[i].state != POD_LEAVING;
		}
	for (size_t g = 0; g < GROUPS; g++)
		replicas[g] = (int64_t)hosts[g] / hosts_of_group(g) + own->requested[g];
	input = (struct pool_member_input){ .namespace_ = own->cluster.namespace_,
					    .key = own->key,
					    .cluster = &own->cluster,
					    .pods = pods,
					    .pod_count = count,
					    .replicas = replicas,
					    .report = report_of(cluster, arena),
					    .drains = own->drains,
					    .pools = world.list,
					    .pool_count = world.pool_count,
					    .settings = &world.settings,
					    .devices = device_table_builtin() };
	input.groups = pool_groups_make(&input, arena);
	return pool_member_make(&input, arena);
}

static const struct pool_asks *asks_of(struct model_cluster *own, struct arena *arena)
{
	struct pool_ask *list = arena_array(arena, ASKS, sizeof(*list));
	struct pool_asks *unconfirmed = ARENA_NEW(arena, struct pool_asks);

	if (!own->scaled)
		return &pool_asks_unknown;
	if (own->silent_since > 0) {
		*unconfirmed = pool_asks_unconfirmed(own->kept, world.now);
		return unconfirmed;
	}
	for (size_t i = 0; i < own->ask_count; i++)
		list[i] = (struct pool_ask){
			.parts = { .at = own->asks[i].parts, .count = own->asks[i].part_count },
			.count = own->asks[i].count,
			.gang = own->asks[i].gang,
			.requested = own->asks[i].requested,
		};
	return pool_asks_update(own->kept, list, own->ask_count, &own->cluster, world.now, arena);
}

static void count_nodes(void)
{
	pool_room_make(&world.free, &(struct pool_room_input){ .pools = world.list,
							       .pool_count = world.pool_count,
							       .nodes = world.nodes,
							       .node_count = world.node_count,
							       .settings = &world.settings,
							       .devices = device_table_builtin() });
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT)
			pool_room_count(&world.free, &world.pods[i].pod, 1);
}

static struct arena *world_arena(void)
{
	return &world.arenas[world.arena];
}

static void share_pools(void)
{
	struct arena *arena = world_arena();
	struct labels *labels = arena_array(arena, CLUSTERS, sizeof(*labels));

	for (size_t c = 0; c < CLUSTERS; c++) {
		world.members[c] = member_of(c, arena);
		world.asks[c] = asks_of(&world.clusters[c], arena);
		labels[c] = (struct labels){ &world.space_labels[world.clusters[c].space], 1 };
		if (world.nodes_known)
			pool_member_locate((struct pool_member *)world.members[c], &world.free);
	}
	world.last = pool_allocate(
		&(struct pool_input){ .pools = world.list,
				      .capacities = world.capacities,
				      .stopped = arena_array(arena, POOLS, sizeof(char *)),
				      .pool_count = world.pool_count,
				      .per_namespace = RESOURCE_AMOUNT_MAX,
				      .members = world.members,
				      .asks = world.asks,
				      .member_count = CLUSTERS,
				      .namespace_labels = labels,
				      .free = world.nodes_known ? &world.free : NULL,
				      .devices = device_table_builtin(),
				      .pasts = world.pasts,
				      .now = world.now },
		arena);
}

/* Copies the kept values, so that the memory of the allocation before the last may end. */
static void world_allocate(void)
{
	bind_all();
	world.arena = 1 - world.arena;
	arena_reset(world_arena());
	for (size_t c = 0; c < CLUSTERS; c++) {
		struct model_cluster *own = &world.clusters[c];

		own->kept = FIELD_COPY(pool_asks_fields, own->kept, world_arena());
		if (own->drains)
			own->drains = FIELD_COPY(pool_drains_fields, own->drains, world_arena());
	}
	if (world.nodes_known)
		count_nodes();
	share_pools();
}

/* As the controller does, after the laws have seen the allocation. */
static void world_take_over(void)
{
	memcpy(world.pasts, world.last->pasts, world.pool_count * sizeof(*world.pasts));
	for (size_t c = 0; c < CLUSTERS; c++) {
		world.clusters[c].kept = pool_asks_granted(world.last, c, world_arena());
		world.clusters[c].drains = pool_drains_make(world.last, c, world_arena());
	}
}

#endif
