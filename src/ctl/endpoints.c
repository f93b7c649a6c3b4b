#include "ctl/endpoints.h"

#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/list.h"
#include "base/memory.h"
#include "ctl/report/access.h"
#include "ctl/report/metrics.h"
#include "ctl/report/metrics_text.h"
#include "ctl/report/status.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/serve.h"
#include "net/serve_certificate.h"

#define CERTIFICATE_CHECK_MS 5000

/* A request whose sender the API server is asked about. */
struct visit {
	struct endpoints *endpoints;
	struct list_item item;
	struct serve_request *request;
	char *path;
};

/* An exposition in progress. */
struct scrape {
	const struct control *control;
	struct metrics_cursor cursor;
};

struct endpoints {
	const struct control *control;
	struct budget *unread;          /* answers of both ports that are not read yet */
	struct serve *metrics, *probes; /* NULL: switched off */
	/* With --metrics-secure: */
	struct access *access;
	struct list visits;
	struct serve_certificate certificate; /* of `metrics` */
	struct loop_timer *certificate_timer; /* NULL: it does not change */
	struct log_repeat certificate_trouble;
};

/* ---- probes ---- */

/* Why decisions cannot be made in full; "" when they can. A standby does not decide: it is ready
 * once it has read everything, and stays ready while the API server is unreachable, so that this
 * does not block a rollout. */
static const char *not_ready(const struct control *control, struct arena *arena)
{
	if (control_synced(control) && !leader_is_leading(control->leader))
		return "";
	return control_stale(control, arena);
}

static void handle_probe(void *context, const char *path, struct serve_request *request)
{
	const struct endpoints *endpoints = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *problem;

	if (!strcmp(path, "/healthz")) {
		serve_answer_text(request, 200, "ok");
		return;
	}
	if (strcmp(path, "/readyz") != 0) {
		serve_answer_text(request, 404, "here are /healthz and /readyz");
		return;
	}
	problem = not_ready(endpoints->control, &scratch);
	if (problem[0])
		serve_answer_text(request, 503,
				  arena_printf(&scratch, "cannot read the API server's %s",
					       problem));
	else
		serve_answer_text(request, 200, "ok");
}

/* ---- metrics ---- */

static struct metrics_now metrics_now(const struct control *control)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	return (struct metrics_now){
		.leader = leader_is_leading(control->leader),
		/* The next pass sees it as well but may be far off: a RayCluster whose patch failed
		 * waits for its backoff. */
		.view_stale = control_stale(control, &scratch)[0] != '\0',
		.gpu_share = control->gpu_share,
		.features = control->features,
		.memory = control->memory,
		.longest_turn_us = loop_longest_turn_us(control->loop),
		.longest_turn_cpu_us = loop_longest_turn_cpu_us(control->loop),
	};
}

static bool scrape_more(void *own, struct buf *piece)
{
	struct scrape *scrape = own;
	const struct metrics_now now = metrics_now(scrape->control);

	return metrics_write_piece(scrape->control->metrics, &now, &scrape->cursor,
				   SERVE_PIECE_BYTES, piece);
}

static void answer_metrics(const struct endpoints *endpoints, struct serve_request *request)
{
	static const struct serve_source source = { scrape_more, memory_free };
	struct scrape *scrape = memory_alloc(sizeof(*scrape));

	scrape->control = endpoints->control;
	serve_answer_source(request, METRICS_TEXT_TYPE, &source, scrape);
}

/* ---- who asks ---- */

/* all: the client may see all clusters. */
static void answer_page(struct endpoints *endpoints, const char *path, bool all,
			struct serve_request *request)
{
	if (!strcmp(path, "/metrics"))
		answer_metrics(endpoints, request);
	else
		status_ask(endpoints->control->status, path, all, request);
}

static void visit_free(struct visit *visit)
{
	list_remove(&visit->item);
	memory_free(visit->path);
	memory_free(visit);
}

/* /status is for everyone with an account: it has the version and the leader, and the clusters only
 * for those who may see all of them. */
static void judged(void *context, const struct access_verdict *verdict)
{
	struct visit *visit = context;
	bool list = status_is_list(visit->path);

	if (verdict->status == 200 || (verdict->status == 403 && list))
		answer_page(visit->endpoints, visit->path, verdict->status == 200, visit->request);
	else
		serve_answer_text(visit->request, verdict->status, verdict->text);
	visit_free(visit);
}

/* The right that a page needs; false: there is no such page. */
static bool right_for(const struct endpoints *endpoints, const char *path,
		      struct status_path *ret_parsed, struct access_right *ret_right)
{
	*ret_right = (struct access_right){ .path = NULL, .namespace_ = "", .name = "" };
	if (!strcmp(path, "/metrics")) {
		ret_right->path = path;
		return true;
	}
	if (status_is_list(path))
		return true;
	if (!status_parse_path(path, ret_parsed) ||
	    !status_has_page(endpoints->control->status, ret_parsed))
		return false;
	ret_right->namespace_ = ret_parsed->namespace_;
	ret_right->name = ret_parsed->name;
	return true;
}

static void ask_access(struct endpoints *endpoints, const char *path,
		       const struct access_right *right, struct serve_request *request)
{
	const char *token = serve_header(request, SERVE_AUTHORIZATION_PROXIED);
	struct visit *visit = memory_alloc(sizeof(*visit));
	struct access_question *question;

	visit->endpoints = endpoints;
	visit->request = request;
	visit->path = memory_strdup(path);
	list_add(&endpoints->visits, &visit->item);
	question = access_ask(endpoints->access,
			      token ? token : serve_header(request, SERVE_AUTHORIZATION),
			      serve_peer(request), right, judged, visit);
	if (!question || serve_may_wait(request))
		return;
	access_cancel(question);
	visit_free(visit);
}

static void handle(void *context, const char *path, struct serve_request *request)
{
	struct endpoints *endpoints = context;
	struct status_path parsed;
	struct access_right right;

	if (endpoints->access && right_for(endpoints, path, &parsed, &right))
		ask_access(endpoints, path, &right, request);
	else
		answer_page(endpoints, path, true, request);
}

/* ---- the certificate ---- */

static int load_certificate(struct endpoints *endpoints, struct err *err)
{
	const char *directory = endpoints->control->options->metrics_cert_dir;
	struct serve_certificate next;

	if (serve_certificate_load(directory, &next, err) < 0)
		return -1;
	if (endpoints->certificate.key_pem &&
	    serve_certificate_same(&endpoints->certificate, &next)) {
		serve_certificate_done(&next);
		return 0;
	}
	if (serve_tls(endpoints->metrics, next.certificate_pem, next.key_pem, err) < 0) {
		serve_certificate_done(&next);
		return -1;
	}
	if (endpoints->certificate.key_pem)
		log_info("the certificate of the metrics port changed", "directory", directory,
			 NULL);
	serve_certificate_done(&endpoints->certificate);
	endpoints->certificate = next;
	return 0;
}

/* While the files cannot be used the last pair remains. */
static void check_certificate(void *context)
{
	struct endpoints *endpoints = context;
	static const char message[] = "cannot use the new certificate of the metrics port";
	const char *directory = endpoints->control->options->metrics_cert_dir;
	struct err err;

	if (load_certificate(endpoints, &err) == 0)
		log_repeat_end(&endpoints->certificate_trouble, message, directory);
	else if (err.kind != ERR_RETRY)
		(void)log_repeat_error(&endpoints->certificate_trouble, message, directory,
				       err.text);
	loop_timer_start(endpoints->certificate_timer, CERTIFICATE_CHECK_MS);
}

static int secure(struct endpoints *endpoints, struct err *err)
{
	const struct control *control = endpoints->control;

	if (!endpoints->metrics || !control->options->metrics_secure)
		return 0;
	if (load_certificate(endpoints, err) < 0)
		return err_prefix(err, "--metrics-cert-dir");
	endpoints->access = access_new(control->reviews, &(struct access_options){ .kept_ms = 0 });
	if (control->options->metrics_cert_dir[0]) {
		endpoints->certificate_timer =
			loop_timer_new(control->loop, check_certificate, endpoints);
		loop_timer_start(endpoints->certificate_timer, CERTIFICATE_CHECK_MS);
	}
	return 0;
}

/* ---- listening ---- */

/* "127.0.0.1:0" and the port that the kernel assigned. */
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
	struct serve_limits limits = SERVE_LIMITS_INIT;

	limits.unread = endpoints->unread;
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
	endpoints->unread = budget_new("all answers that their clients have not read yet",
				       "read them, or ask for less at once", SERVE_UNREAD_MAX_BYTES,
				       control->memory ? control->memory->root : NULL);
	if (open_server(endpoints, "metrics-bind-address",
			options_metrics_address(control->options), handle, &endpoints->metrics,
			err) == 0 &&
	    secure(endpoints, err) == 0 &&
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

int endpoints_probe_port(const struct endpoints *endpoints)
{
	return endpoints->probes ? serve_port(endpoints->probes) : 0;
}

void endpoints_free(struct endpoints *endpoints)
{
	if (!endpoints)
		return;
	serve_free(endpoints->metrics);
	serve_free(endpoints->probes);
	access_free(endpoints->access);
	LIST_EACH(struct visit, visit, &endpoints->visits, item)
		visit_free(visit);
	loop_timer_free(endpoints->certificate_timer);
	serve_certificate_done(&endpoints->certificate);
	log_repeat_done(&endpoints->certificate_trouble);
	budget_free(endpoints->unread);
	memory_free(endpoints);
}
