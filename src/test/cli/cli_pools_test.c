/* `status --pools`: bars and figures of each queue, JSON, and what to do where there are no pools. */
#include <stdio.h>
#include <time.h>

#include "cli/shared/commands.h"
#include "codec/text/rfc3339.h"
#include "test/support/cli_server.h"

#define PATH "GET /apis/rayscaler.dev/v1alpha1/gpupools"

static char objects[8192];
static struct route routes[] = {
	{ PATH, 0, objects },
	{ NULL, 0, NULL },
};

static const char *ago(int64_t seconds)
{
	static char texts[4][RFC3339_SIZE];
	static size_t next;
	char *text = texts[next++ % 4];

	rfc3339_print(((int64_t)time(NULL) - seconds) * 1000, text);
	return text;
}

static void run(const char *pools, const char *output)
{
	(void)snprintf(objects, sizeof(objects), LIST("%s"), pools);
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--pools", "-o", output);
	cli_server_stop();
}

#define QUEUE(name, held, busy, idle, borrowed, guaranteed, waiting, more)                         \
	"{'name':'" name "','held':'" held "','busy':'" busy "','idle':'" idle                     \
	"','borrowed':'" borrowed "','guaranteed':'" guaranteed "','waiting':'" waiting "'" more   \
	"}"

static const char *pool_text(char *text, size_t size)
{
	(void)snprintf(
		text, size,
		"{'metadata':{'name':'b','resourceVersion':'2'},'spec':{'gpus':-1}},"
		"{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'gpus':16},'status':{"
		"'gpus':{'total':'16','held':'10','waiting':'9'},'queues':[" QUEUE(
			"research", "6", "4", "2", "3", "3", "0",
			"") "," QUEUE("serving", "4", "4", "0", "0", "8", "3",
				      ",'belowGuaranteeSince':'%s'") "," QUEUE("", "0", "0", "0",
									       "0", "0", "6",
									       "") "],"
										   "'waiting':[{'cluster':'s/demo','groups':'gpu*3','gpus':'3','count':1,'since':'%s'},"
										   "{'cluster':'t/x','groups':'gpu*1','gpus':'1','count':6,'since':'%s'}],"
										   "'reservedFor':'s/demo: gpu*3','conditions':[{'type':'Ready','status':'True'}],"
										   "'lastUpdateTime':'%s'}}",
		ago(100), ago(3700), ago(5), ago(0));
	return text;
}

static void test_text(void **state)
{
	char text[4096];
	char *line;

	(void)state;
	run(pool_text(text, sizeof(text)), "table");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, EXIT_DONE);
	assert_int_equal(strncmp(result.output, "a: 10 of 16 GPUs held, 9 waiting (", 34), 0);
	EXPECT(result.output,
	       "QUEUE     GPUS      HELD  GUARANTEED  BORROWED  IDLE  WAITING  BELOW GUARANTEE\n"
	       "research  ###+--       6           3         3     2        0                -\n"
	       "serving   ####www.     4           8         0     0        3             10");
	EXPECT(result.output,
	       "\n(others)  wwwwww       0           0         0     0        6                -\n"
	       "waits longest: s/demo: 1 x gpu*3 (3 GPUs) for 1h1m\n"
	       "free GPUs are kept for s/demo: gpu*3\n");
	line = strstr(result.output,
		      "\nb: no status yet; a controller for all namespaces writes it");
	assert_non_null(line);
	EXPECT(line, "\ngrants nothing: spec.gpus: must be 0 to 1000000 GPUs\n");
	EXPECT(line, "\n# within the guarantee  + borrowed  - idle  w waiting  . guaranteed, not ");
}

static void test_json(void **state)
{
	char text[4096];

	(void)state;
	run(pool_text(text, sizeof(text)), "json");
	assert_int_equal(result.status, EXIT_DONE);
	EXPECT(result.output, "\"kind\": \"PoolStatusList\"");
	EXPECT(result.output, "\"name\": \"a\",\n      \"problem\": \"\",\n      \"status\": {");
	EXPECT(result.output, "\"borrowed\": \"3\"");
	EXPECT(result.output, "\"problem\": \"spec.gpus: must be 0 to 1000000 GPUs\",\n      "
			      "\"status\": null");
	run(pool_text(text, sizeof(text)), "yaml");
	EXPECT(result.output, "kind: PoolStatusList\n");
}

/* A waiting amount beyond the pool, shares of a GPU and a large pool change no width. */
static void test_bars(void **state)
{
	(void)state;
	run("{'metadata':{'name':'a'},'spec':{},'status':{'gpus':{'total':'400','held':'0.5'},"
	    "'lastUpdateTime':'2026-01-01T00:00:00Z','queues':[" QUEUE(
		    "q1", "200", "200", "0", "0", "200", "1000000",
		    "") "," QUEUE("q2", "0.5", "0.5", "0", "0.5", "0", "0",
				  "") "," QUEUE("q3", "100", "0", "100", "50", "50", "0",
						"") "," QUEUE("q4", "0", "0", "0", "0", "40", "0",
							      "") "]}}",
	    "table");
	EXPECT(result.output, "\nq1     ####################wwwwwwwwwwwwwwwwwww>   200 ");
	EXPECT(result.output, "\nq2     -                                          0.5 ");
	EXPECT(result.output, "\nq3     ----------                                 100 ");
	EXPECT(result.output, "\nq4     ....                                         0 ");
}

static void test_no_pools(void **state)
{
	(void)state;
	run("", "table");
	assert_int_equal(result.status, EXIT_DONE);
	assert_string_equal(result.output,
			    "there are no GPUPools; docs/GPUPOOL.md has one to apply\n");
}

static void refused(int status, const char *reason, const char *wanted)
{
	char text[200];
	const struct route refusing[] = { { PATH, status, text }, { NULL, 0, NULL } };

	(void)snprintf(text, sizeof(text), "{'kind':'Status','reason':'%s','message':'no'}",
		       reason);
	cli_server_start(refusing);
	CLI_RUN(&result, cli_status, "status", "--pools");
	cli_server_stop();
	assert_int_equal(result.status, EXIT_INPUT);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, wanted);
}

static void test_refusals(void **state)
{
	(void)state;
	refused(404, "NotFound",
		"the API server knows no GPUPools; an administrator installs their definition: "
		"kubectl apply -f charts/rayscaler/crds/gpupools.rayscaler.dev.yaml");
	refused(403, "Forbidden",
		"an administrator gives the right to read GPUPools: kubectl create "
		"clusterrolebinding NAME --clusterrole=rayscaler-pools --user=USER");
	CLI_RUN(&result, cli_status, "status", "--pools", "-A");
	assert_int_equal(result.status, EXIT_USAGE);
	EXPECT(result.errors, "--pools shows the whole cluster: it cannot be combined with -A, -n "
			      "or CLUSTER");
	CLI_RUN(&result, cli_status, "status", "--pools", "--cost");
	EXPECT(result.errors, "cannot be combined with --pools");
}

/* No text of an object reaches the terminal with a control character. */
static void test_clean(void **state)
{
	(void)state;
	run("{'metadata':{'name':'a'},'spec':{},'status':{'gpus':{'total':'4'},"
	    "'lastUpdateTime':'2026-01-01T00:00:00Z','reservedFor':'x\\u001b[2J',"
	    "'queues':[{'name':'q\\u0007'}],'waiting':[{'cluster':'c\\u001b','groups':'g\\n'}],"
	    "'conditions':[{'type':'Ready','status':'False','message':'m\\u001b[31m'}]}}",
	    "table");
	assert_int_equal(result.status, EXIT_DONE);
	EXPECT(result.output, "grants nothing: m");
	expect_clean(result.output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),     cmocka_unit_test(test_json),
		cmocka_unit_test(test_bars),     cmocka_unit_test(test_no_pools),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
