/* The state machine of a pass: see pass.h for what each step is.
 *
 *   Starting ──► Reading ──► Deciding ──┬─► Draining ───► Deciding
 *      │ no GCS     │ same reply        ├─► Verifying ──► Deciding
 *      └► Deciding  └► Done             ├─► Reading ────► Deciding   the reply is old, or a raylet
 *                                       │                            may have registered; READS_MAX
 *                                       ├─► Deciding                 overtaken, granted more, or no longer granted
 *                                       └─► Patching ──┬─► Done
 *                                            conflict  └─► Refreshing ──► Deciding   CONFLICTS_MAX
 *
 * take_step() alone chooses the next step, by what the plan needs and what this pass has not read yet:
 * `drained`, `drains_read`, `pods`, `fresh_state`, `work_read` and `shared` are set once, so each side step is taken
 * at most once; a decision made again because another cluster used its grant has the smaller grant, and fits. So the
 * pass ends. Every request has a deadline; the failure of one that a decision needs ends
 * the pass without a patch.
 *
 * Invariants: one step at a time; `waiting` requests of it are in flight, and the last answer leaves it.
 * A patch is sent only from a plan made after the last answer. finish() is called once, and nothing
 * of the pass is read after it, because the callback frees it. */
#include "ctl/pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "ctl/pass/pass_intern.h"
#include "ctl/shared/control.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "gcs/gcs_in_use.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/work.h"

#define CONFLICTS_MAX 3
#define READS_MAX 2

static void read_state(struct pass *pass);
static void read_work(struct pass *pass);

/* --- durations --- */

static void phase_begin(struct pass *pass)
{
	pass->phase_us = loop_precise_us();
}

static void phase_end(const struct pass *pass, const char *phase)
{
	pass_measure(pass, phase, loop_precise_us() - pass->phase_us);
}

static void count_gcs_error(const struct pass *pass, const struct err *err)
{
	if (err && pass->config.meter.gcs_failed)
		pass->config.meter.gcs_failed(pass->config.meter.context, err);
}

static struct pass_request *request_new(struct pass *pass)
{
	struct pass_request *request = ARENA_NEW(&pass->arena, struct pass_request);

	request->pass = pass;
	VEC_PUSH(&pass->arena, &pass->requests, request);
	pass->waiting++;
	return request;
}

/* Records that a request was answered; true when it was the last of its step. */
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

static void finish(struct pass *pass, const struct memory_state *memory, bool patched,
		   const struct err *err)
{
	struct pass_result result = {
		.memory = memory,
		.patched = patched,
		.object = pass->answer.object,
		.object_arena = &pass->answer.arena,
		.err = err,
		.retry_after_ms = pass->retry_after_ms,
		.scaled = patched ? &pass->scaled : NULL,
		.drain_errors = pass->drain_errors,
		.reading = pass->reading,
		.decided = pass->decided,
		.undecided = pass->rests,
		.cost = pass->cost,
		.cpu_factor = pass->cpu_factor,
		.took_us = loop_precise_us() - pass->started_us,
	};

	pass->step = PASS_DONE;
	pass->callbacks.done(pass->callbacks.context, &result);
}

/* --- Refreshing: the RayCluster changed under the patch --- */

static void cluster_decoded(struct pass *pass)
{
	if (!pass->answer.object) {
		finish(pass, NULL, false, &pass->answer.err);
		return;
	}
	pass->fresh_cluster = pass->answer.object;
	pass_decide(pass);
}

static void cluster_read(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	request_end(request);
	pass->retry_after_ms = answer->retry_after_ms;
	if (err)
		finish(pass, NULL, false, err);
	else
		pass_read_answer(pass, answer, &pass->arena, cluster_decoded);
}

static const char *cluster_path(struct pass *pass)
{
	return kube_path(&pass->arena, pass->config.api_version, pass->config.namespace_,
			 "rayclusters", pass->config.name, NULL);
}

/* Sends a request in the cluster's flow of the API client (kube/kube_queue.h). */
static void ask_kube(struct pass *pass, struct kube_request call, kube_client_done *done)
{
	struct pass_request *request = request_new(pass);

	call.flow = pass->key;
	request->kube = kube_client_request(pass->config.control->kube, &call, done, request);
}

static void read_cluster(struct pass *pass, kube_client_done *done)
{
	pass->step = PASS_REFRESHING;
	ask_kube(pass, (struct kube_request){ .verb = KUBE_GET, .path = cluster_path(pass) }, done);
}

/* --- Patching --- */

/* True after a conflict; and after an accepted drain whatever the failure, unless the server sent
 * Retry-After: the raylet exits soon, and the next pass could not know the reason. */
static bool may_patch_again(const struct pass *pass, const struct kube_answer *answer,
			    const struct err *err)
{
	if (err->kind == ERR_CONFLICT)
		return true;
	return pass->drain_accepted && answer->retry_after_ms == 0 &&
	       (err->kind == ERR_RETRY || err->kind == ERR_TIMEOUT || err->kind == ERR_GONE);
}

/* The memory after an error. */
static const struct memory_state *memory_refused(struct pass *pass, const struct err *err)
{
	struct memory_state *memory;

	if (!act_deletes(pass->work->plan) || err->kind != ERR_DENIED)
		return NULL;
	memory = ARENA_NEW(&pass->arena, struct memory_state);
	*memory = *pass->new_memory;
	memory->marks.capacity = memory->marks.count; /* the next push copies them */
	VEC_PUSH(&pass->arena, &memory->marks,
		 ((struct memory_mark){ .kind = MARK_DELETE_DENIED,
					.key = CLUSTER_MARK_KEY,
					.since = pass->now,
					.who = arena_strdup(&pass->arena, err->text) }));
	return memory;
}

static void accepted(struct pass *pass)
{
	act_log_scaled(&pass->scaled, pass->key);
	finish(pass, pass->new_memory, true, NULL);
}

/* --- Patching: a suspension without an answer --- */

/* The annotation was written with it. */
static void suspension_decoded(struct pass *pass)
{
	if (!pass->answer.object || !ray_cluster_suspended_at(pass->answer.object))
		finish(pass, NULL, false, &pass->lost);
	else
		accepted(pass);
}

/* Where the RayCluster is not suspended the next pass may try again. Where it could not be read this
 * is unknown: if it was suspended, and is resumed, its time begins again, as after an accepted
 * patch. */
static void cluster_looked_at(void *context, const struct kube_answer *answer,
			      const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	request_end(request);
	if (err)
		finish(pass, pass->new_memory, false, &pass->lost);
	else
		pass_read_answer(pass, answer, &pass->answer.arena, suspension_decoded);
}

static bool look_at_suspension(struct pass *pass, const struct kube_answer *answer,
			       const struct err *err)
{
	if (pass->work->plan->cluster.action != CLUSTER_SUSPEND || answer->retry_after_ms > 0 ||
	    (err->kind != ERR_RETRY && err->kind != ERR_TIMEOUT))
		return false;
	pass->lost = *err;
	read_cluster(pass, cluster_looked_at);
	return true;
}

static void share_answered(struct pass *pass, const struct err *err, int64_t generation)
{
	gpu_share_answered(pass->config.control->gpu_share, pass->config.namespace_,
			   pass->config.name, err, generation);
}

static void change_decoded(struct pass *pass)
{
	const struct ray_cluster *object = pass->answer.object;

	share_answered(pass, NULL, object ? object->generation : INT64_MAX);
	accepted(pass);
}

static void change_failed(struct pass *pass, const struct kube_answer *answer,
			  const struct err *err)
{
	if (!act_deletes(pass->work->plan))
		share_answered(pass, err, 0);
	if (may_patch_again(pass, answer, err) && ++pass->conflicts < CONFLICTS_MAX)
		read_cluster(pass, cluster_read);
	else if (!look_at_suspension(pass, answer, err))
		finish(pass, memory_refused(pass, err), false, err);
}

static void change_answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	request_end(request);
	pass->retry_after_ms = answer->retry_after_ms;
	phase_end(pass, "patching");
	pass->answer.object = NULL;
	if (err)
		change_failed(pass, answer, err);
	else if (act_deletes(pass->work->plan))
		accepted(pass);
	else
		pass_read_answer(pass, answer, &pass->answer.arena, change_decoded);
}

static int write_change(struct pass *pass, const struct plan *plan,
			const struct ray_cluster *cluster, struct buf *body, struct err *err)
{
	if (act_deletes(plan))
		return act_write_delete(cluster, body, err);
	return act_write_patch(plan, cluster->uid, &pass->arena, body, err);
}

static void send_change(struct pass *pass, const struct plan *plan,
			const struct gpu_share_objects *objects)
{
	AUTO(buf_done) struct buf body;
	struct err err;

	buf_init(&body, ACT_PATCH_MAX);
	if (write_change(pass, plan, objects->cluster, &body, &err) < 0) {
		finish(pass, NULL, false, &err);
		return;
	}
	pass->step = PASS_PATCHING;
	phase_begin(pass);
	if (!act_deletes(plan))
		gpu_share_sent(pass->config.control->gpu_share, objects, plan);
	ask_kube(pass,
		 (struct kube_request){ .verb = act_deletes(plan) ? KUBE_DELETE : KUBE_JSON_PATCH,
					.path = cluster_path(pass),
					.body = buf_string(&body),
					.body_size = body.size,
					.until_ms = pass_observe_until_ms(pass) },
		 change_answered);
}

/* --- Verifying: a Pod may have started since the cache saw it --- */

static void pods_read(struct pass *pass, const struct err *err)
{
	phase_end(pass, "verifying");
	if (err)
		finish(pass, NULL, false, err);
	else
		pass_decide(pass);
}

static void verify_pods(struct pass *pass)
{
	pass->step = PASS_VERIFYING;
	phase_begin(pass);
	pass_verify(pass, pods_read);
}

/* --- Draining --- */

static void drain_answered(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	count_gcs_error(pass, err);
	pass->drain_errors += err != NULL;
	pass->drain_accepted |= reply->accepted;
	if (err)
		log_warning("drain failed, the worker stays", "cluster", pass->key, "pod",
			    request->pod, "error", err->text, NULL);
	else if (!reply->accepted)
		log_info("drain rejected, the worker stays", "cluster", pass->key, "pod",
			 request->pod, "why", reply->rejection, NULL);
	else if (request->busy)
		log_info("Ray drains a worker in use", "cluster", pass->key, "pod", request->pod,
			 "why", request->why, NULL);
	VEC_PUSH(&pass->arena, &pass->drains,
		 ((struct drain_answer){ .node_id = request->node_id,
					 .accepted = reply->accepted,
					 .busy = request->busy }));
	if (request_end(request)) {
		phase_end(pass, "draining");
		pass_decide(pass);
	}
}

/* Ray's own deadlines: those that memory has lost must not begin again. */
static void drains_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	count_gcs_error(pass, err);
	if (err)
		log_info("the deadlines of nodes that Ray drains are unknown", "cluster", pass->key,
			 "error", err->text, NULL);
	pass->ray_drains = reply->drains;
	pass->ray_drain_count = reply->drain_count;
	request_end(request);
	phase_end(pass, "reading");
	pass_decide(pass);
}

/* Ray drains a node, and no decision since the start has read Ray: Ray alone knows the deadline. */
static bool needs_drains(const struct pass *pass)
{
	const struct memory_state *memory = pass->config.memory;

	if (pass->drains_read || !pass->config.gcs || !pass->ray_state ||
	    (memory && memory_next_mark(memory, MARK_RAY_SESSION, NULL)))
		return false;
	ARRAY_EACH(const struct ray_node, node, pass->ray_state->nodes, pass->ray_state->node_count)
		if (node->status == RAY_NODE_DRAINING)
			return true;
	return false;
}

static void read_drains(struct pass *pass)
{
	struct pass_request *request = request_new(pass);

	pass->step = PASS_READING;
	pass->drains_read = true;
	phase_begin(pass);
	request->gcs = gcs_client_get_drains(pass->config.gcs, gcs_timeout_ms(pass), &pass->arena,
					     drains_read, request);
}

/* The next drain would give a node a second deadline: Ray drains it, and since when is not remembered. */
static bool is_second_drain(const struct pass *pass, const struct act_drains *drains)
{
	VEC_EACH(const struct act_drain, drain, &drains->list) {
		const struct ray_node *node = ARRAY_FIND(
			pass->ray_state->nodes, pass->ray_state->node_count, id, drain->node_id);

		if (node && node->status == RAY_NODE_DRAINING)
			return true;
	}
	return false;
}

static bool ask_drains(struct pass *pass, const struct plan *plan)
{
	size_t limit = (size_t)pass->config.control->options->max_drains;
	struct act_drains drains;

	act_drains(plan, limit, &pass->arena, &drains);
	if (!pass->drains_read && is_second_drain(pass, &drains)) {
		read_drains(pass);
		return true;
	}
	pass->drained = true;
	if (drains.list.count == 0)
		return false;
	pass->config.memory =
		memory_state_drained(pass->config.memory, &plan->memory, &pass->arena);
	pass->step = PASS_DRAINING;
	phase_begin(pass);
	VEC_EACH(const struct act_drain, drain, &drains.list) {
		struct pass_request *request = request_new(pass);

		request->node_id = arena_strdup(&pass->arena, drain->node_id);
		request->pod = arena_strdup(&pass->arena, drain->pod);
		request->why = arena_strdup(&pass->arena, drain->message);
		request->busy = drain->deadline != TIME_NONE;
		request->gcs = gcs_client_drain_node(pass->config.gcs, gcs_timeout_ms(pass),
						     drain->node_id, drain->message,
						     drain->deadline, drain_answered, request);
	}
	return true;
}

static void announce(struct pass *pass)
{
	const struct pass_work *work = pass->work;
	struct pass_decision decision = {
		.plan = work->plan,
		.snapshot = &work->snapshot,
		.summary = work->summary,
		.ray_state = work->snapshot.ray_state,
		.ray_err = pass->ray_err.kind ? &pass->ray_err : NULL,
		.now = pass->now,
		.monotonic_ms = loop_monotonic_ms(pass->config.control->loop),
		.digest = pass->reads == 1 && (!pass->undecided || pass->rests) ? pass->digest : 0,
		.undecided_ms = pass->rests ? pass->config.undecided_ms : 0,
		.pass = pass,
	};

	pass->new_memory = work->memory;
	pass->scaled = work->scaled;
	pass->callbacks.decided(pass->callbacks.context, &decision);
}

/* True: more is granted now than the terms of the plan had. Asked once in a pass. */
static bool is_granted_more(struct pass *pass, const struct gpu_share_objects *objects,
			    const struct plan *plan)
{
	if (pass->shared || pass->undecided)
		return false;
	pass->shared = true;
	pass->granted = gpu_share_decided(pass->config.control->gpu_share, objects, plan,
					  pass->work->snapshot.ray_state != NULL ||
						  pass->work->summary->hands_off,
					  pass->now);
	return pass->granted;
}

/* Takes the next step that the plan needs. */
static void take_step(struct pass *pass)
{
	struct gpu_share_objects objects;
	const struct plan *plan;

	/* After SIGSTOP another replica may lead: this process must neither act nor report. */
	if (pass->deleted || !leader_is_leading(pass->config.control->leader)) {
		finish(pass, NULL, false, NULL);
		return;
	}
	if (needs_drains(pass)) {
		read_drains(pass);
		return;
	}
	plan = pass->work->plan;
	objects = pass_objects(pass, &pass->work->view);
	if (pass_decide_is_overtaken(pass) || is_granted_more(pass, &objects, plan)) {
		pass_decide(pass);
		return;
	}
	/* Drains without an answer, or conflicts, took long: Ray is read once more, so that the
	 * required changes are not delayed to a pass without them. The patch then has a
	 * deadline. */
	if (pass->config.gcs && pass_observe_is_old(pass) && pass->reads < READS_MAX) {
		read_state(pass);
		return;
	}
	if (!pass->drained && pass->config.gcs && ask_drains(pass, plan))
		return;
	if (!pass->pods && act_needs_fresh_pods(plan)) {
		verify_pods(pass);
		return;
	}
	/* The last check before the patch: has a raylet registered since? */
	if (pass->config.gcs && !pass->fresh_state && act_needs_fresh_state(plan)) {
		pass->fresh_state = true;
		read_state(pass);
		return;
	}
	if (pass->config.gcs && !pass->work_read && plan->cluster.action == CLUSTER_READ_WORK) {
		read_work(pass);
		return;
	}
	/* Decisions of other clusters in the meantime may have used up what is granted. */
	if (plan->patch.count > 0 &&
	    !gpu_share_fits(pass->config.control->gpu_share, &objects, plan)) {
		pass_decide(pass);
		return;
	}
	announce(pass);
	if (plan->patch.count > 0 || act_deletes(plan))
		send_change(pass, plan, &objects);
	else
		finish(pass, pass->new_memory, false, NULL);
}

/* --- Reading --- */

static void read_ended(struct pass_request *request)
{
	struct pass *pass = request->pass;

	if (!request_end(request))
		return;
	phase_end(pass, "reading");
	pass_observe_begin(pass);
	pass_decide(pass);
}

static bool state_known(void *context, uint64_t digest, size_t size)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	if (pass->reads > 1) /* part of a decision, which needs the whole state */
		return false;
	pass->digest = digest;
	pass->reading.bytes = size;
	return pass->callbacks.unchanged(pass->callbacks.context, digest);
}

/* The reply has not changed: the last decision remains valid. */
static void state_unchanged(struct pass_request *request)
{
	struct pass *pass = request->pass;

	pass->reading.took_us = loop_precise_us() - pass->phase_us;
	request_end(request);
	phase_end(pass, "reading");
	finish(pass, NULL, false, NULL);
}

static void state_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	const struct ray_state *state = reply->state;
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	if (!state && !err) {
		state_unchanged(request);
		return;
	}
	pass->reading = poll_reading_of(state, err, loop_precise_us() - pass->phase_us);
	pass->ray_state = state;
	/* Decoding may have waited in the work queue. */
	pass->read_ms = state ? state->received_ms : loop_boot_ms();
	count_gcs_error(pass, err);
	if (err)
		pass->ray_err = *err;
	read_ended(request);
}

static void kv_requests_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	pass->kv_requests = reply->constraint;
	count_gcs_error(pass, err);
	if (err)
		log_warning("request_resources of autoscaler v1 not seen", "cluster", pass->key,
			    "error", err->text, NULL);
	read_ended(request);
}

static void read_state(struct pass *pass)
{
	struct pass_request *request = request_new(pass);

	pass->step = PASS_READING;
	pass->reads++;
	phase_begin(pass);
	if (pass->config.read_kv_requests) {
		struct pass_request *kv = request_new(pass);

		kv->gcs = gcs_client_get_kv_requests(pass->config.gcs, gcs_timeout_ms(pass),
						     &pass->kv_arena, kv_requests_read, kv);
	}
	request->gcs = gcs_client_get_state(pass->config.gcs, gcs_timeout_ms(pass),
					    &pass->ray_arena, state_read, request);
	if (pass->callbacks.unchanged && !pass->config.read_kv_requests && !pass->work_read)
		gcs_call_ask_known(request->gcs, state_known);
}

/* --- Reading: the users of an idle cluster --- */

static void note(const char **member, const char *text)
{
	if ((*member)[0] == '\0')
		*member = text;
}

static void list_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;
	struct cluster_work *work = &pass->cluster_work;
	const struct ray_in_use *use = reply->in_use;

	count_gcs_error(pass, err);
	if (err) {
		note(&work->problem, arena_printf(&pass->arena, "the list of %s is unknown: %s",
						  request->list, err->text));
	} else {
		if (use->missing > 0)
			note(&work->problem,
			     arena_printf(&pass->arena,
					  "the list of %s is incomplete: %lld missing",
					  request->list, (long long)use->missing));
		note(&work->in_use, use->user);
		if (use->ended > work->ended)
			work->ended = use->ended;
	}
	read_ended(request);
}

/* The state is read beside the lists: work that moves from one to the other in between is in both or
 * in one of them. */
static void read_work(struct pass *pass)
{
	static const enum ray_list lists[] = { RAY_LIST_ACTORS, RAY_LIST_GROUPS, RAY_LIST_JOBS };
	enum { LISTS = sizeof(lists) / sizeof(lists[0]) };
	int64_t timeout_ms = gcs_timeout_ms(pass);
	struct pass_request *request;

	_Static_assert(LISTS + 1 == PASS_WORK_LISTS, "and the submitted jobs");
	pass->work_read = true;
	pass->cluster_work = (struct cluster_work){ .begun = loop_wall(pass->config.control->loop),
						    .problem = "",
						    .in_use = "",
						    .ended = TIME_NONE };
	for (size_t i = 0; i < PASS_WORK_LISTS; i++)
		pass->work_arenas[i].budget = pass->memory;
	for (size_t i = 0; i < LISTS; i++) {
		request = request_new(pass);
		request->list = ray_list_name(lists[i]);
		request->gcs = gcs_client_get_list(pass->config.gcs, timeout_ms, lists[i],
						   &gcs_in_use, &pass->work_arenas[i], list_read,
						   request);
	}
	request = request_new(pass);
	request->list = "submitted Ray jobs";
	request->gcs = gcs_in_use_get_submitted(pass->config.gcs, timeout_ms,
						&pass->work_arenas[LISTS], list_read, request);
	read_state(pass);
}

static void start(void *context)
{
	struct pass *pass = context;

	pass->started_us = loop_precise_us();
	if (pass->config.gcs) {
		if (pass->config.read_work)
			read_work(pass);
		else
			read_state(pass);
		return;
	}
	if (pass->config.gcs_problem)
		err_set(&pass->ray_err, ERR_RETRY, "%s", pass->config.gcs_problem);
	pass_observe_begin(pass);
	pass_decide(pass);
}

static const struct field config_texts[] = {
	FIELD_TEXT(struct pass_config, namespace_, "namespace"),
	FIELD_TEXT(struct pass_config, name, "name"),
	FIELD_TEXT(struct pass_config, api_version, "apiVersion"),
	FIELD_TEXT(struct pass_config, ray_note, "rayNote"),
	FIELD_TEXT(struct pass_config, gcs_problem, "gcsProblem"),
	FIELD_END,
};

static struct budget *budget_of(const struct pass_config *config)
{
	struct memory_budgets *memory = config->control->memory;
	struct budget *all = memory ? budget_children_get(&memory->passes, config->namespace_) :
				      NULL;
	struct budget *one = budget_new("one pass (--max-pass-memory)",
					"raise that flag, or make the cluster smaller",
					(size_t)config->control->options->max_pass_memory_mib << 20,
					all);

	budget_free(all);
	return one;
}

struct pass *pass_new(const struct pass_config *config, const struct pass_callbacks *callbacks)
{
	struct pass *pass = memory_alloc(sizeof(*pass));

	pass->holders = 1;
	pass->config = *config;
	pass->cpu_factor = pass->config.cpu_factor = config->cpu_factor > 1 ? config->cpu_factor :
									      1;
	pass->callbacks = *callbacks;
	pass->cost = config->cost;
	pass->on_decided = take_step;
	pass->memory = budget_of(config);
	pass->arena.budget = pass->ray_arena.budget = pass->memory;
	pass->kv_arena.budget = pass->memory;
	field_own(config_texts, &pass->config, &pass->arena);
	if (config->memory)
		pass->config.memory = memory_state_copy(config->memory, &pass->arena);
	pass->key = arena_printf(&pass->arena, "%s/%s", config->namespace_, config->name);
	pass->start = loop_timer_new(config->control->loop, start, pass);
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
	pass_pods_cancel(pass->pods);
	loop_timer_free(pass->start);
	if (pass->job)
		work_cancel(pass->job); /* pass_drop follows when the job has ended */
	else
		pass_drop(pass);
}

const char *pass_step_name(const struct pass *pass)
{
	static const char *const names[] = {
		[PASS_STARTING] = "Starting",     [PASS_READING] = "Reading",
		[PASS_DECIDING] = "Deciding",     [PASS_DRAINING] = "Draining",
		[PASS_VERIFYING] = "Verifying",   [PASS_PATCHING] = "Patching",
		[PASS_REFRESHING] = "Refreshing", [PASS_DONE] = "Done",
	};

	return names[pass->step];
}
