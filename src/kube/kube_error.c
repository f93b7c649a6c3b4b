#include "kube/kube_error.h"

#include <string.h>

#include "base/memory.h"
#include "base/time.h"
#include "codec/objects/watch_json.h"
#include "codec/text/json.h"
#include "kube/kube_path.h"
#include "net/process.h"

#define KUBE_STATUS_MESSAGE_MAX 400
#define KUBE_PROXIED_MESSAGE_MAX 300

static const struct json_limits kube_error_limits = {
	.bytes = 1 << 20,
	.depth = 64,
	.elements = 10000,
	.foreign = true,
};

static const char *kube_error_verb(const struct kube_error_call *call,
				   const struct kube_path_parts *parts)
{
	if (call->watch)
		return "watch";
	return call->verb == KUBE_GET && !*parts->name ? "list" : kube_verbs[call->verb].name;
}

static const char *kube_error_place(struct arena *arena, const struct kube_path_parts *parts)
{
	if (*parts->name && *parts->namespace_)
		return arena_printf(arena, " %s/%s", parts->namespace_, parts->name);
	if (*parts->name)
		return arena_printf(arena, " %s", parts->name);
	if (*parts->namespace_)
		return arena_printf(arena, " in namespace %s", parts->namespace_);
	return "";
}

static const char *kube_error_resource(struct arena *arena, const struct kube_path_parts *parts)
{
	if (!*parts->subresource)
		return parts->plural;
	return arena_printf(arena, "%s/%s", parts->plural, parts->subresource);
}

char *kube_error_subject(const struct kube_error_call *call)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kube_path_parts parts;

	kube_path_split(&arena, call->path, &parts);
	if (!*parts.plural)
		return memory_strdup(arena_printf(&arena, "get %s", call->path));
	return memory_strdup(arena_printf(&arena, "%s %s%s%s%s", kube_error_verb(call, &parts),
					  kube_error_resource(&arena, &parts),
					  *parts.group ? "." : "", parts.group,
					  kube_error_place(&arena, &parts)));
}

static const char *kube_error_cure(struct arena *arena, const struct kube_error_call *call,
				   int status, const char *message)
{
	bool in_cluster = strcmp(call->source, "in-cluster") == 0;
	struct kube_path_parts parts;

	kube_path_split(arena, call->path, &parts);
	/* Admission answers 403 as well: its message says what to change. */
	if (status == 403 && (*message == '\0' || strstr(message, " cannot ")))
		return arena_printf(arena,
				    "; fix: grant {apiGroups: [\"%s\"], resources: [\"%s\"], "
				    "verbs: [\"%s\"]} by a %s to %s%s",
				    parts.group, kube_error_resource(arena, &parts),
				    kube_error_verb(call, &parts),
				    *parts.namespace_ ? arena_printf(arena, "Role in namespace %s",
								     parts.namespace_) :
							"ClusterRole",
				    in_cluster ? "our ServiceAccount" : "the user of ",
				    in_cluster ? "" : call->source);
	if (status == 401)
		return arena_printf(arena, "; fix: check the credentials of %s%s%s", call->source,
				    *call->problem ? ": " : "", call->problem);
	return "";
}

/* The server's Status message; a body that is not a Status object (a proxy's page) is not
 * repeated. */
static struct api_status kube_error_status(struct arena *arena, const char *body, size_t size)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct api_status status = { .reason = "", .message = "" };

	if (size > 0 && json_parse(body, size, &kube_error_limits, &json, NULL) == 0)
		(void)api_status_decode(json, "", arena, &status, NULL);
	return status;
}

static enum err_kind kube_error_kind(const struct kube_error_call *call, int status)
{
	enum err_kind kind = api_status_kind(status);

	/* Only a JSON Patch has a `test` that can fail; for other calls 422 is an invalid
	 * object. */
	if (status == 422 && call->verb != KUBE_JSON_PATCH)
		return ERR_INPUT;
	return kind == ERR_NONE ? ERR_INPUT : kind;
}

void kube_error_unanswered(const struct kube_error_call *call, const struct err *why,
			   bool unreached, struct err *err)
{
	AUTO(memory_free_string) char *subject = kube_error_subject(call);
	bool theirs = unreached && (why->kind == ERR_RETRY || why->kind == ERR_TIMEOUT) &&
		      !strstr(why->text, PROCESS_TOO_MANY_FILES) &&
		      strcmp(call->source, "in-cluster") != 0;

	err_set(err, why->kind, "%s: %s%s%s%s", subject, why->text,
		theirs ? "; check that the API server of " : "", theirs ? call->source : "",
		theirs ? " runs and can be reached from here, or use another --context" : "");
}

/* The path ends at another server, and its answer is not a Status object. */
static bool kube_error_is_proxied(struct arena *arena, const struct kube_error_call *call,
				  const struct api_status *said)
{
	struct kube_path_parts parts;

	kube_path_split(arena, call->path, &parts);
	return strcmp(parts.subresource, "proxy") == 0 && !*said->reason && !*said->message;
}

void kube_error_set(const struct kube_error_call *call, int status, const char *body,
		    size_t body_size, int64_t *ret_retry_after_ms, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *subject = kube_error_subject(call);
	struct api_status said = kube_error_status(&arena, body, body_size);

	if (said.retry_after_seconds > 0 && said.retry_after_seconds < 86400 &&
	    said.retry_after_seconds * MS_PER_SECOND > *ret_retry_after_ms)
		*ret_retry_after_ms = said.retry_after_seconds * MS_PER_SECOND;
	if (kube_error_is_proxied(&arena, call, &said)) {
		int size = body_size > 0 ? (int)strcspn(body, "\r\n") : 0;

		err_set(err, kube_error_kind(call, status), "%s: %d%s%.*s", subject, status,
			size > 0 ? ": " : "",
			size > KUBE_PROXIED_MESSAGE_MAX ? KUBE_PROXIED_MESSAGE_MAX : size, body);
		return;
	}
	err_set(err, kube_error_kind(call, status), "%s: %d%s%s%s%.*s%s", subject, status,
		*said.reason ? " " : "", said.reason, *said.message ? ": " : "",
		KUBE_STATUS_MESSAGE_MAX, said.message,
		kube_error_cure(&arena, call, status, said.message));
}
