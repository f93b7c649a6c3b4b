#include "ctl/pass.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "core/decide.h"
#include "ctl/act.h"
#include "ctl/leader.h"
#include "ctl/metrics.h"
#include "ctl/observe.h"
#include "ctl/options.h"
#include "gcs/gcs_client.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define CONFLICTS_MAX 3

enum pass_step {
	PASS_STARTING = 0,
	PASS_READING,
	PASS_DRAINING,
	PASS_VERIFYING,
	PASS_PATCHING,
	PASS_REFRESHING,
	PASS_DONE,
};

/* One request in flight; a step may have several. */
struct pass_request {
	struct pass *pass;
	struct kube_call *kube;
	struct gcs_call *gcs;
	const char *node_id; /* of a drain */
	const char *pod;     /* of a drain */
};

struct pass {
	struct pass_config config;
	struct pass_callbacks callbacks;
	struct arena arena;
	enum pass_step step;
	struct loop_timer *start;
	const char *key; /* "namespace/name" */
	time_ms now; /* of every decision: an accepted drain must not become too old to act upon */

	const struct ray_state *ray_state;
	time_ms ray_state_time;
	struct err ray_err;
	const struct ray_constraint *kv_requests;

	const struct ray_cluster *fresh_cluster; /* NULL: the cache's */
	const struct pod **fresh_pods;           /* NULL: the cache's */
	size_t fresh_pod_count;

	VEC(struct pass_request *) requests;
	size_t waiting; /* requests without an answer */
	VEC(struct drain_answer) drains;
	bool drained;
	int conflicts;
	/* For metrics: */
	int64_t started_us, phase_us;
	size_t drain_errors;
	/* Of the decision that the patch carries out: */
	const char *memory_json;
	struct act_scaled_list scaled;
};

static void pass_decide(struct pass *pass);

/* --- how long it takes --- */

static void phase_begin(struct pass *pass)
{
	pass->phase_us = loop_precise_us();
}

static void phase_end(const struct pass *pass, const char *phase)
{
	metrics_duration(pass->config.control->metrics, METRICS_RECONCILE_DURATION, phase,
			 (double)(loop_precise_us() - pass->phase_us) / 1e6);
}

static void count_gcs_error(const struct pass *pass, const struct err *err)
{
	if (err)
		metrics_count(pass->config.control->metrics, METRICS_GCS_ERRORS,
			      err_kind_name(err->kind), "");
}

static struct pass_request *request_new(struct pass *pass)
{
	struct pass_request *request = ARENA_NEW(&pass->arena, struct pass_request);

	request->pass = pass;
	VEC_PUSH(&pass->arena, &pass->requests, request);
	pass->waiting++;
	return request;
}

/* Notes the answer of a request; true when it was the last of its step. */
static bool request_end(struct pass_request *request)
{
	struct pass *pass = request->pass;

	request->kube = NULL;
	request->gcs = NULL;
	CHECK(pass->waiting > 0);
	if (--pass->waiting > 0)
		return false;
	pass->requests.count = 0;
	return true;
}

static int64_t gcs_timeout_ms(const struct pass *pass)
{
	return pass->config.control->options->gcs_timeout_seconds * MS_PER_SECOND;
}

static void pass_finish(struct pass *pass, const char *memory_json, const char *patched_body,
			const struct err *err)
{
	struct pass_result result = {
		.memory_json = memory_json,
		.patched_body = patched_body,
		.err = err,
		.scaled = patched_body ? &pass->scaled : NULL,
		.drain_errors = pass->drain_errors,
		.took_us = loop_precise_us() - pass->started_us,
	};

	pass->step = PASS_DONE;
	pass->callbacks.done(pass->callbacks.context, &result);
}

/* --- Refreshing: the RayCluster changed under the patch --- */

static void cluster_read(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;
	struct ray_cluster *cluster = ARENA_NEW(&pass->arena, struct ray_cluster);
	struct err decode_err;

	request_end(request);
	if (!err && act_decode_cluster(answer->body, answer->body_size, &pass->arena, cluster,
				       &decode_err) < 0)
		err = &decode_err;
	if (err) {
		pass_finish(pass, NULL, NULL, err);
		return;
	}
	pass->fresh_cluster = cluster;
	pass_decide(pass);
}

static const char *cluster_path(struct pass *pass)
{
	return kube_path(&pass->arena, pass->config.api_version, pass->config.namespace_,
			 "rayclusters", pass->config.name, NULL);
}

static void refresh(struct pass *pass)
{
	struct pass_request *request = request_new(pass);

	pass->step = PASS_REFRESHING;
	request->kube = kube_client_send(pass->config.control->kube, KUBE_GET, cluster_path(pass),
					 NULL, 0, cluster_read, request);
}

/* --- Patching --- */

static void patch_answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	request_end(request);
	phase_end(pass, "patching");
	if (err && err->kind == ERR_CONFLICT && ++pass->conflicts < CONFLICTS_MAX) {
		refresh(pass);
		return;
	}
	if (!err)
		act_log_scaled(&pass->scaled, pass->key);
	pass_finish(pass, err ? NULL : pass->memory_json, err ? NULL : answer->body, err);
}

static void send_patch(struct pass *pass, const struct plan *plan)
{
	AUTO(buf_done) struct buf body;
	struct pass_request *request;
	struct err err;

	buf_init(&body, ACT_PATCH_MAX);
	if (act_write_patch(plan, &body, &err) < 0) {
		pass_finish(pass, NULL, NULL, &err);
		return;
	}
	pass->step = PASS_PATCHING;
	phase_begin(pass);
	request = request_new(pass);
	request->kube = kube_client_send(pass->config.control->kube, KUBE_JSON_PATCH,
					 cluster_path(pass), buf_string(&body), body.size,
					 patch_answered, request);
}

/* --- Verifying: a Pod may have started since the cache saw it --- */

static void pods_read(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;
	struct err decode_err;

	request_end(request);
	phase_end(pass, "verifying");
	if (!err && act_decode_pods(answer->body, answer->body_size, &pass->arena,
				    &pass->fresh_pods, &pass->fresh_pod_count, &decode_err) < 0)
		err = &decode_err;
	if (err)
		pass_finish(pass, NULL, NULL, err);
	else
		pass_decide(pass);
}

static void verify_pods(struct pass *pass)
{
	struct pass_request *request = request_new(pass);
	const char *path, *selector;

	pass->step = PASS_VERIFYING;
	phase_begin(pass);
	path = kube_path(&pass->arena, "v1", pass->config.namespace_, "pods", NULL, NULL);
	selector = arena_printf(&pass->arena, LABEL_CLUSTER "=%s", pass->config.name);
	path = kube_path_query(&pass->arena, path, "labelSelector", selector);
	request->kube = kube_client_send(pass->config.control->kube, KUBE_GET, path, NULL, 0,
					 pods_read, request);
}

/* --- Draining --- */

static void drain_answered(void *context, bool accepted, const char *rejection,
			   const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	count_gcs_error(pass, err);
	pass->drain_errors += err != NULL;
	if (err)
		log_warning("drain failed, the worker stays", "cluster", pass->key, "pod",
			    request->pod, "error", err->text, NULL);
	else if (!accepted)
		log_info("drain rejected, the worker stays", "cluster", pass->key, "pod",
			 request->pod, "why", rejection, NULL);
	VEC_PUSH(&pass->arena, &pass->drains,
		 ((struct drain_answer){ .node_id = request->node_id,
					 .accepted = !err && accepted }));
	if (request_end(request)) {
		phase_end(pass, "draining");
		pass_decide(pass);
	}
}

/* True when drains are on their way and the decision has to wait for them. */
static bool ask_drains(struct pass *pass, const struct plan *plan)
{
	size_t limit = (size_t)pass->config.control->options->max_drains;
	struct act_drains drains;

	act_drains(plan, limit, &pass->arena, &drains);
	pass->drained = true;
	if (drains.list.count == 0)
		return false;
	pass->step = PASS_DRAINING;
	phase_begin(pass);
	for (size_t i = 0; i < drains.list.count; i++) {
		const struct act_drain *drain = &drains.list.at[i];
		struct pass_request *request = request_new(pass);

		request->node_id = arena_strdup(&pass->arena, drain->node_id);
		request->pod = arena_strdup(&pass->arena, drain->pod);
		request->gcs = gcs_client_drain_node(pass->config.gcs, gcs_timeout_ms(pass),
						     drain->node_id, drain->message, drain_answered,
						     request);
	}
	return true;
}

/* --- the decision --- */

static void observe_pass(struct pass *pass, const struct pass_view *view,
			 struct snapshot *ret_snapshot)
{
	bool stale = view->stale[0] != '\0';
	struct observation observation = {
		.now = pass->now,
		.cluster = pass->fresh_cluster ? pass->fresh_cluster : view->cluster,
		.pods = pass->fresh_pods ? pass->fresh_pods : view->pods,
		.pod_count = pass->fresh_pods ? pass->fresh_pod_count : view->pod_count,
		.ray_state = stale ? NULL : pass->ray_state,
		.ray_problem = stale ? view->stale : pass->ray_err.text,
		.ray_state_time = pass->ray_state_time,
		.kv_requests = pass->kv_requests,
		.drains = pass->drains.at,
		.drain_count = pass->drains.count,
		.events_known = view->events_known,
		.events = view->events,
		.event_count = view->event_count,
		.nodes_known = view->nodes_known,
		.nodes = view->nodes,
		.node_count = view->node_count,
		.other_pods_known = view->other_pods_known,
		.other_pods = view->other_pods,
		.other_pod_count = view->other_pod_count,
		.settings = &pass->config.control->options->settings,
		.device_table = pass->config.control->options->device_table,
		.memory_json = pass->config.memory_json,
		.autoscaler = view->autoscaler,
		.lint = view->lint,
	};

	observe(&observation, &pass->arena, ret_snapshot);
}

static void announce(struct pass *pass, const struct plan *plan, const struct snapshot *snapshot)
{
	struct pass_decision decision = {
		.plan = plan,
		.snapshot = snapshot,
		.summary = summary_of(snapshot, plan, &pass->arena),
		.ray_state = snapshot->ray_state,
		.ray_err = pass->ray_err.kind ? &pass->ray_err : NULL,
		.now = pass->now,
	};

	pass->memory_json = act_memory_text(plan, &pass->arena);
	act_scaled(plan, &pass->arena, &pass->scaled);
	pass->callbacks.decided(pass->callbacks.context, &decision);
}

/* Decides on what is known now and takes the next step that the plan needs. */
static void pass_decide(struct pass *pass)
{
	struct snapshot *snapshot = ARENA_NEW(&pass->arena, struct snapshot);
	struct pass_view view = { .stale = "" };
	const struct plan *plan;

	pass->callbacks.view(pass->callbacks.context, &pass->arena, &view);
	if (!view.cluster) {
		pass_finish(pass, NULL, NULL, NULL);
		return;
	}
	check_key_set(pass->key);
	phase_begin(pass);
	observe_pass(pass, &view, snapshot);
	plan = decide(snapshot, &pass->arena);
	phase_end(pass, "deciding");
	check_key_set("");
	/* A process that was stopped may be the second one: it neither acts nor says anything. */
	if (!leader_is_leading(pass->config.control->leader)) {
		pass_finish(pass, NULL, NULL, NULL);
		return;
	}
	if (!pass->drained && pass->config.gcs && ask_drains(pass, plan))
		return;
	if (!pass->fresh_pods && act_needs_fresh_pods(plan)) {
		verify_pods(pass);
		return;
	}
	announce(pass, plan, snapshot);
	if (plan->patch.count > 0)
		send_patch(pass, plan);
	else
		pass_finish(pass, pass->memory_json, NULL, NULL);
}

/* --- Reading --- */

static void state_read(void *context, const struct ray_state *state, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	pass->ray_state = state;
	pass->ray_state_time = loop_wall(pass->config.control->loop);
	count_gcs_error(pass, err);
	if (err)
		pass->ray_err = *err;
	if (request_end(request)) {
		phase_end(pass, "reading");
		pass->now = loop_wall(pass->config.control->loop);
		pass_decide(pass);
	}
}

static void kv_requests_read(void *context, const struct ray_constraint *constraint,
			     const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	pass->kv_requests = constraint;
	count_gcs_error(pass, err);
	if (err)
		log_warning("request_resources of autoscaler v1 not seen", "cluster", pass->key,
			    "error", err->text, NULL);
	if (request_end(request)) {
		phase_end(pass, "reading");
		pass->now = loop_wall(pass->config.control->loop);
		pass_decide(pass);
	}
}

static void pass_start(void *context)
{
	struct pass *pass = context;
	struct pass_request *request;

	pass->started_us = loop_precise_us();
	if (!pass->config.gcs) {
		if (pass->config.gcs_problem)
			err_set(&pass->ray_err, ERR_RETRY, "%s", pass->config.gcs_problem);
		pass->now = loop_wall(pass->config.control->loop);
		pass_decide(pass);
		return;
	}
	pass->step = PASS_READING;
	phase_begin(pass);
	request = request_new(pass);
	if (pass->config.read_kv_requests) {
		struct pass_request *kv = request_new(pass);

		kv->gcs = gcs_client_get_kv_requests(pass->config.gcs, gcs_timeout_ms(pass),
						     &pass->arena, kv_requests_read, kv);
	}
	request->gcs = gcs_client_get_state(pass->config.gcs, gcs_timeout_ms(pass), &pass->arena,
					    state_read, request);
}

struct pass *pass_new(const struct pass_config *config, const struct pass_callbacks *callbacks)
{
	struct pass *pass = memory_alloc(sizeof(*pass));

	pass->config = *config;
	pass->callbacks = *callbacks;
	pass->config.namespace_ = arena_strdup(&pass->arena, config->namespace_);
	pass->config.name = arena_strdup(&pass->arena, config->name);
	pass->config.api_version = arena_strdup(&pass->arena, config->api_version);
	if (config->gcs_problem)
		pass->config.gcs_problem = arena_strdup(&pass->arena, config->gcs_problem);
	if (config->memory_json)
		pass->config.memory_json = arena_strdup(&pass->arena, config->memory_json);
	pass->key = arena_printf(&pass->arena, "%s/%s", config->namespace_, config->name);
	pass->start = loop_timer_new(config->control->loop, pass_start, pass);
	loop_timer_start(pass->start, 0);
	return pass;
}

void pass_free(struct pass *pass)
{
	if (!pass)
		return;
	for (size_t i = 0; i < pass->requests.count; i++) {
		kube_client_cancel(pass->requests.at[i]->kube);
		if (pass->requests.at[i]->gcs)
			gcs_call_cancel(pass->requests.at[i]->gcs);
	}
	loop_timer_free(pass->start);
	arena_done(&pass->arena);
	memory_free(pass);
}

const char *pass_step_name(const struct pass *pass)
{
	static const char *const names[] = {
		[PASS_STARTING] = "Starting", [PASS_READING] = "Reading",
		[PASS_DRAINING] = "Draining", [PASS_VERIFYING] = "Verifying",
		[PASS_PATCHING] = "Patching", [PASS_REFRESHING] = "Refreshing",
		[PASS_DONE] = "Done",
	};

	return names[pass->step];
}
