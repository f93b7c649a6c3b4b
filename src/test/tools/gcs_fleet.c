/* gcs_fleet CLUSTERS PODS RECORDED: an API server with that many RayClusters of that many Pods, and
 * a Ray head for each, in one process; for e2e/bench_fleet.py. Prints "ready PORT". Beside the API:
 *   GET /fleet/figures            the counters since the last reset
 *   GET /fleet/reset              resets the counters
 *   GET /fleet/totals             the requests of each kind since the start
 *   GET /fleet/change?rate=12.5   so many clusters per second have demand for one more worker,
 *                                 which comes 0.5 s after the patch
 *   GET /fleet/autoscalers        from now on RayClusterAutoscalers are served
 *   GET /fleet/pools              likewise GPUPools
 *   PUT, DELETE /fleet/object/KIND/NAMESPACE/NAME   objects of others (fleet_guests.h) */
#include "test/fleet/fleet_api.h"
#include "test/fleet/fleet_gcs.h"

#define TICK_MS 10
#define POD_START_US 500000

static struct fleet fleet;
static struct loop_timer *tick;

static void demand_next(int64_t now_us)
{
	for (unsigned tries = 0; tries < fleet.count; tries++) {
		unsigned index = fleet.next;
		struct fleet_cluster *cluster = &fleet.clusters[index];

		fleet.next = (fleet.next + fleet.stride) % fleet.count;
		if (cluster->demand_us || cluster->pods >= FLEET_PODS_MAX - 1)
			continue;
		cluster->demand_us = now_us;
		fleet_forget_replies(cluster);
		fleet.active[fleet.active_count++] = index;
		fleet.demands++;
		return;
	}
}

/* The operator's and the kubelet's next step for a patched cluster; true: there is nothing left. */
static bool step(unsigned index, int64_t now_us)
{
	struct fleet_cluster *cluster = &fleet.clusters[index];

	if (!cluster->due_us || cluster->due_us > now_us)
		return false;
	if (fleet_worker_of(cluster) < cluster->replicas) {
		cluster->pods++;
		api_pod_changed(index, cluster->pods - 1, "ADDED");
		api_cluster_changed(index, false);
		cluster->due_us = now_us + POD_START_US;
		return false;
	}
	while (cluster->running < cluster->pods) {
		cluster->running++;
		api_pod_changed(index, cluster->running - 1, "MODIFIED");
	}
	api_cluster_changed(index, false);
	cluster->demand_us = cluster->due_us = 0;
	fleet_forget_replies(cluster);
	return true;
}

static void on_tick(void *context)
{
	int64_t now_us = loop_precise_us();

	(void)context;
	loop_timer_start(tick, TICK_MS);
	for (size_t i = 0; i < fleet.active_count;)
		if (step(fleet.active[i], now_us))
			fleet.active[i] = fleet.active[--fleet.active_count];
		else
			i++;
	fleet.credit += fleet.changes_per_second * (double)(now_us - fleet.credited_us) / 1e6;
	fleet.credited_us = now_us;
	for (; fleet.credit >= 1; fleet.credit -= 1)
		demand_next(now_us);
	api_end_watches();
}

static void on_request(const struct http_request *request)
{
	struct buf body;

	if (!strncmp(request->target, "/fleet/object/", 14)) {
		api_put_guest(request);
		return;
	}
	if (strncmp(request->target, "/fleet/", 7) != 0) {
		api_handle(request);
		return;
	}
	buf_init(&body, 100000);
	if (strstr(request->target, "/totals"))
		fleet_totals(&fleet, &body);
	else
		fleet_figures(&fleet, &body);
	if (strstr(request->target, "/reset"))
		fleet_reset(&fleet);
	if (strstr(request->target, "/pools"))
		fleet.pools = true;
	if (strstr(request->target, "/autoscalers"))
		fleet.autoscalers = true;
	if (strstr(request->target, "rate="))
		fleet.changes_per_second = strtod(strstr(request->target, "rate=") + 5, NULL);
	http_answer_buf(request->peer, 200, &body);
	buf_done(&body);
}

static void make_fleet(unsigned count, unsigned pods)
{
	fleet.version = GUEST_VERSION_FIRST;
	fleet.count = count;
	fleet.pods = pods;
	fleet.stride = count > 7919 ? 7919 : 1;
	fleet.clusters = calloc(count, sizeof(*fleet.clusters));
	fleet.active = calloc(count, sizeof(*fleet.active));
	fleet.latencies_us = calloc(FLEET_LATENCIES_MAX, sizeof(*fleet.latencies_us));
	if (!fleet.clusters || !fleet.active || !fleet.latencies_us)
		abort();
	for (unsigned i = 0; i < count; i++) {
		struct fleet_cluster *cluster = &fleet.clusters[i];

		cluster->pods = cluster->running = pods;
		cluster->replicas = pods - 1;
		cluster->generation = 1;
		cluster->version = ++fleet.version;
		for (unsigned pod = 0; pod < pods; pod++)
			cluster->pod_versions[pod] = ++fleet.version;
	}
	api.oldest = fleet.version;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long pods = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (count < 1 || count > 1000000 || pods < 1 || pods > FLEET_PODS_MAX / 2) {
		fprintf(stderr, "usage: gcs_fleet CLUSTERS PODS RECORDED (up to %d Pods)\n",
			FLEET_PODS_MAX / 2);
		return 2;
	}
	fleet.loop = loop_new();
	fleet.start_ms = loop_boot_ms();
	make_fleet((unsigned)count, (unsigned)pods);
	fleet_gcs_start(&fleet, argv[3]);
	api.fleet = &fleet;
	http.handle = on_request;
	http.closed = api_unwatch;
	printf("ready %d\n", http_start(fleet.loop));
	(void)fflush(stdout);
	fleet_reset(&fleet);
	fleet.credited_us = loop_precise_us();
	tick = loop_timer_new(fleet.loop, on_tick, NULL);
	loop_timer_start(tick, TICK_MS);
	loop_run(fleet.loop);
	return 0;
}
