#include "ctl/pass/credentials.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/memory.h"
#include "codec/objects/secret_json.h"
#include "codec/objects/token_request_json.h"
#include "codec/text/json.h"
#include "core/model/field.h"
#include "ctl/shared/options.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/h2_tls.h"
#include "net/loop.h"

#define ANSWER_MAX_BYTES ((size_t)2 << 20)
#define REREAD_MS 5000
#define ENVIRONMENT_REREAD_MS 10000 /* projected tokens and certificates rotate */
#define TOKEN_SECONDS 3600
#define WORKER_SECRET "ray-worker-secret-" /* kuberay: GetTLSSecretName */

enum part { PART_TOKEN, PART_CERTIFICATE, PART_PRIVATE_KEY, PART_CA, PARTS };

/* The credentials that a head needs. Texts point into the objects and the arena. */
struct needs {
	struct secret_key from[PARTS]; /* secret "": not wanted */
	bool delegated;                /* from[PART_TOKEN].secret is a ServiceAccount */
	const char *plain_token;       /* "": none */
	const char *missing;           /* a variable whose file is in no Secret; NULL: none */
	const char *token_source, *tls_source;
};

/* One request; the parts that its answer has are those with the same `from`. */
struct reading {
	struct reader *reader;
	enum part first;
	struct kube_call *call;
};

/* Reads them; only for a head with needs that the API server has. */
struct reader {
	struct credentials *credentials;
	struct needs needs;
	struct arena arena; /* of the needs */
	struct reading readings[PARTS];
	char *values[PARTS]; /* of this round */
	bool failed;         /* this round */
	bool complete;       /* a round succeeded */
	int64_t next_ms;     /* monotonic: no round before */
	int64_t due_ms;      /* the next one when it is complete */
};

struct credentials {
	const struct control *control;
	const char *namespace_, *key;
	struct gcs_auth auth;
	struct reader *reader; /* NULL: nothing is read from the API server */
	int64_t next_read_ms;  /* of the environment */
	struct err *problem; /* NULL: none so far; allocated on the first problem to save memory */
};

static struct err *problem_of(struct credentials *credentials)
{
	if (!credentials->problem)
		credentials->problem = memory_alloc(sizeof(*credentials->problem));
	return credentials->problem;
}

static int64_t now_ms(const struct credentials *credentials)
{
	return loop_monotonic_ms(credentials->control->loop);
}

struct credentials *credentials_new(const struct control *control, const char *namespace_,
				    const char *key)
{
	struct credentials *credentials = memory_alloc(sizeof(*credentials));

	credentials->control = control;
	credentials->namespace_ = namespace_;
	credentials->key = key;
	credentials->auth = GCS_AUTH_INIT;
	credentials->next_read_ms = INT64_MIN;
	return credentials;
}

/* ---- the needs of a head ---- */

static bool is_token_mode(const struct ray_cluster *cluster, const struct ray_auth *auth)
{
	if (auth && auth->mode[0])
		return strcasecmp(auth->mode, "token") == 0;
	return strcmp(cluster->auth_mode, "token") == 0 ||
	       (auth && (auth->token.secret[0] || auth->plain_token[0]));
}

#define FROM_START                                                                                 \
	"; a head keeps the token that it was started with: after a change of the Secret delete "  \
	"the head Pod"

static void need_token(struct needs *needs, const struct ray_cluster *cluster,
		       const struct ray_auth *auth, struct arena *arena)
{
	struct secret_key *from = &needs->from[PART_TOKEN];

	if (!is_token_mode(cluster, auth))
		return;
	if (cluster->auth_kubernetes_tokens || (auth && auth->kubernetes_tokens)) {
		needs->delegated = true;
		*from = (struct secret_key){ .secret = CREDENTIALS_ACCOUNT, .key = "token" };
		needs->token_source = arena_printf(
			arena,
			"sent was a token of ServiceAccount %s/" CREDENTIALS_ACCOUNT
			" (enableK8sTokenAuth): it needs verb ray:write on rayclusters of ray.io there, "
			"and the head's account create on tokenreviews and subjectaccessreviews",
			cluster->namespace_);
	} else if (auth && auth->plain_token[0]) {
		needs->plain_token = auth->plain_token;
		needs->token_source = "sent was RAY_AUTH_TOKEN of the head Pod (mode token)";
	} else if (auth && auth->token.secret[0]) {
		*from = auth->token;
		needs->token_source =
			"sent was the token of the Secret that the head Pod has its own from "
			"(mode token)" FROM_START;
	} else {
		*from = (struct secret_key){ cluster->auth_secret_name[0] ?
						     cluster->auth_secret_name :
						     cluster->name,
					     GCS_AUTH_SECRET_KEY };
		needs->token_source =
			"sent was the token of the Secret of spec.authOptions (mode token)" FROM_START;
	}
}

static void need_tls(struct needs *needs, const struct ray_cluster *cluster,
		     const struct ray_auth *auth, bool head_known, struct arena *arena)
{
	static const char *const variables[PARTS] = { [PART_CERTIFICATE] = "RAY_TLS_SERVER_CERT",
						      [PART_PRIVATE_KEY] = "RAY_TLS_SERVER_KEY",
						      [PART_CA] = "RAY_TLS_CA_CERT" };
	const char *secret = "";

	if (head_known ? !auth || !auth->tls : !cluster->tls_enabled)
		return;
	if (cluster->tls_enabled || !auth) {
		secret = arena_printf(arena, WORKER_SECRET "%s", cluster->name);
		needs->from[PART_CERTIFICATE] =
			(struct secret_key){ secret, GCS_AUTH_TLS_CERT_KEY };
		needs->from[PART_PRIVATE_KEY] = (struct secret_key){ secret, GCS_AUTH_TLS_KEY_KEY };
		needs->from[PART_CA] = (struct secret_key){ secret, GCS_AUTH_TLS_CA_KEY };
	} else {
		needs->from[PART_CERTIFICATE] = auth->certificate;
		needs->from[PART_PRIVATE_KEY] = auth->private_key;
		needs->from[PART_CA] = auth->ca;
	}
	for (enum part part = PART_CERTIFICATE; part < PARTS; part++)
		if (!needs->from[part].secret[0] && !needs->missing)
			needs->missing = variables[part];
	needs->tls_source = secret[0] ?
				    "our certificate and the CA are those of the Secret that "
				    "cert-manager makes for the workers (spec.tlsOptions)" :
				    "our certificate and the CA are those of the Secrets among the "
				    "volumes of the head Pod";
}

static struct needs needs_of(const struct ray_cluster *cluster, const struct pod *head,
			     struct arena *arena)
{
	const struct ray_auth *auth = head ? head->ray_auth : NULL;
	struct needs needs = { .plain_token = "", .token_source = "", .tls_source = "" };

	for (enum part part = 0; part < PARTS; part++)
		needs.from[part] = (struct secret_key){ "", "" };
	need_token(&needs, cluster, auth, arena);
	need_tls(&needs, cluster, auth, head != NULL, arena);
	return needs;
}

static const struct field secret_fields[] = {
	FIELD_TEXT(struct secret_key, secret, "secret"),
	FIELD_TEXT(struct secret_key, key, "key"),
	FIELD_END,
};

/* Other values of these are other needs. */
static const struct field needs_fields[] = {
	FIELD_PART(struct needs, from[PART_TOKEN], secret_fields, "token"),
	FIELD_PART(struct needs, from[PART_CERTIFICATE], secret_fields, "certificate"),
	FIELD_PART(struct needs, from[PART_PRIVATE_KEY], secret_fields, "privateKey"),
	FIELD_PART(struct needs, from[PART_CA], secret_fields, "ca"),
	FIELD_BOOLEAN(struct needs, delegated, "delegated"),
	FIELD_TEXT(struct needs, plain_token, "plainToken"),
	FIELD_TEXT(struct needs, missing, "missing"),
	FIELD_END,
};

static const struct field source_fields[] = {
	FIELD_TEXT(struct needs, token_source, "tokenSource"),
	FIELD_TEXT(struct needs, tls_source, "tlsSource"),
	FIELD_END,
};

/* Something has to be read or made. */
static bool is_secured(const struct needs *needs)
{
	for (enum part part = 0; part < PARTS; part++)
		if (needs->from[part].secret[0])
			return true;
	return needs->missing || needs->plain_token[0];
}

/* ---- the reader ---- */

static void drop_values(struct reader *reader)
{
	for (enum part part = 0; part < PARTS; part++) {
		if (reader->values[part])
			explicit_bzero(reader->values[part], strlen(reader->values[part]));
		memory_free(steal(&reader->values[part]));
	}
}

static void reader_free(struct reader *reader)
{
	if (!reader)
		return;
	for (enum part part = 0; part < PARTS; part++)
		kube_client_cancel(reader->readings[part].call);
	drop_values(reader);
	arena_done(&reader->arena);
	memory_free(reader);
}

void credentials_free(struct credentials *credentials)
{
	if (!credentials)
		return;
	reader_free(credentials->reader);
	gcs_auth_done(&credentials->auth);
	memory_free(credentials->problem);
	memory_free(credentials);
}

static struct reader *reader_new(struct credentials *credentials, const struct needs *needs)
{
	struct reader *reader = memory_alloc(sizeof(*reader));

	reader->credentials = credentials;
	reader->next_ms = INT64_MIN;
	reader->needs = *needs;
	field_own(needs_fields, &reader->needs, &reader->arena);
	field_own(source_fields, &reader->needs, &reader->arena);
	return reader;
}

static bool is_reading(const struct reader *reader)
{
	for (enum part part = 0; part < PARTS; part++)
		if (reader->readings[part].call)
			return true;
	return false;
}

/* ---- the answers ---- */

static int make_token(struct reader *reader, char **ret_token, struct err *err)
{
	const struct needs *needs = &reader->needs;
	const struct secret_key *from = &needs->from[PART_TOKEN];
	const char *value = reader->values[PART_TOKEN];

	*ret_token = NULL;
	if (needs->plain_token[0])
		return gcs_auth_parse_token("RAY_AUTH_TOKEN of the head Pod", needs->plain_token,
					    strlen(needs->plain_token), ret_token, err);
	if (!value || gcs_auth_parse_token(from->key, value, strlen(value), ret_token, err) == 0)
		return 0;
	return err_prefix(err, "Secret %s/%s", reader->credentials->namespace_, from->secret);
}

/* Keeps the object when nothing changed, and with it the connection. */
static int make_tls(struct reader *reader, struct h2_tls **ret_tls, struct err *err)
{
	struct h2_tls *known = reader->credentials->auth.tls;
	const char *certificate = reader->values[PART_CERTIFICATE];
	const char *key = reader->values[PART_PRIVATE_KEY], *ca = reader->values[PART_CA];

	*ret_tls = NULL;
	if (!certificate)
		return 0;
	*ret_tls = known && h2_tls_matches(known, certificate, key, ca) ?
			   h2_tls_reference(known) :
			   h2_tls_new(certificate, key, ca, err);
	if (*ret_tls)
		return 0;
	return err_prefix(err, "Secret %s/%s", reader->credentials->namespace_,
			  reader->needs.from[PART_CERTIFICATE].secret);
}

static void finish_round(struct reader *reader)
{
	struct credentials *credentials = reader->credentials;
	struct gcs_auth auth = GCS_AUTH_INIT;

	if (!reader->failed && make_token(reader, &auth.token, problem_of(credentials)) == 0 &&
	    make_tls(reader, &auth.tls, problem_of(credentials)) == 0) {
		gcs_auth_done(&credentials->auth);
		credentials->auth = auth;
		auth = GCS_AUTH_INIT;
		reader->complete = true;
	}
	gcs_auth_done(&auth);
	drop_values(reader);
}

static int take_secret(struct reader *reader, const struct cJSON *json, enum part part,
		       struct arena *scratch, struct err *err)
{
	const char *bytes;
	size_t size;

	if (secret_decode(json, "", reader->needs.from[part].key, scratch, &bytes, &size, err) < 0)
		return -1;
	if (strlen(bytes) != size)
		return err_set(err, ERR_INPUT, "data.%s: has a NUL byte, is not text",
			       reader->needs.from[part].key);
	reader->values[part] = memory_strdup(bytes);
	return 0;
}

/* It is asked for again after four fifths of its life. */
static int take_delegated(struct reader *reader, const struct cJSON *json, struct arena *scratch,
			  struct err *err)
{
	struct credentials *credentials = reader->credentials;
	int64_t life_ms = (int64_t)TOKEN_SECONDS * MS_PER_SECOND;
	const char *token;
	time_ms ends;

	if (token_request_decode(json, "", scratch, &token, &ends, err) < 0)
		return -1;
	if (ends != TIME_NONE)
		life_ms = ends - loop_wall(credentials->control->loop);
	reader->due_ms = now_ms(credentials) + life_ms / 5 * 4;
	reader->values[PART_TOKEN] = memory_strdup(token);
	return 0;
}

static int take_answer(struct reader *reader, enum part first, const struct kube_answer *answer,
		       struct err *err)
{
	static const struct json_limits limits = {
		/* On the loop: a Secret of 1 MiB in many small values would take 15 ms. */
		.bytes = ANSWER_MAX_BYTES,
		.depth = 50,
		.elements = 5000,
		.foreign = true
	};
	const struct needs *needs = &reader->needs;
	AUTO(json_done) struct cJSON *json = NULL;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (json_parse(answer->body, answer->body_size, &limits, &json, err) < 0)
		return -1;
	if (first == PART_TOKEN && needs->delegated)
		return take_delegated(reader, json, &scratch, err);
	for (enum part part = first; part < PARTS; part++)
		if (strcmp(needs->from[part].secret, needs->from[first].secret) == 0 &&
		    take_secret(reader, json, part, &scratch, err) < 0)
			return -1;
	return 0;
}

/* "NAMESPACE:NAME" of the ServiceAccount that an answer of the API server names, as kubectl reads it. */
static const char *account_in(const char *text, struct arena *arena)
{
	static const char user[] = "system:serviceaccount:";
	const char *account = strstr(text, user);

	if (!account)
		return "NAMESPACE:NAME";
	account += sizeof(user) - 1;
	return arena_printf(arena, "%.*s", (int)strcspn(account, "\" "), account);
}

/* The name of the ClusterRole is the chart's for a release of the usual name. */
static void explain_denied(const struct credentials *credentials, struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err plain = *err;

	err_set(err, ERR_DENIED,
		"%s: kubectl create rolebinding rayscaler-secrets --clusterrole=rayscaler-secrets "
		"--serviceaccount=%s --namespace=%s, or the chart's value rbac.readSecrets.namespaces",
		plain.text, account_in(plain.text, &scratch), credentials->namespace_);
}

/* The err of the API server, with the cure that only we know. */
static void explain(struct reader *reader, enum part first, struct err *err)
{
	struct err plain = *err;
	bool delegated = first == PART_TOKEN && reader->needs.delegated;

	if (err->kind == ERR_DENIED)
		explain_denied(reader->credentials, err);
	if (err->kind != ERR_NOT_FOUND)
		return;
	if (delegated)
		err_set(err, ERR_NOT_FOUND,
			"%s; create ServiceAccount " CREDENTIALS_ACCOUNT
			" in namespace %s, with a Role for verb ray:write on rayclusters of ray.io",
			plain.text, reader->credentials->namespace_);
	else if (first != PART_TOKEN)
		err_set(err, ERR_NOT_FOUND,
			"%s; cert-manager makes it for spec.tlsOptions, else it is a volume of the head",
			plain.text);
}

static void answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct reading *reading = context;
	struct reader *reader = reading->reader;
	struct credentials *credentials = reader->credentials;
	struct err problem = { .kind = ERR_NONE };

	reading->call = NULL;
	if (err) {
		problem = *err;
		explain(reader, reading->first, &problem);
		if (answer->retry_after_ms > REREAD_MS)
			reader->next_ms = now_ms(credentials) + answer->retry_after_ms;
	} else if (take_answer(reader, reading->first, answer, &problem) < 0) {
		(void)err_prefix(&problem, "%s %s/%s",
				 reading->first == PART_TOKEN && reader->needs.delegated ?
					 "ServiceAccount" :
					 "Secret",
				 credentials->namespace_,
				 reader->needs.from[reading->first].secret);
	}
	if (problem.kind != ERR_NONE && !reader->failed) {
		*problem_of(credentials) = problem;
		reader->failed = true;
	}
	if (!is_reading(reader))
		finish_round(reader);
}

/* ---- the requests ---- */

static void send_request(struct reader *reader, enum part part)
{
	const struct credentials *credentials = reader->credentials;
	const struct needs *needs = &reader->needs;
	bool delegated = part == PART_TOKEN && needs->delegated;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf body;
	struct reading *reading = &reader->readings[part];

	buf_init(&body, 4096);
	if (delegated)
		token_request_write(TOKEN_SECONDS, &body);
	reading->reader = reader;
	reading->first = part;
	reading->call = kube_client_request(
		credentials->control->kube,
		&(struct kube_request){ .verb = delegated ? KUBE_CREATE : KUBE_GET,
					.path = kube_path(&scratch, "v1", credentials->namespace_,
							  delegated ? "serviceaccounts" : "secrets",
							  needs->from[part].secret,
							  delegated ? "token" : NULL),
					.body = body.size ? body.data : NULL,
					.body_size = body.size,
					.flow = credentials->key },
		answered, reading);
}

/* An earlier part of the round is in the same Secret. */
static bool is_asked_for(const struct reader *reader, enum part part)
{
	const struct needs *needs = &reader->needs;

	for (size_t i = needs->delegated ? PART_CERTIFICATE : PART_TOKEN; i < (size_t)part; i++)
		if (strcmp(needs->from[i].secret, needs->from[part].secret) == 0)
			return true;
	return false;
}

static void start_round(struct reader *reader)
{
	struct credentials *credentials = reader->credentials;

	reader->next_ms = now_ms(credentials) + REREAD_MS;
	reader->due_ms = INT64_MAX;
	reader->failed = false;
	if (reader->needs.missing) {
		err_set(problem_of(credentials), ERR_INPUT,
			"the head Pod sets RAY_USE_TLS, and the file of %s is in no Secret among its volumes; "
			"mount it from a Secret, or run rayscaler as the sidecar",
			reader->needs.missing);
		return;
	}
	if (!reader->complete)
		err_set(problem_of(credentials), ERR_RETRY, "Ray's credentials are being read");
	for (enum part part = 0; part < PARTS; part++)
		if (reader->needs.from[part].secret[0] && !is_asked_for(reader, part))
			send_request(reader, part);
	if (!is_reading(reader))
		finish_round(reader);
}

/* Controller mode. */
static int follow_head(struct credentials *credentials, const struct ray_cluster *cluster,
		       const struct pod *head, struct credentials_view *ret_view)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct needs needs = needs_of(cluster, head, &scratch);
	struct reader *reader = credentials->reader;

	if (reader && !field_equal(needs_fields, &reader->needs, &needs)) {
		reader_free(steal(&credentials->reader));
		gcs_auth_done(&credentials->auth);
	}
	if (!is_secured(&needs))
		return 0;
	if (!credentials->reader)
		credentials->reader = reader_new(credentials, &needs);
	reader = credentials->reader;
	ret_view->token_source = reader->needs.token_source;
	ret_view->tls_source = reader->needs.tls_source;
	if (!is_reading(reader) && now_ms(credentials) >= reader->next_ms &&
	    (!reader->complete || now_ms(credentials) >= reader->due_ms))
		start_round(reader);
	return reader->complete ? 0 : -1;
}

/* Sidecar mode: KubeRay gives the container the same environment as the head's own processes. */
static int follow_environment(struct credentials *credentials)
{
	if (now_ms(credentials) < credentials->next_read_ms)
		return problem_of(credentials)->kind ? -1 : 0;
	credentials->next_read_ms = now_ms(credentials) + ENVIRONMENT_REREAD_MS;
	problem_of(credentials)->kind = ERR_NONE;
	return gcs_auth_from_environment(&credentials->auth, problem_of(credentials));
}

int credentials_get(struct credentials *credentials, const struct ray_cluster *cluster,
		    const struct pod *head, struct credentials_view *ret_view,
		    const char **ret_problem)
{
	int status;

	*ret_view = (struct credentials_view){ .auth = &credentials->auth,
					       .token_source = "",
					       .tls_source = "" };
	if (options_sidecar(credentials->control->options))
		status = follow_environment(credentials);
	else
		status = follow_head(credentials, cluster, head, ret_view);
	*ret_problem = status < 0 ? credentials->problem->text : "";
	return status;
}

void credentials_refused(struct credentials *credentials)
{
	credentials->next_read_ms = INT64_MIN;
	if (credentials->reader)
		credentials->reader->due_ms = INT64_MIN;
}
