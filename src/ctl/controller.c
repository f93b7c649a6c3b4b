#include "ctl/controller.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"
#include "ctl/cluster.h"
#include "ctl/endpoints.h"
#include "ctl/features.h"
#include "ctl/pass/gpu_share.h"
#include "ctl/queue/scan_pace.h"
#include "ctl/queue/work_queue.h"
#include "ctl/report/event_recorder.h"
#include "ctl/report/metrics.h"
#include "ctl/report/registration.h"
#include "ctl/report/status.h"
#include "ctl/report/trouble.h"
#include "ctl/shared/control.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/memory_trim.h"
#include "ctl/shared/time_zones.h"
#include "ctl/watch/autoscaler_objects.h"
#include "ctl/watch/capacity_watch.h"
#include "ctl/watch/events.h"
#include "ctl/watch/nodes.h"
#include "ctl/watch/object_change.h"
#include "kube/kube_client.h"
#include "kube/kube_config.h"
#include "kube/kube_informer.h"
#include "net/https.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/memory_limit.h"
#include "net/process.h"
#include "net/work.h"

#define REVIEWS_PER_SECOND 50
#define REVIEWS_BURST 100
#define REVIEWS_TIMEOUT_MS 5000
#define REVIEWS_BODY_MAX_BYTES ((size_t)1 << 20)

#define LOG_REPORT_MS 10000
#define LONG_TURN_US 50000 /* of CPU time, the aim; the steps of a longer turn are logged */
#define STOP_MS 5000       /* for decisions that were cancelled: they end within milliseconds */

struct controller {
	struct control control;
	struct https *https;
	struct kube_config *config;
	struct endpoints *endpoints;
	struct memory_budgets memory;
	struct memory_trim *memory_trim;
	struct gpu_share gpu_share;
	int64_t reported_turn_us;    /* the longest one in the log */
	struct cluster_map clusters; /* of struct cluster, once both caches are filled */
	bool started, waiting;       /* passes run; everything but the lead is ready */
	struct err lost;             /* why the lead is lost; ERR_NONE: it is not lost */
	struct log_repeat clusters_trouble, pods_trouble;
	struct trouble_lines pod_lines; /* Pods of no cluster that is decided on */
	struct loop_signal *terminate, *interrupt;
	struct loop_timer *log_timer;
};

static struct cluster *cluster_of(struct controller *controller, const struct ray_cluster *object)
{
	return cluster_make(&controller->clusters, &controller->control, object->namespace_,
			    object->name);
}

static void report_long_turn(struct controller *controller)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct loop *loop = controller->control.loop;
	int64_t cpu_us = loop_longest_turn_cpu_us(loop);

	if (cpu_us <= LONG_TURN_US || cpu_us <= controller->reported_turn_us)
		return;
	controller->reported_turn_us = cpu_us;
	log_warning("a turn of the event loop was long", "cpuMs",
		    arena_printf(&arena, "%lld", (long long)cpu_us / 1000), "steps",
		    loop_longest_turn_steps(loop, &arena), NULL);
}

static void report_log(void *context)
{
	struct controller *controller = context;

	log_report_left_out();
	report_long_turn(controller);
	loop_timer_start(controller->log_timer, LOG_REPORT_MS);
}

static void log_ready(const struct controller *controller, const char *message)
{
	char count[32];

	snprintf(count, sizeof(count), "%zu",
		 kube_informer_count(controller->control.ray_clusters));
	log_info(message, "rayClusters", count, NULL);
}

/* Passes begin after both caches hold a whole list, because a Pod that is missing in the cache
 * looks like a worker that does not exist. Only the leader decides. */
static void start_when_ready(void *context)
{
	struct controller *controller = context;
	const struct ray_cluster *object;
	size_t at = 0;

	if (controller->started || !control_synced(&controller->control) ||
	    (controller->control.autoscalers &&
	     !autoscaler_objects_known(controller->control.autoscalers)) ||
	    !features_known(controller->control.features))
		return;
	if (!leader_is_leading(controller->control.leader)) {
		if (!controller->waiting)
			log_ready(controller, "caches are filled, waiting to lead");
		controller->waiting = true;
		return;
	}
	controller->started = true;
	while ((object = kube_informer_next(controller->control.ray_clusters, &at)))
		(void)cluster_of(controller, object);
	log_ready(controller, "caches are filled, deciding starts");
}

/* The watchers of the two caches that every decision reads: called, in this order, for each change,
 * before the cluster is woken. Each is a member of struct control, which may be NULL; NULL means
 * an object that did not exist or is deleted. */
static const struct watcher {
	size_t member;
	void (*pod)(void *self, const struct pod *old, const struct pod *new_object);
	void (*ray_cluster)(void *self, const char *namespace_, const char *name, bool deleted);
} watchers[] = {
#define WATCHER(name) offsetof(struct control, name)
	{ WATCHER(events), events_pod_changed, events_ray_cluster_changed },
	{ WATCHER(features), features_pod_changed, features_ray_cluster_changed },
	{ WATCHER(recorder), event_recorder_pod_changed, NULL },
#undef WATCHER
};
#define WATCHER_COUNT (sizeof(watchers) / sizeof(watchers[0]))

static void *watcher_self(const struct controller *controller, size_t index)
{
	const void *member = (const char *)&controller->control + watchers[index].member;

	return *(void *const *)member;
}

static void ray_cluster_changed(void *context, enum kube_change change, const char *key,
				const void *old, const void *new_object)
{
	struct controller *controller = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool deleted = change == KUBE_DELETED;
	const char *slash = strchr(key, '/'), *namespace_;

	if (!slash)
		return;
	namespace_ = arena_strndup(&scratch, key, (size_t)(slash - key));
	for (size_t i = 0; i < WATCHER_COUNT; i++)
		if (watchers[i].ray_cluster)
			watchers[i].ray_cluster(watcher_self(controller, i), namespace_, slash + 1,
						deleted);
	if (!controller->started)
		return;
	if (deleted)
		cluster_map_remove(&controller->clusters, namespace_, slash + 1);
	else if (new_object && object_change_decides(old, new_object))
		cluster_wake(cluster_of(controller, new_object));
}

static bool wake_cluster(void *context, const char *namespace_, const char *name)
{
	struct controller *controller = context;
	struct cluster *cluster;

	if (!controller->started)
		return false;
	cluster = cluster_map_get(&controller->clusters, namespace_, name);
	if (cluster)
		cluster_wake(cluster);
	return cluster != NULL;
}

static void log_unreadable_pod(struct controller *controller, const char *key,
			       const struct pod *pod)
{
	const char *name = labels_value(&pod->labels, LABEL_CLUSTER);
	struct cluster *cluster =
		name ? cluster_map_get(&controller->clusters, pod->namespace_, name) : NULL;

	(void)trouble_unreadable(cluster ? cluster_pod_lines(cluster) : &controller->pod_lines,
				 "Pod cannot be read, it counts as busy", "pod", key,
				 pod->unreadable, loop_monotonic_ms(controller->control.loop));
}

static void pod_changed(void *context, enum kube_change change, const char *key, const void *old,
			const void *new_object)
{
	struct controller *controller = context;
	const struct pod *pod = new_object ? new_object : old;
	const char *name = pod ? labels_value(&pod->labels, LABEL_CLUSTER) : NULL;

	if (pod && pod->unreadable && change != KUBE_UNREAD &&
	    (!old ||
	     !object_change_same_text(((const struct pod *)old)->unreadable, pod->unreadable)))
		log_unreadable_pod(controller, key, pod);
	for (size_t i = 0; i < WATCHER_COUNT; i++)
		watchers[i].pod(watcher_self(controller, i), old, new_object);
	if (name)
		(void)wake_cluster(controller, pod->namespace_, name);
}

static void ray_clusters_failed(void *context, const struct err *err)
{
	struct controller *controller = context;

	log_repeat_error(&controller->clusters_trouble, "cannot read from the API server",
			 "rayclusters", err->text);
}

static void ray_clusters_live(void *context)
{
	struct controller *controller = context;

	log_repeat_end(&controller->clusters_trouble, "cannot read from the API server",
		       "rayclusters");
}

static void pods_failed(void *context, const struct err *err)
{
	struct controller *controller = context;

	log_repeat_error(&controller->pods_trouble, "cannot read from the API server", "pods",
			 err->text);
}

static void pods_live(void *context)
{
	struct controller *controller = context;

	log_repeat_end(&controller->pods_trouble, "cannot read from the API server", "pods");
}

static void start_informers(struct controller *controller, struct arena *arena)
{
	const struct options *options = controller->control.options;
	bool sidecar = options_sidecar(options);
	struct kube_informer_options clusters = {
		.type = &kube_type_ray_cluster,
		.namespace_ = sidecar ? options->cluster_namespace : options->namespace_,
		.name = options->cluster_name,
		.large_later = true,
		.poll_ms = options->scan_interval_seconds * MS_PER_SECOND,
		.callbacks = { .on_change = ray_cluster_changed,
			       .on_synced = start_when_ready,
			       .on_error = ray_clusters_failed,
			       .on_live = ray_clusters_live,
			       .context = controller },
	};
	struct kube_informer_options pods = {
		.type = &kube_type_pod,
		.namespace_ = clusters.namespace_,
		.label_selector =
			sidecar ? arena_printf(arena, LABEL_CLUSTER "=%s", options->cluster_name) :
				  LABEL_CLUSTER,
		.large_later = true,
		.callbacks = { .on_change = pod_changed,
			       .on_synced = start_when_ready,
			       .on_error = pods_failed,
			       .on_live = pods_live,
			       .context = controller },
	};

	controller->control.ray_clusters = kube_informer_new(controller->control.kube, &clusters);
	controller->control.pods = kube_informer_new(controller->control.kube, &pods);
	controller->control.nodes = nodes_new(&controller->control);
	controller->control.capacity_watch = capacity_watch_new(&controller->control);
	controller->control.recorder = event_recorder_new(&controller->control);
	controller->control.events = events_new(&controller->control);
	features_start(controller->control.features);
	if (sidecar)
		return;
	controller->control.time_zones = time_zones_new();
	controller->control.autoscalers = autoscaler_objects_new(&controller->control);
}

static void stopped(void *context)
{
	struct controller *controller = context;

	loop_stop(controller->control.loop);
}

/* Ends all passes at once and cancels their requests. */
static void end_passes(struct controller *controller)
{
	controller->started = false;
	cluster_map_done(&controller->clusters);
}

static void lost(void *context, const struct err *err)
{
	struct controller *controller = context;

	controller->lost = *err;
	end_passes(controller);
	stopped(controller);
}

static bool may_write(void *context)
{
	const struct controller *controller = context;

	return leader_is_leading(controller->control.leader);
}

static void api_answered(void *context, const char *verb, int status)
{
	const struct controller *controller = context;
	char code[16] = "error";

	if (status > 0)
		(void)snprintf(code, sizeof(code), "%d", status);
	metrics_count(controller->control.metrics, METRICS_API_REQUESTS, code, verb);
}

/* With limits of its own, so that clients of the endpoints delay no request of a pass. */
static struct kube_client *reviews_client(struct controller *controller)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;

	options.qps = REVIEWS_PER_SECOND;
	options.burst = REVIEWS_BURST;
	options.timeout_ms = REVIEWS_TIMEOUT_MS;
	options.body_max_bytes = REVIEWS_BODY_MAX_BYTES;
	options.answered = api_answered;
	options.answered_context = controller;
	return kube_client_new(controller->control.loop, controller->https, controller->config,
			       &options);
}

static int connect_api_server(struct controller *controller, struct err *err)
{
	const struct options *options = controller->control.options;
	struct kube_config_options config = {
		.kubeconfig = options->kubeconfig,
		.context = options->context,
		.service_account_dir = options->service_account_dir,
	};
	struct kube_client_options client = KUBE_CLIENT_OPTIONS_INIT;
	struct kube_config *leader_config = NULL;

	controller->config = kube_config_load(&config, err);
	if (controller->config && options->leader_elect)
		leader_config = kube_config_load(&config, err);
	if (!controller->config || (options->leader_elect && !leader_config))
		return -1;
	client.qps = options->kube_api_qps;
	client.burst = options->kube_api_burst;
	client.timeout_ms = options->kube_api_timeout_seconds * MS_PER_SECOND;
	client.answered = api_answered;
	client.answered_context = controller;
	client.may_write = may_write;
	client.may_write_context = controller;
	client.objects = &controller->memory.objects;
	controller->https = https_new(controller->control.loop, CONTROL_USER_AGENT);
	controller->control.kube = kube_client_new(controller->control.loop, controller->https,
						   controller->config, &client);
	if (options->metrics_secure)
		controller->control.reviews = reviews_client(controller);
	log_info("starting", "mode", options_sidecar(options) ? "sidecar" : "controller", "server",
		 kube_config_server(controller->config), "config",
		 kube_config_source(controller->config), NULL);
	if (leader_config)
		controller->control.leader = leader_new(
			&controller->control, leader_config,
			&(struct leader_callbacks){
				.context = controller, .begin = start_when_ready, .lost = lost });
	return 0;
}

/* The last pass's requests may still take effect; its patch is guarded by `test` operations. */
static void stop(void *context)
{
	struct controller *controller = context;

	log_info("stopping", NULL);
	end_passes(controller);
	if (!leader_release(controller->control.leader, stopped, controller))
		stopped(controller);
}

static void controller_done(struct controller *controller)
{
	end_passes(controller);
	memory_trim_free(controller->memory_trim);
	/* Before the objects that decisions read are freed. A decision that does not end must not
	 * delay the next leader's Pod. */
	if (!work_stop(controller->control.loop, STOP_MS)) {
		log_error("a decision does not end, the process ends without it", "error",
			  controller->lost.text, NULL);
		_exit(controller->lost.kind != ERR_NONE);
	}
	endpoints_free(controller->endpoints);
	status_free(steal(&controller->control.status));
	work_queue_free(controller->control.queue);
	registration_free(controller->control.registration);
	event_recorder_free(controller->control.recorder);
	nodes_free(controller->control.nodes);
	capacity_watch_free(controller->control.capacity_watch);
	events_free(controller->control.events);
	autoscaler_objects_free(controller->control.autoscalers);
	time_zones_free(controller->control.time_zones);
	kube_informer_free(controller->control.ray_clusters);
	kube_informer_free(controller->control.pods);
	features_free(controller->control.features);
	leader_free(controller->control.leader);
	kube_client_free(controller->control.reviews);
	kube_client_free(controller->control.kube);
	https_free(controller->https);
	metrics_free(controller->control.metrics);
	kube_config_free(controller->config);
	loop_timer_free(controller->log_timer);
	loop_signal_free(controller->terminate);
	loop_signal_free(controller->interrupt);
	log_repeat_done(&controller->clusters_trouble);
	log_repeat_done(&controller->pods_trouble);
	loop_free(controller->control.loop);
	memory_budgets_done(&controller->memory);
}

static int open_endpoints(struct controller *controller, struct err *err)
{
	struct control *control = &controller->control;
	int port;

	control->status = status_new(control);
	controller->endpoints = endpoints_new(control, err);
	if (!controller->endpoints)
		return -1;
	port = endpoints_metrics_port(controller->endpoints);
	if (options_sidecar(control->options) && port > 0)
		control->registration =
			registration_new(control, options_metrics_address(control->options), port);
	return 0;
}

static const char *mib(struct arena *arena, size_t bytes)
{
	return bytes > 0 ? arena_printf(arena, "%zu", bytes >> 20) : "none";
}

/* The strings of the limit are in the arena. */
static struct memory_limit share_memory(struct controller *controller, struct arena *arena)
{
	const struct options *options = controller->control.options;
	struct memory_limit limit = { .bytes = (size_t)options->memory_limit_mib << 20,
				      .source = "--memory-limit" };

	if (limit.bytes == 0)
		limit = memory_limit_read("", arena);
	memory_budgets_init(&controller->memory, options, limit.bytes);
	controller->control.memory = &controller->memory;
	return limit;
}

static void log_memory(const struct controller *controller, struct memory_limit limit)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct options *options = controller->control.options;
	const struct memory_budgets *memory = &controller->memory;

	log_info("memory in MiB", "limit", mib(&arena, limit.bytes), "source", limit.source,
		 "budget", mib(&arena, memory->root->limit_bytes), "objects",
		 mib(&arena, memory->objects.parent->limit_bytes), "passes",
		 mib(&arena, memory->passes.parent->limit_bytes), "onePass",
		 mib(&arena, (size_t)options->max_pass_memory_mib << 20), NULL);
}

int controller_run(const struct options *options, struct err *err)
{
	struct scan_pace pace = { .reads_per_second = options->gcs_reads_per_second };
	struct controller controller = { .control = { .options = options, .pace = &pace },
					 .clusters = clusters_new() };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct memory_limit limit;
	int status;

	process_raise_files();
	process_share_heap();
	json_count_memory();
	limit = share_memory(&controller, &arena);
	controller.control.loop = loop_new();
	controller.control.queue = work_queue_new(controller.control.loop);
	controller.log_timer = loop_timer_new(controller.control.loop, report_log, &controller);
	loop_timer_start(controller.log_timer, LOG_REPORT_MS);
	controller.memory_trim = memory_trim_new(controller.control.loop, controller.memory.root);
	trouble_lines_init(&controller.pod_lines, loop_monotonic_ms(controller.control.loop));
	controller.terminate = loop_signal_new(controller.control.loop, SIGTERM, stop, &controller);
	controller.interrupt = loop_signal_new(controller.control.loop, SIGINT, stop, &controller);
	controller.control.metrics = metrics_new(loop_wall(controller.control.loop));
	controller.control.features = features_new(&controller.control, features_listed);
	if (features_gpu_share(controller.control.features, &controller.gpu_share))
		controller.control.gpu_share = &controller.gpu_share;
	controller.control.devices = features_devices(controller.control.features);
	controller.control.wake = wake_cluster;
	controller.control.ready = start_when_ready;
	controller.control.wake_context = &controller;
	status = connect_api_server(&controller, err);
	if (status == 0)
		status = open_endpoints(&controller, err);
	if (status == 0) {
		log_memory(&controller, limit);
		start_informers(&controller, &arena);
		loop_run(controller.control.loop);
		if (controller.lost.kind) {
			*err = controller.lost;
			status = -1;
		}
	}
	controller_done(&controller);
	return status;
}
