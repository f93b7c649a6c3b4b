/* kube/kube_path and kube/kube_error: paths joined and split, errors with their fix. */
#include "kube/kube_path.h"

#include <string.h>

#include "base/memory.h"
#include "kube/kube_error.h"
#include "test/support/support.h"

static void test_paths(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	assert_string_equal(kube_path(&arena, "v1", NULL, "pods", NULL, NULL), "/api/v1/pods");
	assert_string_equal(kube_path(&arena, "v1", "a", "pods", "p", "status"),
			    "/api/v1/namespaces/a/pods/p/status");
	assert_string_equal(kube_path(&arena, "ray.io/v1", "a", "rayclusters", "c", ""),
			    "/apis/ray.io/v1/namespaces/a/rayclusters/c");
	assert_string_equal(kube_path(&arena, "v1", "", "nodes", "n", NULL), "/api/v1/nodes/n");
	arena_done(&arena);
}

/* A name cannot leave its segment, whatever it holds. */
static void test_names_are_encoded(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	assert_string_equal(kube_path(&arena, "v1", "..", "pods", "a/b?c#d%e f\xc3\xa9", NULL),
			    "/api/v1/namespaces/%2E%2E/pods/a%2Fb%3Fc%23d%25e%20f%C3%A9");
	assert_string_equal(kube_path(&arena, "v1", "a.b", "pods", ".", NULL),
			    "/api/v1/namespaces/a.b/pods/%2E");
	assert_string_equal(kube_path_query(&arena, "/p", "labelSelector", "ray.io/cluster=a,b!=c"),
			    "/p?labelSelector=ray.io%2Fcluster%3Da%2Cb%21%3Dc");
	assert_string_equal(kube_path_query(&arena, "/p?a=1", "b", "&"), "/p?a=1&b=%26");
	arena_done(&arena);
}

static void check_split(const char *path, const char *group, const char *namespace_,
			const char *plural, const char *name, const char *subresource)
{
	struct arena arena = ARENA_INIT;
	struct kube_path_parts parts;

	kube_path_split(&arena, path, &parts);
	assert_string_equal(parts.group, group);
	assert_string_equal(parts.namespace_, namespace_);
	assert_string_equal(parts.plural, plural);
	assert_string_equal(parts.name, name);
	assert_string_equal(parts.subresource, subresource);
	arena_done(&arena);
}

static void test_split(void **state)
{
	(void)state;
	check_split("/api/v1/pods?watch=true", "", "", "pods", "", "");
	check_split("/api/v1/namespaces/a/pods/p/status", "", "a", "pods", "p", "status");
	check_split("/apis/ray.io/v1/namespaces/a/rayclusters/c%2Fd", "ray.io", "a", "rayclusters",
		    "c/d", "");
	check_split("/api/v1/namespaces/a", "", "", "namespaces", "a", "");
	check_split("/apis/ray.io/v1", "ray.io", "", "", "", "");
	check_split("", "", "", "", "", "");
	check_split("/", "", "", "", "", "");
	check_split("/a/b/c/d/e/f/g/h/i/j/k", "", "", "c", "d", "e");
	check_split("/api/v1/pods/%", "", "", "pods", "%", "");
	check_split("/api/v1/pods/%4", "", "", "pods", "%4", "");
}

static void check_error(enum kube_verb verb, const char *path, int status, const char *body,
			enum err_kind kind, const char *text)
{
	struct kube_error_call call = {
		.verb = verb, .path = path, .source = "in-cluster", .problem = ""
	};
	int64_t retry_after_ms = 0;
	struct err err;

	kube_error_set(&call, status, body, strlen(body), &retry_after_ms, &err);
	assert_string_equal(err_kind_name(err.kind), err_kind_name(kind));
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
	if (strstr(body, "being terminated") && strstr(err.text, "grant"))
		fail_msg("%s", err.text);
}

#define CLUSTER "/apis/ray.io/v1/namespaces/a/rayclusters/c"

static void test_errors(void **state)
{
	(void)state;
	check_error(
		KUBE_GET, "/api/v1/pods?limit=1", 403,
		"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"pods is forbidden: User x cannot list\"}",
		ERR_DENIED,
		"list pods: 403 Forbidden: pods is forbidden: User x cannot list; fix: grant {apiGroups: "
		"[\"\"], resources: [\"pods\"], verbs: [\"list\"]} by a "
		"ClusterRole");
	check_error(
		KUBE_CREATE, "/api/v1/namespaces/a/pods", 403,
		"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"pods p is forbidden: "
		"exceeded quota: q\"}",
		ERR_DENIED,
		"create pods in namespace a: 403 Forbidden: pods p is forbidden: exceeded quota: q");
	check_error(KUBE_JSON_PATCH, CLUSTER "/status", 403, "no JSON", ERR_DENIED,
		    "patch rayclusters/status.ray.io a/c: 403; fix: grant "
		    "{apiGroups: [\"ray.io\"], resources: "
		    "[\"rayclusters/status\"], verbs: [\"patch\"]} by a Role in "
		    "namespace a");
	/* No right helps; the end of the text is that of the message. */
	check_error(
		KUBE_CREATE, "/api/v1/namespaces/a/events", 403,
		"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"unable to create new "
		"content in namespace a because it is being terminated\"}",
		ERR_DENIED, "");
	check_error(KUBE_GET, CLUSTER, 401, "", ERR_DENIED, "check the credentials of in-cluster");
	check_error(KUBE_GET, CLUSTER, 404, "", ERR_NOT_FOUND, "get rayclusters.ray.io a/c: 404");
	check_error(KUBE_JSON_PATCH, CLUSTER, 409, "", ERR_CONFLICT, "");
	check_error(KUBE_JSON_PATCH, CLUSTER, 422, "", ERR_CONFLICT, "");
	check_error(KUBE_CREATE, CLUSTER, 422, "", ERR_INPUT, "create");
	check_error(KUBE_GET, CLUSTER, 410, "", ERR_GONE, "");
	check_error(KUBE_GET, CLUSTER, 400, "", ERR_INPUT, "");
	check_error(KUBE_GET, CLUSTER, 302, "", ERR_INPUT, "302");
	check_error(KUBE_GET, CLUSTER, 503, "<html>", ERR_RETRY, "503");
	check_error(KUBE_GET, "/apis/ray.io/v1", 500, "", ERR_RETRY, "get /apis/ray.io/v1: 500");
}

static void test_retry_after_of_status(void **state)
{
	static const char body[] = "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3}}";
	struct kube_error_call call = { .verb = KUBE_GET, .path = "/api/v1/pods", .source = "" };
	int64_t retry_after_ms = 1000;

	(void)state;
	kube_error_set(&call, 429, body, strlen(body), &retry_after_ms, NULL);
	assert_int_equal(retry_after_ms, 3000);
	retry_after_ms = 7000;
	kube_error_set(&call, 429, body, strlen(body), &retry_after_ms, NULL);
	assert_int_equal(retry_after_ms, 7000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_names_are_encoded),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_retry_after_of_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
