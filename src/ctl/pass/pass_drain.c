#include "base/memory.h"
#include "ctl/pass/pass_intern.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "net/log.h"

static void drain_answered(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct pass_request *request = context;
	struct pass *pass = request->pass;

	pass_count_gcs_error(pass, err);
	pass->drain_errors += err != NULL;
	pass->drain_accepted |= reply->accepted;
	if (err)
		log_warning("drain failed, the worker stays", "cluster", pass->key, "pod",
			    request->pod, "error", err->text, NULL);
	else if (!reply->accepted)
		log_info("drain rejected, the worker stays", "cluster", pass->key, "pod",
			 request->pod, "why", reply->rejection, NULL);
	VEC_PUSH(&pass->arena, &pass->drains,
		 ((struct drain_answer){ .node_id = request->node_id,
					 .accepted = reply->accepted }));
	if (pass_request_end(request)) {
		pass_phase_end(pass, "draining");
		pass_decide(pass);
	}
}

bool pass_ask_drains(struct pass *pass, const struct plan *plan)
{
	size_t limit = (size_t)pass->config.control->options->max_drains;
	struct act_drains drains;

	act_drains(plan, limit, &pass->arena, &drains);
	pass->drained = true;
	if (drains.list.count == 0)
		return false;
	pass->step = PASS_DRAINING;
	pass_phase_begin(pass);
	VEC_EACH(const struct act_drain, drain, &drains.list) {
		struct pass_request *request = pass_request_new(pass);

		request->node_id = arena_strdup(&pass->arena, drain->node_id);
		request->pod = arena_strdup(&pass->arena, drain->pod);
		request->gcs = gcs_client_drain_node(pass->config.gcs, pass_gcs_timeout_ms(pass),
						     drain->node_id, drain->message, drain_answered,
						     request);
	}
	return true;
}
