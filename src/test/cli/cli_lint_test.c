/* lint of files, directories, standard input and an API server: the output in each format, the exit
 * status, and malformed input. */
#include <fcntl.h>

#include "codec/text/json.h"
#include "feature/lint/core/lint_rule.h"
#include "test/support/lint_run.h"

#define CHECK_YAML                                                                                 \
	"; check indentation, colons, brackets and quotes here and above [cannot-be-read]\n"

static void test_text(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	temp_write(directory, "bad.yaml", BAD);
	lint("-f", "%/bad.yaml", NULL, NULL);
	assert_string_equal(
		output(&arena),
		"%/bad.yaml:13:5: error: group w has minReplicas 3 above maxReplicas 2; KubeRay "
		"refuses the RayCluster [min-above-max]\n"
		"    maxReplicas: 3  # or minReplicas: 2\n"
		"%/bad.yaml:14:22: error: num-cpus must be a string, is a number; the API server "
		"refuses the object [ray-start-param-not-string]\n"
		"    num-cpus: \"4\"\n");
	assert_string_equal(result.errors, "rayscaler lint: 1 file, 1 RayCluster: 2 errors, "
					   "0 warnings, 0 infos\n");
	assert_int_equal(result.status, 1);
}

static void test_json(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	temp_write(directory, "bad.yaml", BAD);
	lint("-f", "%/bad.yaml", "-o", "json");
	assert_string_equal(
		output(&arena),
		"[\n  {\n    \"severity\": \"error\",\n    \"rule\": \"min-above-max\",\n"
		"    \"object\": \"RayCluster good\",\n    \"file\": \"%/bad.yaml\",\n"
		"    \"path\": \"spec.workerGroupSpecs[0].maxReplicas\",\n    \"line\": 13,\n"
		"    \"column\": 5,\n"
		"    \"message\": \"group w has minReplicas 3 above maxReplicas 2; KubeRay "
		"refuses the RayCluster\",\n    \"fix\": \"maxReplicas: 3  # or minReplicas: 2\"\n  },\n"
		"  {\n    \"severity\": \"error\",\n    \"rule\": \"ray-start-param-not-string\",\n"
		"    \"object\": \"RayCluster good\",\n    \"file\": \"%/bad.yaml\",\n"
		"    \"path\": \"spec.workerGroupSpecs[0].rayStartParams.num-cpus\",\n"
		"    \"line\": 14,\n    \"column\": 22,\n"
		"    \"message\": \"num-cpus must be a string, is a number; the API server "
		"refuses the object\",\n    \"fix\": \"num-cpus: \\\"4\\\"\"\n  }\n]\n");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 1);
}

static void test_nothing_found(void **state)
{
	(void)state;
	temp_write(directory, "good.yaml", GOOD);
	lint("-f", "%/good.yaml", "-o", "json");
	assert_string_equal(result.output, "[]\n");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	lint("-f", "%/good.yaml", NULL, NULL);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, "1 file, 1 RayCluster: 0 errors, 0 warnings, 0 infos\n");
	assert_int_equal(result.status, 0);
}

static void test_strict(void **state)
{
	(void)state;
	temp_write(directory, "none.yaml", "kind: Deployment\napiVersion: apps/v1\n");
	lint("-f", "%/none.yaml", NULL, NULL);
	EXPECT(result.errors, "warning: the files have no RayCluster, RayJob, RayService, ");
	assert_int_equal(result.status, 0);
	lint("-f", "%/none.yaml", "--strict", NULL);
	assert_int_equal(result.status, 1);
	temp_write(directory, "warning.yaml", GOOD "  zone: a\n");
	lint("-f", "%/warning.yaml", NULL, NULL);
	EXPECT(result.output, "warning: zone is not a field of a RayCluster here");
	assert_int_equal(result.status, 0);
	lint("-f", "%/warning.yaml", "--strict", NULL);
	assert_int_equal(result.status, 1);
	temp_write(directory, "good.yaml", GOOD);
	lint("-f", "%/good.yaml", "--strict", NULL);
	assert_int_equal(result.status, 0);
}

/* The RayCluster is in a later file. */
static void test_settings(void **state)
{
	(void)state;
	temp_write(directory, "autoscaler.yaml",
		   "apiVersion: rayscaler.dev/v1alpha1\nkind: RayClusterAutoscaler\n"
		   "metadata: {name: good}\nspec:\n  warmWorkers: [{group: gpu, count: 1}]\n"
		   "  schedules:\n  - {name: office, start: '0 8 * * *', duration: 9h,\n"
		   "    timeZone: Mars/Phobos, bundles: [{GPU: 1}]}\n");
	temp_write(directory, "cluster.yaml", GOOD);
	lint("-f", "%", NULL, NULL);
	EXPECT(result.output, "autoscaler.yaml:5:18: warning: RayClusterAutoscaler good: "
			      "warmWorkers[0].group: no group gpu; groups: none [group-unknown]\n");
	EXPECT(result.output,
	       "RayClusterAutoscaler good: schedules[0].timeZone: time zone Mars/Phobos is ");
	lint("-f", "%/autoscaler.yaml", NULL, NULL);
	assert_null(strstr(result.output, "group-unknown"));
}

/* ---- SARIF ---- */

static struct json_at need(const struct json_at *at, const char *name, enum json_type type)
{
	struct json_at member = json_member(at, name);

	if (json_type(&member) != type)
		fail_msg("%s is %s", json_path(&member), json_type_name(json_type(&member)));
	return member;
}

static void need_text(const struct json_at *at, const char *name)
{
	struct json_at member = need(at, name, JSON_STRING);

	assert_true(*json_text_value(&member) != '\0');
}

static void need_message(const struct json_at *at, const char *name)
{
	struct json_at member = need(at, name, JSON_OBJECT);

	need_text(&member, "text");
}

static void need_word(const struct json_at *at, const char *name, const char *words)
{
	struct json_at member = need(at, name, JSON_STRING);

	assert_non_null(strstr(words, json_text_value(&member)));
}

static int64_t need_integer(const struct json_at *at, const char *name, int64_t least)
{
	struct json_at member = need(at, name, JSON_NUMBER);
	int64_t value = -1;

	assert_int_equal(json_integer_value(&member, &value), 0);
	assert_true(value >= least);
	return value;
}

/* A reportingDescriptor: id is required; message strings have a text; level is of an enumeration. */
static void check_rules(const struct json_at *rules)
{
	assert_int_equal(json_count(rules), LINT_RULE_COUNT);
	for (struct json_at e = json_first(rules); e.json; json_next(&e)) {
		struct json_at defaults = need(&e, "defaultConfiguration", JSON_OBJECT);

		need_text(&e, "id");
		need_message(&e, "shortDescription");
		need_message(&e, "help");
		need_word(&defaults, "level", "note warning error");
	}
}

/* artifactLocation.uri is a URI reference; a region's numbers start at 1. */
static void check_location(const struct json_at *location)
{
	struct json_at physical = need(location, "physicalLocation", JSON_OBJECT);
	struct json_at artifact = need(&physical, "artifactLocation", JSON_OBJECT);
	struct json_at uri = need(&artifact, "uri", JSON_STRING);
	struct json_at region = json_member(&physical, "region");
	const char *text = json_text_value(&uri);

	assert_int_equal(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-._~/%:"),
			 strlen(text));
	if (region.json) {
		(void)need_integer(&region, "startLine", 1);
		(void)need_integer(&region, "startColumn", 1);
	}
}

/* A result: message is required; ruleId is that of ruleIndex; level is of an enumeration. */
static void check_result(const struct json_at *found, const struct json_at *rules)
{
	int64_t index = need_integer(found, "ruleIndex", 0);
	struct json_at id = need(found, "ruleId", JSON_STRING);
	struct json_at locations = need(found, "locations", JSON_ARRAY);
	struct json_at rule = json_first(rules), first = json_first(&locations);

	need_message(found, "message");
	need_word(found, "level", "note warning error");
	while (index-- > 0)
		json_next(&rule);
	rule = need(&rule, "id", JSON_STRING);
	assert_string_equal(json_text_value(&rule), json_text_value(&id));
	check_location(&first);
}

static void check_sarif(const char *text, size_t wanted)
{
	static const struct json_limits limits = {
		.bytes = 1 << 20, .depth = 50, .elements = 100000, .unique_names = true
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;
	struct json_reader reader = { .arena = &arena, .err = &err };
	struct json_at root, version, runs, run, tool, driver, rules, results;

	assert_int_equal(json_parse(text, strlen(text), &limits, &tree, &err), 0);
	root = json_root(tree, "", &reader);
	version = need(&root, "version", JSON_STRING);
	assert_string_equal(json_text_value(&version), "2.1.0");
	runs = need(&root, "runs", JSON_ARRAY);
	assert_int_equal(json_count(&runs), 1);
	run = json_first(&runs);
	tool = need(&run, "tool", JSON_OBJECT);
	driver = need(&tool, "driver", JSON_OBJECT);
	need_text(&driver, "name");
	need_text(&driver, "version");
	need_word(&run, "columnKind", "utf16CodeUnits unicodeCodePoints");
	rules = need(&driver, "rules", JSON_ARRAY);
	check_rules(&rules);
	results = need(&run, "results", JSON_ARRAY);
	assert_int_equal(json_count(&results), wanted);
	for (struct json_at e = json_first(&results); e.json; json_next(&e))
		check_result(&e, &rules);
}

static void test_sarif(void **state)
{
	(void)state;
	temp_write(directory, "b d%\xC3\xA9.yaml", BAD);
	temp_write(directory, "c.yaml", "a: [");
	lint("-f", "%", "-o", "sarif");
	check_sarif(result.output, 3);
	EXPECT(result.output, "/b%20d%25%C3%A9.yaml");
	EXPECT(result.output, "\"fullyQualifiedName\": \"RayCluster good "
			      "spec.workerGroupSpecs[0].maxReplicas\"");
	assert_int_equal(result.status, 1);
	temp_remove(directory, "b d%\xC3\xA9.yaml");
	temp_write(directory, "c.yaml", GOOD);
	lint("-f", "%", "-o", "sarif");
	check_sarif(result.output, 0);
	assert_int_equal(result.status, 0);
}

/* ---- files ---- */

static void test_directories(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *below = temp_path(directory, "below");
	AUTO(memory_free_string) char *hidden = temp_path(directory, ".hidden");

	(void)state;
	assert_int_equal(mkdir(below, 0700), 0);
	assert_int_equal(mkdir(hidden, 0700), 0);
	temp_write(below, "x.yml", "a: [");
	temp_write(hidden, "x.yaml", "a: [");
	temp_write(directory, "z.json", "[");
	temp_write(directory, "a.yaml", "a: [");
	temp_write(directory, ".h.yaml", "a: [");
	temp_write(directory, "readme.md", "a: [");
	lint("-f", "%", "-o", "text");
	assert_string_equal(
		output(&arena),
		"%/a.yaml:2:1: error: did not find expected node content" CHECK_YAML
		"%/below/x.yml:2:1: error: did not find expected node content" CHECK_YAML
		"%/z.json:1:2: error: the text ends where a value is expected [cannot-be-read]\n");
	temp_remove(below, "x.yml");
	temp_remove(hidden, "x.yaml");
	assert_int_equal(rmdir(below) + rmdir(hidden), 0);
}

/* As a shell makes it of -f *.yaml; the order is that of the arguments. */
static void test_several_files(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	temp_write(directory, "b.yaml", "a: [");
	temp_write(directory, "a.yaml", "a: [");
	lint("-f", "%/b.yaml", "%/a.yaml", "%/none.yaml");
	assert_string_equal(
		output(&arena),
		"%/b.yaml:2:1: error: did not find expected node content" CHECK_YAML
		"%/a.yaml:2:1: error: did not find expected node content" CHECK_YAML
		"%/none.yaml: error: does not exist; name a file with a RayCluster, RayJob, RayService, RayCronJob or object of rayscaler.dev "
		"[cannot-be-read]\n");
	EXPECT(result.errors, "3 files, 0 RayClusters: 3 errors");
	assert_int_equal(result.status, 1);
}

static void test_standard_input(void **state)
{
	AUTO(memory_free_string) char *path = temp_path(directory, "in");
	int saved = dup(STDIN_FILENO), file;

	(void)state;
	temp_write(directory, "in", BAD);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0 && dup2(file, STDIN_FILENO) >= 0);
	clearerr(stdin);
	lint("-f", "-", NULL, NULL);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(file);
	assert_memory_equal(result.output, "<stdin>:13:5: error: ", 21);
	assert_int_equal(result.status, 1);
}

/* Control characters of a file do not reach the terminal. */
static void test_control_characters(void **state)
{
	(void)state;
	temp_write(directory, "e.yaml",
		   "kind: RayCluster\nmetadata: {name: a}\n"
		   "spec: {workerGroupSpecs: [{groupName: \"g\\e[2J\", maxReplicas: -1}]}\n");
	lint("-f", "%/e.yaml", NULL, NULL);
	assert_null(strchr(result.output, '\033'));
	assert_int_equal(result.status, 1);
}

static void test_nodes_and_devices(void **state)
{
	(void)state;
	temp_write(
		directory, "c.yaml",
		GOOD
		"  workerGroupSpecs:\n  - groupName: w\n    maxReplicas: 2\n"
		"    template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: w, image: r,"
		" resources: {limits: {cpu: 1}}}]}}\n");
	temp_write(directory, "nodes.yaml",
		   "kind: List\nitems:\n- kind: Node\n"
		   "  metadata: {name: n, labels: {disk: hdd}}\n---\nkind: Pod\n");
	lint("-f", "%/c.yaml", "--nodes", "%/nodes.yaml");
	EXPECT(result.output, "[selector-matches-no-node]");
	assert_int_equal(result.status, 0);
	lint("-f", "%/c.yaml", NULL, NULL);
	assert_null(strstr(result.output, "selector-matches-no-node"));
	temp_write(directory, "nodes.yaml", "kind: Node\nmetadata: {name: 5}\n");
	lint("-f", "%/c.yaml", "--nodes", "%/nodes.yaml");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "nodes.yaml: metadata.name: must be a string");
	temp_write(directory, "table.yaml", "kind: DeviceTable\ndevices: 5\n");
	lint("-f", "%/c.yaml", "--device-table", "%/table.yaml");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "table.yaml: line ");
}

/* ---- an API server ---- */

#define CORE                                                                                       \
	{                                                                                          \
		"GET /api/v1?", 0, "{'resources':[{'name':'pods'},{'name':'nodes'}]}"              \
	}
#define SELECTING                                                                                                                      \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray',"                                                 \
	"'name':'b','uid':'u','resourceVersion':'5'},'spec':{'enableInTreeAutoscaling':true,"                                          \
	"'workerGroupSpecs':[{'groupName':'gpu','minReplicas':7,'maxReplicas':4,'template':{"                                          \
	"'spec':{'terminationGracePeriodSeconds':7200,'nodeSelector':{'disk':'ssd'},'containers':[{'name':'w','resources':{'limits':{" \
	"'cpu':'1'}}}]}}}]}}"
#define UNREADABLE                                                                                 \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray',"             \
	"'name':'a','uid':'v','resourceVersion':'5'},'spec':5}"
#define NODE "{'metadata':{'name':'n','resourceVersion':'1','labels':{'disk':'hdd'}}}"

static void test_from_cluster(void **state)
{
	static const struct route routes[] = {
		{ "GET " NS "/rayclusters", 0, LIST(SELECTING "," UNREADABLE) },
		{ "GET /api/v1/nodes", 0, LIST(NODE) },
		CLUSTERS,
		CORE,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	lint("--from-cluster", NULL, NULL, NULL);
	EXPECT(result.output, "RayCluster ray/a: error: ");
	EXPECT(result.output, "spec: must be an object, is a number [cannot-be-read]\n");
	EXPECT(result.output, "RayCluster ray/b: spec.workerGroupSpecs[0].maxReplicas: error: "
			      "group gpu has minReplicas 7 above maxReplicas 4");
	EXPECT(result.output, "[selector-matches-no-node]\n");
	/* Rules on fields that no decoder reads. */
	EXPECT(result.output, "[grace-period-long]\n");
	EXPECT(result.output, "container w has no image; add one; the API server refuses each Pod");
	assert_true(strstr(result.output, "ray/a") < strstr(result.output, "ray/b"));
	EXPECT(result.errors, "rayscaler lint: 2 RayClusters: 4 errors, ");
	assert_int_equal(result.status, 1);
	lint("--from-cluster", "-o", "json", NULL);
	EXPECT(result.output, "\"object\": \"RayCluster ray/b\",\n    \"file\": \"\",");
	EXPECT(result.output, "\"line\": 0,\n    \"column\": 0,");
	cli_server_stop();
}

/* Without the right to list Nodes lint prints a warning and all other findings. */
static void test_from_cluster_without_nodes(void **state)
{
	static const struct route routes[] = {
		{ "GET /apis/ray.io/v1/rayclusters", 0, LIST(SELECTING) },
		{ "GET /api/v1/nodes", 403, "{'kind':'Status','reason':'Forbidden'}" },
		CLUSTERS,
		CORE,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	lint("--from-cluster", "-A", NULL, NULL);
	EXPECT(result.output, "[min-above-max]\n");
	assert_null(strstr(result.output, "selector-matches-no-node"));
	EXPECT(result.errors, "rayscaler lint: warning: Nodes cannot be read, so groups that "
			      "fit on no Node are not reported: list nodes: 403 Forbidden");
	assert_int_equal(result.status, 1);
	cli_server_stop();
}

static void test_from_cluster_refused(void **state)
{
	static const struct route routes[] = {
		{ "GET " NS "/rayclusters", 403, "{'kind':'Status','reason':'Forbidden'}" },
		{ "GET /api/v1/nodes", 0, LIST("") },
		CLUSTERS,
		CORE,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	lint("--from-cluster", NULL, NULL, NULL);
	assert_string_equal(result.output, "");
	EXPECT(result.errors,
	       "rayscaler lint: list rayclusters.ray.io in namespace ray: 403 Forbidden");
	assert_int_equal(result.status, 1);
	cli_server_stop();
}

/* ---- usage ---- */

static void test_usage(void **state)
{
	static const struct {
		const char *words[3], *error;
	} table[] = {
		{ { NULL }, "-f FILE or --from-cluster is required" },
		{ { "-f", "x", "--from-cluster" },
		  "-f FILE or --from-cluster is required, not both" },
		{ { "-f", "x", "-oxml" }, "-o takes text, json or sarif, not xml" },
		{ { "-f", "x", "-A" },
		  "-A is valid only with --from-cluster; add it, or remove it" },
		{ { "-f", "x", "-nray" }, "-n is valid only with --from-cluster" },
		{ { "--from-cluster", "-A", "-nray" }, "-A cannot be combined with -n" },
		{ { "-f" }, "-f takes a value" },
		{ { "-f-", "--nodes", "-" }, "standard input (-) can be read once only" },
		{ { "--bogus" }, "unknown flag --bogus" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		lint(table[i].words[0], table[i].words[1], table[i].words[2], NULL);
		EXPECT(result.errors, table[i].error);
		assert_int_equal(result.status, 2);
		assert_string_equal(result.output, "");
	}
}

static void test_rules(void **state)
{
	(void)state;
	lint("--rules", NULL, NULL, NULL);
	EXPECT(result.output, "gpu-not-integer (error)\n");
	for (size_t i = 0; i < LINT_RULE_COUNT; i++)
		EXPECT(result.output, lint_rules()[i].name);
	assert_int_equal(result.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_json, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_nothing_found, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_strict, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_settings, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_sarif, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_directories, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_several_files, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_standard_input, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_control_characters, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_nodes_and_devices, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_usage, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_from_cluster, start_files, end_files),
		cmocka_unit_test_setup_teardown(test_from_cluster_without_nodes, start_files,
						end_files),
		cmocka_unit_test_setup_teardown(test_from_cluster_refused, start_files, end_files),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
