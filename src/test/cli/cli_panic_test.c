/* A CHECK that fails in a decision prints the snapshot as a case for `rayscaler plan`. */
#include "cli/controller/panic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "test/support/support.h"

#define OUTPUT_MAX 65536

static const char snapshot_text[] =
	"apiVersion: rayscaler.dev/v1alpha1\n"
	"kind: Snapshot\n"
	"now: '2026-11-21T10:00:00Z'\n"
	"rayCluster:\n"
	"  apiVersion: ray.io/v1\n"
	"  kind: RayCluster\n"
	"  metadata: {name: demo, namespace: default}\n"
	"  spec:\n"
	"    enableInTreeAutoscaling: true\n"
	"    headGroupSpec: {template: {spec: {containers: [{name: ray-head}]}}}\n"
	"    workerGroupSpecs:\n"
	"    - {groupName: gpu-group, replicas: 1, minReplicas: 1, maxReplicas: 5,\n"
	"       template: {spec: {containers: [{name: ray-worker}]}}}\n"
	"pods: []\n";

/* The output of a process whose CHECK fails while it decides this case; it must abort. */
static void output_of_failure(const struct snapshot *snapshot, char *output)
{
	int pipes[2], status;
	size_t size = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		check_hook_set(panic_print);
		check_snapshot_set(snapshot);
		CHECK(snapshot == (const void *)output);
		_exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], output + size, OUTPUT_MAX - 1 - size)) > 0)
		size += (size_t)got;
	output[size] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static const char *plan_of(const struct snapshot *snapshot, struct arena *arena)
{
	AUTO(buf_done) struct buf text;
	struct err err;

	buf_init(&text, OUTPUT_MAX);
	assert_int_equal(plan_write(decide(snapshot, arena), false, &text, &err), 0);
	return arena_strdup(arena, buf_string(&text));
}

static void test_the_case_is_decided_in_the_same_way(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot, again;
	struct err err = { .kind = ERR_NONE };
	char output[OUTPUT_MAX];
	const char *begin;

	(void)state;
	if (snapshot_read(snapshot_text, strlen(snapshot_text), &arena, &snapshot, &err))
		fail_msg("%s", err.text);
	output_of_failure(&snapshot, output);
	assert_non_null(strstr(output, "internal error: \"snapshot == (const void *)output\""));
	begin = strstr(output, "\n{");
	assert_non_null(begin);
	if (snapshot_read(begin, strlen(begin), &arena, &again, &err))
		fail_msg("%s", err.text);
	assert_string_equal(plan_of(&snapshot, &arena), plan_of(&again, &arena));
}

static void test_without_a_decision_there_is_no_case(void **state)
{
	char output[OUTPUT_MAX];

	(void)state;
	output_of_failure(NULL, output);
	assert_non_null(strstr(output, "internal error"));
	assert_null(strchr(output, '{'));
}

static void test_a_decision_leaves_no_case_behind(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot;
	struct err err = { .kind = ERR_NONE };

	(void)state;
	assert_int_equal(
		snapshot_read(snapshot_text, strlen(snapshot_text), &arena, &snapshot, &err), 0);
	decide(&snapshot, &arena);
	assert_null(check_snapshot());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_case_is_decided_in_the_same_way),
		cmocka_unit_test(test_without_a_decision_there_is_no_case),
		cmocka_unit_test(test_a_decision_leaves_no_case_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
