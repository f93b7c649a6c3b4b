#include "cli/shared/controller_client.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/lease_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/token_request_json.h"
#include "codec/text/json.h"
#include "codec/text/rfc3339.h"
#include "kube/kube_path.h"
#include "net/loop.h"

#define LEASE_NAME "rayscaler"
#define POD_SELECTOR "app.kubernetes.io/name=rayscaler"
#define PORT_NAME "metrics"
#define PORT_DEFAULT 8080
#define LEASE_SLACK_MS 60000
#define PODS_MAX "250" /* with the label that are looked at */
#define READER_SUFFIX "-status-reader"
#define TOKEN_SECONDS 600
#define TOKEN_REQUEST_BYTES_MAX 1024
#define TOKEN_KEPT_MS 300000 /* half of that: `status --watch` */

static const struct json_limits limits = {
	.bytes = KUBE_BODY_MAX_BYTES, .depth = 64, .elements = 1000000, .foreign = true
};

/* ---- --controller-url ---- */

static bool is_loopback(const char *host)
{
	size_t size = strcspn(host, ":/");

	return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
	       (size == strlen("localhost") && strncmp(host, "localhost", size) == 0);
}

int controller_client_url(const char *given, struct arena *arena, const char **ret_url,
			  struct err *err)
{
	const char *scheme = "", *host = strstr(given, "://");
	size_t size = strlen(given);

	host = host ? host + 3 : given;
	if (host == given)
		scheme = is_loopback(host) ? "http://" : "https://";
	else if (strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0)
		return err_set(err, ERR_INPUT,
			       "--controller-url %.200s: the scheme must be "
			       "http or https",
			       given);
	for (const char *c = given; *c != '\0'; c++) {
		if (!isgraph((unsigned char)*c) || strchr("@?#", *c))
			return err_set(err, ERR_INPUT,
				       "--controller-url %.200s: must be http://HOST:PORT or "
				       "https://HOST:PORT",
				       given);
	}
	if (*host == '\0' || *host == '/')
		return err_set(err, ERR_INPUT, "--controller-url %.200s: has no host", given);
	while (size > 0 && given[size - 1] == '/')
		size--;
	*ret_url = arena_printf(arena, "%s%.*s", scheme, (int)size, given);
	return 0;
}

const struct field controller_client_ceiling_fields[] = {
	FIELD_TEXT(struct controller_client_ceiling, namespace_, "namespace",
		   .flags = FIELD_ALWAYS),
	FIELD_AMOUNT(struct controller_client_ceiling, amount, "ceiling", .flags = FIELD_ALWAYS),
	FIELD_AMOUNT(struct controller_client_ceiling, counted, "counted", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- finding it ---- */

struct finder {
	struct connection *connection;
	struct arena *arena;
	const char *namespace_;
	struct controller *controller;
	const char *pod;           /* the chosen one; NULL: none */
	int32_t port;              /* of it */
	const char *leader;        /* named by that Pod when it does not lead; NULL: none */
	bool leads;                /* the last one that answered */
	int status;                /* HTTP, of the last /status; 0: no answer */
	const char *token_problem; /* why no token of the status reader was had; "": it was */
	time_ms last_led;          /* as in struct controller */
};

static void give_up(struct finder *finder, const char *problem)
{
	finder->controller->problem = problem;
}

/* An answer of the API server, parsed. -1 with the fetch's error. */
static int fetch_json(struct finder *finder, struct fetch request, struct cJSON **ret_json,
		      struct err *err)
{
	AUTO(fetch_done) struct fetch fetch = request;

	return api_connection_fetch_one(finder->connection, &fetch, err) ||
			       json_parse(fetch.text, fetch.size, &limits, ret_json, err) ?
		       -1 :
		       0;
}

static const char *service_of(const struct finder *finder)
{
	const char *given = api_connection_flags(finder->connection)->controller_service;

	return given ? given : REMOTE_SERVICE;
}

static const char *request_token(struct finder *finder)
{
	struct arena *arena = finder->arena;
	const char *account = arena_printf(arena, "%s" READER_SUFFIX, service_of(finder));
	AUTO(json_done) struct cJSON *json = NULL;
	AUTO(buf_done) struct buf body = BUF_INIT(TOKEN_REQUEST_BYTES_MAX);
	const char *token;
	time_ms expires;
	struct err err;
	bool failed;

	token_request_write(TOKEN_SECONDS, &body);
	failed = fetch_json(finder,
			    (struct fetch){ .verb = KUBE_CREATE,
					    .path = kube_path(arena, "v1", finder->namespace_,
							      "serviceaccounts", account, "token"),
					    .body = buf_string(&body) },
			    &json, &err) ||
		 token_request_decode(json, "", arena, &token, &expires, &err);
	finder->token_problem = failed ? arena_strdup(arena, err.text) : "";
	if (failed)
		return NULL;
	api_connection_keep_token(finder->connection, token,
				  loop_monotonic_ms(api_connection_loop(finder->connection)) +
					  TOKEN_KEPT_MS);
	return token;
}

/* NULL: there is none. */
static const char *token_for(struct finder *finder)
{
	const char *token = api_connection_kept_token(finder->connection);

	finder->token_problem = "";
	if (!token)
		token = request_token(finder);
	if (!token)
		token = api_connection_user_token(finder->connection);
	return token ? arena_strdup(finder->arena, token) : NULL;
}

/* The Lease of a running controller is renewed every few seconds; a minute allows for clocks that
 * differ and for a change of the holder. */
static void read_renewal(struct finder *finder, const struct lease *lease)
{
	time_ms now = loop_wall(api_connection_loop(finder->connection)), renewed;
	const char *problem;

	if (rfc3339_parse(lease->renew_time, &renewed, &problem) == 0 &&
	    renewed < now - lease->duration_seconds * MS_PER_SECOND - LEASE_SLACK_MS)
		finder->last_led = renewed;
}

static int read_holder(struct finder *finder, const char **ret_holder, struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct lease lease;
	const char *path = kube_path(finder->arena, LEASE_API_VERSION, finder->namespace_, "leases",
				     LEASE_NAME, NULL);

	if (fetch_json(finder, (struct fetch){ .path = path }, &json, err) ||
	    lease_decode(json, "", finder->arena, &lease, err))
		return -1;
	*ret_holder = lease.holder;
	read_renewal(finder, &lease);
	return 0;
}

static int32_t pod_port(const struct pod *pod)
{
	ARRAY_EACH(const struct container, container, pod->spec.containers,
		   pod->spec.container_count) {
		for (size_t p = 0; p < container->port_count; p++) {
			if (strcmp(container->ports[p].name, PORT_NAME) == 0)
				return (int32_t)container->ports[p].port;
		}
	}
	return PORT_DEFAULT;
}

void controller_client_pod(const char *namespace_, const char *pod, int32_t port,
			   struct arena *arena, struct controller *ret_controller_client)
{
	const char *name = arena_printf(arena, "http:%s:%d", pod, port);

	*ret_controller_client = (struct controller){
		.where = arena_printf(arena, "Pod %s/%s", namespace_, pod),
		.version = "",
		.problem = "",
		.base = kube_path(arena, "v1", namespace_, "pods", name, "proxy"),
	};
}

/* The same port of the Pod with TLS. */
static const char *with_tls(struct finder *finder)
{
	return kube_path(finder->arena, "v1", finder->namespace_, "pods",
			 arena_printf(finder->arena, "https:%s:%d", finder->pod, finder->port),
			 "proxy");
}

static void take_pod(struct finder *finder, const struct pod *pod)
{
	finder->pod = arena_strdup(finder->arena, pod->name);
	finder->port = pod_port(pod);
	controller_client_pod(finder->namespace_, pod->name, finder->port, finder->arena,
			      finder->controller);
}

static void find_holder_pod(struct finder *finder, const char *holder)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct pod *pod = ARENA_NEW(finder->arena, struct pod);
	struct err err;
	const char *path = kube_path(finder->arena, "v1", finder->namespace_, "pods", holder, NULL);

	if (fetch_json(finder, (struct fetch){ .path = path }, &json, &err) ||
	    pod_decode(json, "", finder->arena, pod, &err)) {
		give_up(finder,
			arena_printf(finder->arena, "the Lease in namespace %s is held by %s: %s",
				     finder->namespace_, holder, err.text));
		return;
	}
	take_pod(finder, pod);
}

/* The first one that runs; unreadable ones are left out. */
static void look_at_pod(void *context, const char *text, size_t size, const char *problem)
{
	struct finder *finder = context;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	struct err err;
	struct pod pod;

	if (finder->pod || problem)
		return;
	foreign_object_parse(text, size, false, &json, &err);
	if (err.kind == ERR_NONE && pod_decode(json, "", &arena, &pod, &err) == 0 &&
	    strcmp(pod.phase, "Running") == 0 && !pod.deleting)
		take_pod(finder, &pod);
}

static void find_labelled_pod(struct finder *finder)
{
	struct err err;
	const char *path = kube_path(finder->arena, "v1", finder->namespace_, "pods", NULL, NULL);

	path = kube_path_query(finder->arena, path, "labelSelector", POD_SELECTOR);
	path = kube_path_query(finder->arena, path, "limit", PODS_MAX);
	if (api_connection_list(finder->connection, path, FOREIGN_OBJECT_MAX_BYTES, look_at_pod,
				finder, finder->arena, &err)) {
		give_up(finder, arena_strdup(finder->arena, err.text));
		return;
	}
	if (finder->pod)
		return;
	finder->controller->absent = true;
	give_up(finder,
		arena_printf(finder->arena,
			     "no Lease " LEASE_NAME " and no running Pod with label " POD_SELECTOR
			     " in namespace %s; another namespace: "
			     "--controller-namespace",
			     finder->namespace_));
}

static void find_pod(struct finder *finder)
{
	const char *holder = "";
	struct err err = { .kind = ERR_NONE };

	if (read_holder(finder, &holder, &err) && err.kind != ERR_NOT_FOUND) {
		give_up(finder, arena_strdup(finder->arena, err.text));
		return;
	}
	if (*holder != '\0')
		find_holder_pod(finder, holder);
	else
		find_labelled_pod(finder);
}

/* ---- its /status ---- */

static void set_address(const struct controller *controller, const char *address,
			struct fetch *ret_fetch)
{
	*ret_fetch = (struct fetch){ .path = controller->straight ? NULL : address,
				     .url = controller->straight ? address : NULL,
				     .token = controller->token,
				     .tries = controller->shared ? REMOTE_TRIES - 1 : 0 };
}

void controller_client_address(const struct controller *controller, struct arena *arena,
			       const char *kind, const char *namespace_, const char *name,
			       struct fetch *ret_fetch)
{
	set_address(controller,
		    kube_path_append(
			    arena,
			    kube_path_append(arena, kube_path_append(arena, controller->base, kind),
					     namespace_),
			    name),
		    ret_fetch);
}

/* Absent in the answer of an older controller. */
static const struct field answer_fields[] = {
	FIELD_TEXT(struct controller, version, "version"),
	FIELD_LIST(struct controller, ceilings, ceiling_count, controller_client_ceiling_fields,
		   "gpuCeilings"),
	FIELD_END,
};

static int read_status(struct finder *finder, const struct fetch *fetch, struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = finder->arena, .err = err };
	const char *holder = "";
	bool leads = true;
	struct json_at root;

	if (json_parse(fetch->text, fetch->size, &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) ||
	    field_decode_all(&root, answer_fields, finder->controller) ||
	    json_boolean(&root, "leader", &leads) || json_text(&root, "holder", &holder))
		return -1;
	finder->leads = leads || *holder == '\0';
	if (!leads && finder->pod && *holder != '\0' && strcmp(holder, finder->pod) != 0)
		finder->leader = holder;
	return 0;
}

/* 401: the fix. */
static const char *token_advice(const struct finder *finder, int status)
{
	const struct controller *controller = finder->controller;

	if (status != 401)
		return "";
	if (controller->token)
		return "; is the token of the kubeconfig's user valid for this API server?";
	return arena_printf(finder->arena,
			    "; the kubeconfig's user has no bearer token, and none could be "
			    "requested: %s; fix: grant {apiGroups: [\"\"], resources: "
			    "[\"serviceaccounts/token\"], resourceNames: [\"%s" READER_SUFFIX
			    "\"], verbs: [\"create\"]} in namespace %s (the chart's value "
			    "rbac.statusReaders does)",
			    finder->token_problem, service_of(finder), finder->namespace_);
}

static void ask_status(struct finder *finder)
{
	struct controller *controller = finder->controller;
	AUTO(fetch_done) struct fetch fetch = { .path = NULL };
	struct err err;

	finder->leader = NULL;
	set_address(controller, kube_path_append(finder->arena, controller->base, "status"),
		    &fetch);
	finder->leads = false;
	if (api_connection_fetch_one(finder->connection, &fetch, &err))
		give_up(finder, arena_printf(finder->arena, "%s%s%s%s",
					     controller->straight ? "" : controller->where,
					     controller->straight ? "" : ": ", err.text,
					     token_advice(finder, fetch.status)));
	else if (read_status(finder, &fetch, &err))
		give_up(finder, arena_printf(finder->arena, "%s: no answer of a controller: %s",
					     controller->where, err.text));
	else
		controller->found = true;
	finder->status = fetch.status;
}

/* A Service may lead to another replica each time: asked until the leader answers. Without an answer
 * of it one of a standby is used, which names the version. */
static void ask_replicas(struct finder *finder)
{
	for (int i = 0; i < REMOTE_TRIES; i++) {
		ask_status(finder);
		if (!finder->controller->found || finder->leads)
			return;
	}
}

static void forget(struct finder *finder)
{
	*finder->controller = (struct controller){ .where = "", .version = "", .problem = "" };
}

static void take_service(struct finder *finder, bool secure)
{
	struct arena *arena = finder->arena;
	const char *name = service_of(finder);
	const char *proxied =
		arena_printf(arena, "%s:%s:" PORT_NAME, secure ? "https" : "http", name);

	forget(finder);
	finder->controller->where = arena_printf(arena, "Service %s/%s", finder->namespace_, name);
	finder->controller->base =
		kube_path(arena, "v1", finder->namespace_, "services", proxied, "proxy");
	finder->controller->shared = true;
	if (secure)
		finder->controller->token = token_for(finder);
}

/* TLS first: without it, the controller is insecure or older. False: neither works, and the problem
 * is that of TLS. */
static bool find_by_service(struct finder *finder)
{
	const char *problem;
	int status;

	take_service(finder, true);
	ask_replicas(finder);
	problem = finder->controller->problem;
	status = finder->status;
	if (finder->controller->found)
		return true;
	if (status == 403 || status >= 500) {
		take_service(finder, false);
		ask_replicas(finder);
		if (finder->controller->found)
			return true;
	}
	forget(finder);
	give_up(finder, problem);
	finder->status = status;
	return false;
}

/* The port of the Pod that was taken, without TLS and then with it: the first is what an older
 * controller has, and costs no token. */
static void ask_pod(struct finder *finder)
{
	struct controller *controller = finder->controller;
	const char *problem;

	ask_status(finder);
	if (controller->found || finder->status < 500)
		return;
	problem = controller->problem;
	controller->problem = "";
	controller->base = with_tls(finder);
	controller->token = token_for(finder);
	ask_status(finder);
	if (!controller->found && finder->status >= 500)
		controller->problem = problem;
}

/* The Pod that holds the Lease, or the first one, and its /status. A Pod that does not lead names the
 * leader in its answer: then that Pod is found and asked instead, once. */
static void find_by_pod(struct finder *finder)
{
	find_pod(finder);
	if (finder->controller->base)
		ask_pod(finder);
	/* The Lease has a new holder, or there is none and the first Pod is a standby. */
	if (finder->controller->found && finder->leader) {
		forget(finder);
		find_holder_pod(finder, finder->leader);
		if (finder->controller->base)
			ask_pod(finder);
	}
}

/* Through the API server: the Service, and where it cannot be used the Pod. A Service that exists is
 * the one whose problem the user can fix. */
static void find_proxied(struct finder *finder)
{
	const char *problem;
	int status;

	if (find_by_service(finder) || finder->status == 401)
		return;
	problem = finder->controller->problem;
	status = finder->status;
	forget(finder);
	find_by_pod(finder);
	if (!finder->controller->found && status != 404)
		give_up(finder, problem);
}

/* The address of --controller-url. */
static void find_straight(struct finder *finder, const char *given)
{
	struct controller *controller = finder->controller;
	struct err err;

	if (controller_client_url(given, finder->arena, &controller->base, &err)) {
		give_up(finder, arena_strdup(finder->arena, err.text));
		return;
	}
	controller->straight = true;
	controller->where = controller->base;
	if (strncmp(controller->base, "https://", strlen("https://")) == 0)
		controller->token = token_for(finder);
	ask_status(finder);
}

static void find(struct connection *connection, struct arena *arena,
		 struct controller *ret_controller_client)
{
	const struct api_connection_flags *flags = api_connection_flags(connection);
	struct finder finder = {
		.connection = connection,
		.arena = arena,
		.namespace_ = flags->controller_namespace ? flags->controller_namespace :
							    REMOTE_NAMESPACE,
		.controller = ret_controller_client,
		.last_led = TIME_NONE,
		.token_problem = "",
	};

	forget(&finder);
	if (flags->controller_url)
		find_straight(&finder, flags->controller_url);
	else
		find_proxied(&finder);
	ret_controller_client->last_led = finder.last_led;
}

int controller_client_open(struct connection *connection, struct arena *arena,
			   struct controller *ret_controller_client, struct err *err)
{
	find(connection, arena, ret_controller_client);
	if (ret_controller_client->found || !api_connection_flags(connection)->controller_url)
		return 0;
	return err_set(err, ERR_RETRY,
		       "--controller-url: no controller answers: %s; check the address and "
		       "\"kubectl port-forward\", or omit the flag",
		       ret_controller_client->problem);
}
