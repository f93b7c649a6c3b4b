/* RayClusters, namespaces and API servers that a command does not find: the answer names what exists,
 * what was meant, and where it was looked for. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

#define NAMED(namespace, name)                                                                     \
	"{'metadata':{'namespace':'" namespace "','name':'" name "'},'spec':{'a':{'b':[]}}}"
#define ALL                                                                                        \
	LIST(NAMED("ray", "demo") "," NAMED("ray", "train") "," NAMED(                             \
		"team-a", "demo2") "," NAMED("team-b", "serve") "," NAMED("team-b", "other"))
#define NOT_FOUND "{'kind':'Status','reason':'NotFound'}"
#define FORBIDDEN "{'kind':'Status','reason':'Forbidden'}"
#define IN_RAY                                                                                     \
	{ "GET " NS "/rayclusters/", 404, NOT_FOUND },                                             \
		{ "GET " NS "/rayclusters?limit=500", 0,                                           \
		  LIST(NAMED("ray", "demo") "," NAMED("ray", "train")) },                          \
		{ "GET " NS "/rayclusters", 0, LIST("") },                                         \
		{ "GET /api/v1/namespaces/ray/pods", 0, LIST("") },                                \
	{                                                                                          \
		"GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}"                               \
	}
#define HERE                                                                                       \
	{                                                                                          \
		"GET /api/v1/namespaces/ray", 0, "{'metadata':{'name':'ray'}}"                     \
	}
#define LISTED                                                                                     \
	{                                                                                          \
		"GET /apis/ray.io/v1/rayclusters?limit=500", 0, ALL                                \
	}

static const struct route everything[] = { LISTED, IN_RAY, HERE, CLUSTERS, { NULL, 0, NULL } };
/* May list in the namespace alone. */
static const struct route one_namespace[] = {
	{ "GET /apis/ray.io/v1/rayclusters?limit=500", 403, FORBIDDEN },
	IN_RAY,
	{ "GET /api/v1/namespaces/ray", 403, FORBIDDEN },
	CLUSTERS,
	{ NULL, 0, NULL },
};
static const struct route no_namespace[] = {
	LISTED,
	{ "GET /apis/ray.io/v1/namespaces/rya/rayclusters/", 404, NOT_FOUND },
	{ "GET /apis/ray.io/v1/namespaces/rya/rayclusters", 0, LIST("") },
	{ "GET /api/v1/namespaces/rya/pods", 0, LIST("") },
	CLUSTERS,
	{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
	{ NULL, 0, NULL },
};
static const struct route no_kind[] = { { NULL, 0, NULL } };

#define SEE "); see all with \"rayscaler status -A\", another cluster with --context"

static const struct {
	const struct route *routes;
	int (*command)(int, char **);
	const char *words[6];
	int status;
	const char *answer, *also;
} table[] = {
	{ everything,
	  cli_explain,
	  { "explain", "deom" },
	  1,
	  "RayCluster ray/deom does not exist; did you mean demo?; namespace ray has demo, "
	  "train (kubeconfig /",
	  SEE },
	{ everything,
	  cli_adopt,
	  { "adopt", "dem" },
	  1,
	  "ray/dem does not exist; did you mean demo?",
	  SEE },
	{ everything, cli_release, { "release", "dem" }, 1, "did you mean demo?", SEE },
	{ everything, cli_resume, { "resume", "trian" }, 1, "did you mean train?", SEE },
	{ everything,
	  cli_snapshot,
	  { "snapshot", "xyz" },
	  1,
	  "RayCluster ray/xyz does not exist; namespace ray has demo, train (",
	  SEE },
	{ everything,
	  cli_request,
	  { "request", "serve", "--clear" },
	  1,
	  "ray/serve does not exist; did you mean serve in namespace team-b (-n team-b)?",
	  SEE },
	{ everything,
	  cli_status,
	  { "status", "sevre" },
	  1,
	  "did you mean serve in namespace team-b (-n team-b)?",
	  SEE },
	{ everything, cli_lint, { "lint", "--from-cluster", "demp" }, 1, "did you mean demo?", SEE },
	{ everything,
	  cli_lint,
	  { "lint", "--from-cluster" },
	  0,
	  "there are no RayClusters in namespace ray; these have some: team-a, team-b (",
	  SEE },
	{ everything,
	  cli_status,
	  { "status" },
	  0,
	  "there are no RayClusters in namespace ray; these have some: team-a, team-b (",
	  SEE },
	{ everything,
	  cli_adopt,
	  { "adopt", "--all" },
	  0,
	  "there are no RayClusters in namespace ray; ",
	  SEE },
	{ one_namespace,
	  cli_explain,
	  { "explain", "deom" },
	  1,
	  "does not exist; did you mean demo?; namespace ray has demo, train (",
	  SEE },
	{ no_namespace,
	  cli_status,
	  { "status", "-n", "rya" },
	  1,
	  "namespace rya does not exist; did you mean ray?; RayClusters are in ray, team-a, "
	  "team-b; set it with -n NAMESPACE (kubeconfig /",
	  SEE },
	{ no_namespace,
	  cli_explain,
	  { "explain", "demo", "-n", "rya" },
	  1,
	  "namespace rya does not exist; did you mean ray?",
	  SEE },
	{ no_namespace,
	  cli_lint,
	  { "lint", "--from-cluster", "-n", "rya" },
	  1,
	  "namespace rya does not exist; did you mean ray?",
	  SEE },
	{ no_kind,
	  cli_status,
	  { "status" },
	  1,
	  "the API server does not know RayClusters (kubeconfig /",
	  "): install KubeRay, or use another cluster with --context\n" },
	{ no_kind,
	  cli_adopt,
	  { "adopt", "demo" },
	  1,
	  "does not know RayClusters (kubeconfig /",
	  "--context" },
	{ no_kind,
	  cli_lint,
	  { "lint", "--from-cluster" },
	  1,
	  "does not know RayClusters (",
	  "--context" },
};

static void test_what_is_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		cli_server_start(table[i].routes);
		cli_run_words(table[i].command, table[i].words, &result);
		EXPECT(*result.output != '\0' ? result.output : result.errors, table[i].answer);
		EXPECT(*result.output != '\0' ? result.output : result.errors, table[i].also);
		assert_int_equal(result.status, table[i].status);
		cli_server_stop();
	}
}

static void test_no_api_server(void **state)
{
	(void)state;
	cli_server_start(everything);
	temp_write(cli_server.directory, "config",
		   "current-context: x\n"
		   "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
		   "users: [{name: u, user: {token: t}}]\n"
		   "contexts: [{name: x, context: {cluster: c, user: u, namespace: ray}}]\n");
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "; check that the API server of kubeconfig /");
	EXPECT(result.errors, " runs and can be reached from here, or use another --context\n");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_no_api_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
