#include "ctl/endpoints.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "ctl/leader.h"
#include "ctl/metrics.h"
#include "ctl/metrics_text.h"
#include "ctl/options.h"
#include "ctl/status.h"
#include "kube/kube_informer.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/serve.h"

struct endpoints {
	const struct control *control;
	struct serve *metrics, *probes; /* NULL: switched off */
};

/* ---- probes ---- */

static bool is_ready(const struct control *control)
{
	return control->ray_clusters && control->pods &&
	       kube_informer_synced(control->ray_clusters) && kube_informer_synced(control->pods);
}

static void handle_probe(void *context, const char *path, struct serve_request *request)
{
	const struct endpoints *endpoints = context;

	if (!strcmp(path, "/healthz"))
		serve_answer_text(request, 200, "ok");
	else if (strcmp(path, "/readyz") != 0)
		serve_answer_text(request, 404, "here are /healthz and /readyz");
	else if (is_ready(endpoints->control))
		serve_answer_text(request, 200, "ok");
	else
		serve_answer_text(request, 503,
				  "the API server has not told of all RayClusters and Pods yet");
}

/* ---- metrics ---- */

static void answer_metrics(const struct endpoints *endpoints, struct serve_request *request)
{
	AUTO(buf_done) struct buf body;
	struct metrics_now now = {
		.leader = leader_is_leading(endpoints->control->leader),
		.unreadable = endpoints->control->ray_clusters ?
				      kube_informer_bad_count(endpoints->control->ray_clusters) :
				      0,
	};

	buf_init(&body, SERVE_BODY_MAX_BYTES);
	metrics_write(endpoints->control->metrics, &now, &body);
	serve_answer(request, 200, METRICS_TEXT_TYPE, &body);
}

static void handle(void *context, const char *path, struct serve_request *request)
{
	const struct endpoints *endpoints = context;

	if (!strcmp(path, "/metrics"))
		answer_metrics(endpoints, request);
	else
		status_ask(endpoints->control->status, path, request);
}

/* ---- listening ---- */

/* "127.0.0.1:0" and the port that it became. */
static void log_serving(const char *what, const char *address, int port)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t host = (size_t)(strrchr(address, ':') - address);

	log_info("serving", "what", what, "address",
		 arena_printf(&scratch, "%.*s:%d", (int)host, address, port), NULL);
}

static int open_server(struct endpoints *endpoints, const char *flag, const char *address,
		       serve_handler *handler, struct serve **ret_server, struct err *err)
{
	const struct serve_limits limits = SERVE_LIMITS_INIT;

	if (!strcmp(address, "0"))
		return 0;
	*ret_server =
		serve_new(endpoints->control->loop, address, &limits, handler, endpoints, err);
	if (*ret_server) {
		log_serving(handler == handle ? "metrics" : "probes", address,
			    serve_port(*ret_server));
		return 0;
	}
	(void)err_prefix(err, "--%s", flag);
	if (!options_sidecar(endpoints->control->options) || err->kind == ERR_INPUT)
		return -1;
	log_error("going on without this port", "error", err->text, NULL);
	return 0;
}

struct endpoints *endpoints_new(const struct control *control, struct err *err)
{
	struct endpoints *endpoints = memory_alloc(sizeof(*endpoints));

	endpoints->control = control;
	if (open_server(endpoints, "metrics-bind-address",
			options_metrics_address(control->options), handle, &endpoints->metrics,
			err) == 0 &&
	    open_server(endpoints, "health-probe-bind-address",
			options_probe_address(control->options), handle_probe, &endpoints->probes,
			err) == 0)
		return endpoints;
	endpoints_free(endpoints);
	return NULL;
}

int endpoints_metrics_port(const struct endpoints *endpoints)
{
	return endpoints->metrics ? serve_port(endpoints->metrics) : 0;
}

void endpoints_free(struct endpoints *endpoints)
{
	if (!endpoints)
		return;
	serve_free(endpoints->metrics);
	serve_free(endpoints->probes);
	memory_free(endpoints);
}
