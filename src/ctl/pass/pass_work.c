#include "base/memory.h"
#include "core/model/kubernetes.h"
#include "ctl/pass/pass_intern.h"
#include "ctl/shared/control.h"
#include "gcs/gcs_client.h"
#include "gcs/gcs_in_use.h"
#include "net/loop.h"

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

	pass_count_gcs_error(pass, err);
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
	pass_read_ended(request);
}

/* The state is read beside the lists: work that moves from one to the other in between is in both or
 * in one of them. */
void pass_read_work(struct pass *pass)
{
	static const enum ray_list lists[] = { RAY_LIST_ACTORS, RAY_LIST_GROUPS, RAY_LIST_JOBS };
	enum { LISTS = sizeof(lists) / sizeof(lists[0]) };
	int64_t timeout_ms = pass_gcs_timeout_ms(pass);
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
		request = pass_request_new(pass);
		request->list = ray_list_name(lists[i]);
		request->gcs = gcs_client_get_list(pass->config.gcs, timeout_ms, lists[i],
						   &gcs_in_use, &pass->work_arenas[i], list_read,
						   request);
	}
	request = pass_request_new(pass);
	request->list = "submitted Ray jobs";
	request->gcs = gcs_client_get_submitted(pass->config.gcs, timeout_ms,
						&pass->work_arenas[LISTS], list_read, request);
	pass_read_state(pass);
}

/* ---- a suspension without an answer ---- */

/* The annotation was written with it. */
static bool is_suspended(struct pass *pass, const struct kube_answer *answer)
{
	struct ray_cluster *cluster = ARENA_NEW(&pass->arena, struct ray_cluster);

	if (act_decode_cluster(answer->body, answer->body_size, &pass->arena, cluster, NULL) < 0)
		return false;
	return cluster->suspend && labels_value(&cluster->annotations, ANNOTATION_SUSPENDED);
}

/* Where the RayCluster is not suspended the next pass may try again. Where it could not be read this
 * is unknown: if it was suspended, and is resumed, its time begins again, as after an accepted
 * patch. */
static void cluster_looked_at(void *context, const struct kube_answer *answer,
			      const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	pass_request_end(request);
	if (err)
		pass_finish(pass, pass->new_memory, NULL, &pass->lost);
	else if (!is_suspended(pass, answer))
		pass_finish(pass, NULL, NULL, &pass->lost);
	else
		pass_accepted(pass, answer->body);
}

bool pass_look_at_suspension(struct pass *pass, const struct kube_answer *answer,
			     const struct err *err)
{
	const struct plan_idle *idle = pass->work->plan->idle;

	if (!idle || idle->action != IDLE_ACTION_END_SUSPEND || answer->retry_after_ms > 0 ||
	    (err->kind != ERR_RETRY && err->kind != ERR_TIMEOUT))
		return false;
	pass->lost = *err;
	pass_read_cluster(pass, cluster_looked_at);
	return true;
}
