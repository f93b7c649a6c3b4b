/* Common mistakes of users: each gets an exit status and a message with the fix. */
#include <fcntl.h>

#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

static const struct route no_namespace[] = {
	{ "GET " NS "/rayclusters/", 404, "{'kind':'Status','reason':'NotFound'}" },
	{ "GET " NS "/rayclusters", 0, LIST("") },
	{ "GET /api/v1/namespaces/ray/pods", 0, LIST("") },
	CLUSTERS,
	{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
	{ "GET /api/v1/namespaces/ray", 404,
	  "{'kind':'Status','reason':'NotFound','message':'namespaces \\'ray\\' not found'}" },
	{ NULL, 0, NULL },
};

static void test_a_namespace_that_does_not_exist(void **state)
{
	static struct route routes[SUPPORT_COUNT(no_namespace)];

	(void)state;
	cli_server_start(no_namespace);
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "namespace ray does not exist");
	assert_string_equal(result.output, "");
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "namespace ray does not exist");
	cli_server_stop();
	/* A user without the right to read namespaces. */
	memcpy(routes, no_namespace, sizeof(routes));
	routes[5].status = 403;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "there are no RayClusters in namespace ray (kubeconfig /");
	cli_server_stop();
}

static void test_a_controller_url_without_a_controller(void **state)
{
	static int (*const commands[])(int, char **) = { cli_status, cli_explain, cli_snapshot };

	(void)state;
	cli_server_start(with_controller);
	for (size_t i = 0; i < SUPPORT_COUNT(commands); i++) {
		CLI_RUN(&result, commands[i], "status", "demo", "--controller-url", "127.0.0.1:1");
		assert_int_equal(result.status, 1);
		assert_string_equal(result.output, "");
		EXPECT(result.errors, "--controller-url: ");
		EXPECT(result.errors, "127.0.0.1:1");
	}
	cli_server.patch[0] = '\0';
	CLI_RUN(&result, cli_request, "request", "demo", "--clear", "--controller-url",
		"127.0.0.1:1");
	assert_int_equal(result.status, 1);
	assert_string_equal(cli_server.patch, "");
	cli_server_stop();
}

static void test_names_as_kubectl_prints_them(void **state)
{
	static const char *const names[] = { "raycluster/demo", "rayclusters/demo",
					     "raycluster.ray.io/demo",
					     "rayclusters.v1.ray.io/demo" };

	(void)state;
	cli_server_start(with_controller);
	for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
		CLI_RUN(&result, cli_explain, "explain", names[i]);
		assert_int_equal(result.status, 0);
		EXPECT(result.output, "RayCluster ray/demo\n");
	}
	CLI_RUN(&result, cli_explain, "explain", "ray/demo");
	assert_int_equal(result.status, 2);
	EXPECT(result.errors, "\"ray/demo\" is not the name of a RayCluster; set the namespace "
			      "with -n ray");
	cli_server_stop();
}

static void test_requests_that_ray_refuses(void **state)
{
	static const struct {
		const char *bundles, *says;
	} table[] = {
		{ "[{\"CPU\": 1}, {\"gpu\": 1}]", "--bundles: gpu: did you mean GPU?" },
		{ "[{\"Cpu\": 1}]", "--bundles: Cpu: did you mean CPU?" },
		{ "[{\"Memory\": 1}]", "--bundles: Memory: did you mean memory?" },
		{ "[{\"GPU\": 1.5}]", "--bundles: GPU: 1.5: Ray accepts fractions below 1 and "
				      "whole numbers" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		CLI_RUN(&result, cli_request, "request", "demo", "--bundles", table[i].bundles);
		assert_int_equal(result.status, 1);
		EXPECT(result.errors, table[i].says);
	}
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_request, "request", "demo", "--bundles",
		"[{\"GPU\": 0.5, \"CPU\": 1.5, \"my-gpu\": 2.5}, {\"GPU\": 2}]");
	assert_int_equal(result.status, 0);
	cli_server_stop();
}

static void test_plan_of_other_objects(void **state)
{
	AUTO(memory_free_string) char *path = NULL;
	static const char *const texts[] = {
		"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: demo}\n",
		"apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: demo}\n",
	};

	(void)state;
	cli_server_start(without_controller);
	path = temp_path(cli_server.directory, "cluster.yaml");
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		temp_write(cli_server.directory, "cluster.yaml", texts[i]);
		CLI_RUN(&result, cli_plan, "plan", "-f", path);
		assert_int_equal(result.status, 1);
		EXPECT(result.errors, i == 0 ? "is a RayCluster and not a Snapshot" :
					       "is a RayJob and not a Snapshot");
		EXPECT(result.errors, "rayscaler snapshot NAME -o FILE");
		EXPECT(result.errors, "rayscaler lint -f ");
	}
	cli_server_stop();
}

static void test_forms_of_a_snapshot(void **state)
{
	AUTO(memory_free_string) char *path = NULL;
	static char text[20000];
	ssize_t size;
	int fd;

	(void)state;
	cli_server_start(without_controller);
	CLI_RUN(&result, cli_snapshot, "snapshot", "demo", "-o", "yaml");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "kind: Snapshot\n");
	assert_true(access("yaml", F_OK) != 0);
	CLI_RUN(&result, cli_snapshot, "snapshot", "demo", "-ojson");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "\"kind\": \"Snapshot\"");
	path = temp_path(cli_server.directory, "now.yaml");
	CLI_RUN(&result, cli_snapshot, "snapshot", "demo", "-o", path);
	assert_int_equal(result.status, 0);
	fd = open(path, O_RDONLY);
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(size > 0);
	EXPECT(text, "kind: Snapshot\n");
	CLI_RUN(&result, cli_plan, "plan", "-f", path);
	assert_int_equal(result.status, 0);
	cli_server_stop();
}

static void test_a_cluster_without_groups_has_a_row(void **state)
{
	static const struct route routes[] = {
		{ "GET " NS "/rayclusters", 0,
		  LIST("{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray',"
		       "'name':'bare','uid':'u','resourceVersion':'5'},'spec':{"
		       "'enableInTreeAutoscaling':true,'headGroupSpec':{}}}") },
		{ "GET /api/v1/namespaces/ray/pods", 0, LIST("") },
		CLUSTERS,
		{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "\nbare     no groups");
	cli_server_stop();
}

static void test_status_without_a_kubeconfig(void **state)
{
	AUTO(memory_free_string) char *home = memory_strdup(getenv("HOME") ? getenv("HOME") : "");

	(void)state;
	unsetenv("KUBECONFIG");
	setenv("HOME", "/nonexistent", true);
	CLI_RUN(&result, cli_status, "status");
	setenv("HOME", home, true);
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "/nonexistent/.kube/config");
	EXPECT(result.errors, "name a kubeconfig with --kubeconfig or $KUBECONFIG");
}

static void test_run_names_its_help_once(void **state)
{
	const char *first;

	(void)state;
	CLI_RUN(&result, cli_run, "run", "--bogus");
	assert_int_equal(result.status, 2);
	first = strstr(result.errors, "rayscaler run --help");
	assert_non_null(first);
	assert_null(strstr(first + strlen("rayscaler run --help"), "run --help"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_namespace_that_does_not_exist),
		cmocka_unit_test(test_a_controller_url_without_a_controller),
		cmocka_unit_test(test_names_as_kubectl_prints_them),
		cmocka_unit_test(test_requests_that_ray_refuses),
		cmocka_unit_test(test_plan_of_other_objects),
		cmocka_unit_test(test_forms_of_a_snapshot),
		cmocka_unit_test(test_a_cluster_without_groups_has_a_row),
		cmocka_unit_test(test_status_without_a_kubeconfig),
		cmocka_unit_test(test_run_names_its_help_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
