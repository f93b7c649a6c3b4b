/* Workloads from CSV: columns of public traces, and every refusal with its line, column and header. */

#include "codec/objects/workload_file.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

static void read_csv(const char *text, const char *columns, struct arena *arena,
		     struct workload *ret)
{
	struct err err;

	if (workload_read(text, strlen(text), columns, arena, ret, &err))
		fail_msg("%s\n%s", err.text, text);
}

static int64_t amount(const struct work_item *item, const char *name)
{
	for (size_t i = 0; i < item->bundles[0].bundle_count; i++) {
		if (strcmp(item->bundles[0].bundle[i].name, name) == 0)
			return item->bundles[0].bundle[i].amount;
	}
	return -1;
}

/* The pod list of Alibaba's cluster-trace-gpu-v2023, with a row of two GPUs. */
static void alibaba_pods_are_read(void **state)
{
	static const char text[] =
		"\xEF\xBB\xBFname,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
		"creation_time,deletion_time,scheduled_time\r\n"
		"openb-pod-0001,6000,12288,1,460,,LS,Running,427061,12902960,427062\r\n"
		"\r\n"
		"\"openb-pod-0000\",12000,16384,2,1000,V100M16|V100M32,LS,Running,427000,"
		"427100,427010\r\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;

	(void)state;
	read_csv(text,
		 "submit=creation_time,begin=scheduled_time,end=deletion_time,cpus=cpu_milli:milli,"
		 "memory=memory_mib:MiB,gpus=num_gpu,gpus=gpu_milli:milli,label.model=gpu_spec,"
		 "job=name",
		 &arena, &all);
	assert_int_equal(all.count, 2);
	assert_string_equal(all.items[0].job, "openb-pod-0000");
	assert_int_equal(all.items[0].submit_ms, 0);
	assert_int_equal(all.items[0].duration_ms, 90000);
	assert_int_equal(amount(&all.items[0], "GPU"), 20000);
	assert_int_equal(all.items[0].bundles[0].selectors[0].constraints[0].values.count, 2);
	assert_int_equal(all.items[1].submit_ms, 61000);
	assert_int_equal(amount(&all.items[1], "GPU"), 4600);
	assert_int_equal(amount(&all.items[1], "CPU"), 60000);
	assert_int_equal(amount(&all.items[1], "memory"), INT64_C(12288) * 1048576 * 10000);
	assert_int_equal(all.items[1].bundles[0].selector_count, 0);
}

/* Times as in Philly's and Helios' logs; nodes of eight GPUs as bundles. */
static void dates_and_gangs_are_read(void **state)
{
	static const char text[] = "job_id,gpu_num,node_num,submit_time,duration,state\n"
				   "7,8,2,2020-04-06 21:10:31,90,\"COMPLETED, \"\"late\"\"\"\n"
				   "8,4,1,2020-04-06 21:10:30,1.5,\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;

	(void)state;
	read_csv(text,
		 "submit=submit_time,duration=duration:min,gpus=gpu_num,bundles=node_num,job=state",
		 &arena, &all);
	assert_int_equal(all.count, 2);
	assert_int_equal(all.items[0].duration_ms, 90000);
	assert_int_equal(all.items[1].submit_ms, 1000);
	assert_int_equal(all.items[1].duration_ms, 5400000);
	assert_int_equal(all.items[1].kind, WORK_PLACEMENT_GROUP);
	assert_int_equal(all.items[1].bundle_count, 2);
	assert_string_equal(all.items[1].job, "COMPLETED, \"late\"");
}

static void every_other_column_is_read(void **state)
{
	static const char text[] = "t,k,n,s,c,x\n"
				   "1500,task,7,,a,0.5\n"
				   "0,placement_group,,SPREAD,b,1\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;
	struct err err;

	(void)state;
	/* A task has no bundles, and a placement_group nothing else. */
	assert_int_equal(workload_read(text, strlen(text),
				       "submit=t:ms,duration=x:h,kind=k,count=n,strategy=s,"
				       "cluster=c,resource.slot=x",
				       &arena, &all, &err),
			 -1);
	assert_string_equal(err.text, "line 3, column 1: bundles: is missing; a placement_group "
				      "has a list of bundles like [{GPU: 8}, {GPU: 8}]");
	read_csv("t,n,c,x\n1500,7,a,0.5\n0,,,1\n",
		 "submit=t:ms,duration=x:h,count=n,cluster=c,resource.slot=x", &arena, &all);
	assert_int_equal(all.items[1].submit_ms, 1500);
	assert_int_equal(all.items[1].duration_ms, 1800000);
	assert_int_equal(all.items[1].count, 7);
	assert_string_equal(all.items[1].cluster, "a");
	assert_int_equal(amount(&all.items[1], "slot"), 5000);
	assert_int_equal(all.items[0].count, 1);
}

/* Pods of Alibaba's trace that were pending at its end have no scheduled_time. */
static void rows_without_a_time_are_left_out(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;

	(void)state;
	read_csv("t,b,e,g\n0,1,5,1\n1,,6,1\n2,3,9,1\n3,,,1\n", "submit=t,begin=b,end=e,gpus=g",
		 &arena, &all);
	assert_int_equal(all.count, 2);
	assert_int_equal(all.items[1].duration_ms, 6000);
	assert_string_equal(all.left_out,
			    "2 rows without a time left out, the first in line 3 (no begin in b)");
	read_csv("t,b,e,g\n0,1,5,1\n", "submit=t,begin=b,end=e,gpus=g", &arena, &all);
	assert_null(all.left_out);
}

#define COLUMNS "submit=t,duration=d,gpus=g"
#define HEADER "t,d,g\n"

static void errors_have_line_column_and_header(void **state)
{
	static const struct {
		const char *columns, *text, *error;
	} bad[] = {
		{ COLUMNS, "", "the file is empty; its first line must name the columns" },
		{ COLUMNS, HEADER, "there is no item" },
		{ "submit", HEADER, "--columns: \"submit\" must be NAME=COLUMN" },
		{ "submit=", HEADER, "--columns: \"submit=\" must be NAME=COLUMN" },
		{ "begun=t", HEADER,
		  "--columns: begun is not known; did you mean begin? it must be one of submit, begin" },
		{ "gpu=g", HEADER,
		  "--columns: gpu is not known; did you mean gpus? it must be one of" },
		{ "submit=t,duration=d,gpus=g", "t,d,g,d\n",
		  "--columns duration=d: the first line of the file has this column twice; rename one" },
		{ COLUMNS, "\xFF\xFEt\0,\0",
		  "the first line is not UTF-8; write the file as UTF-8" },
		{ "submit=when", HEADER,
		  "--columns submit=when: the first line of the file has no such column" },
		{ "submit=t:weeks", HEADER,
		  "--columns submit=t: unit \"weeks\" is not known; there are ms, s, min" },
		{ "submit=t:MiB", HEADER, "--columns submit=t: unit \"MiB\" is not known" },
		{ "submit=t,submit=d", HEADER, "--columns: submit is there twice; remove one" },
		{ "duration=d", HEADER, "--columns: submit is missing" },
		{ "submit=t", HEADER, "--columns: give either duration=COLUMN or end=COLUMN" },
		{ "submit=t,duration=d,end=g", HEADER, "--columns: give either duration" },
		{ COLUMNS, HEADER "0,1,1\n0,1\n",
		  "line 3, column 1: has 2 cells, the first line has 3; write as many, and put a cell "
		  "with a comma into quotes" },
		{ COLUMNS, HEADER "0,\"1,1\n",
		  "line 2, column 3: the quote that begins here has no end; add it" },
		{ COLUMNS, HEADER "0,\"1\"x,1\n",
		  "line 2, column 6: a comma must follow the quoted cell" },
		{ COLUMNS, HEADER ",1,1\n0,,1\n",
		  "there is no item; add at least one; 2 rows without a time left out, "
		  "the first in line 2 (no submit in t)" },
		{ COLUMNS, HEADER "-1,1,1\n", "line 2, column 1 (t): submit: \"-1\" is negative" },
		{ COLUMNS, HEADER "0,0,1\n", "line 2, column 3 (d): duration: must be above 0" },
		{ COLUMNS, HEADER "0,NaN,1\n",
		  "line 2, column 3 (d): duration: \"NaN\" is not a finite number of seconds; write one" },
		{ COLUMNS, HEADER "0,soon,1\n",
		  "line 2, column 3 (d): duration: \"soon\" is not a time like" },
		{ COLUMNS, HEADER "0,1,-1\n", "line 2, column 5 (g): gpus: \"-1\" is negative" },
		{ COLUMNS, HEADER "0,1,x\n", "line 2, column 5 (g): gpus: \"x\" is not a number" },
		{ COLUMNS, HEADER "0,1,0\n", "line 2, column 5 (g): resources: asks for nothing" },
		{ COLUMNS, HEADER "0,1,\n", "line 2, column 5 (g): resources: asks for nothing" },
		{ "submit=t,end=d,gpus=g", HEADER "5,5,1\n",
		  "line 2, column 3 (d): end: must be after submit" },
		{ "submit=t,duration=d,gpus=g,count=g", HEADER "5,5,1.5\n",
		  "line 2, column 5 (g): count: \"1.5\" is not an integer of 1 to 10000000" },
		{ "submit=t,duration=d,kind=g", HEADER "5,5,job\n",
		  "line 2, column 5 (g): kind: must be one of task, actor" },
		{ "submit=t,duration=d,gpus=d,label.a=g", HEADER "5,5,a b\n",
		  "line 2, column 5 (g): labelSelector.a: \"a b\" is not a label selector" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct workload all;
		struct err err;

		if (workload_read(bad[i].text, strlen(bad[i].text), bad[i].columns, &arena, &all,
				  &err) == 0)
			fail_msg("no error for: %s", bad[i].text);
		if (strncmp(err.text, bad[i].error, strlen(bad[i].error)) != 0)
			fail_msg("%s %s\n  gives  %s\n  not    %s", bad[i].columns, bad[i].text,
				 err.text, bad[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alibaba_pods_are_read),
		cmocka_unit_test(dates_and_gangs_are_read),
		cmocka_unit_test(every_other_column_is_read),
		cmocka_unit_test(rows_without_a_time_are_left_out),
		cmocka_unit_test(errors_have_line_column_and_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
