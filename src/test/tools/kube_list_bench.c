/* kube_list_bench KUBECONFIG SECONDS: an informer of all Pods, as the controller has it, until its first list is
 * in. For e2e/bench_list.py. Prints one line of JSON. Exit 1: not in within so many seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "core/model/kubernetes.h"
#include "kube/kube_informer.h"

struct bench {
	struct loop *loop;
	bool synced;
	size_t errors;
};

static void on_synced(void *context)
{
	struct bench *bench = context;

	bench->synced = true;
	loop_stop(bench->loop);
}

static void on_error(void *context, const struct err *err)
{
	struct bench *bench = context;

	bench->errors++;
	fprintf(stderr, "%s\n", err->text);
}

static void on_late(void *context)
{
	loop_stop(((struct bench *)context)->loop);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void print_figures(const struct bench *bench, const struct kube_informer *informer,
			  int64_t took_ms)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"pods\": %zu, \"bad\": %zu, \"errors\": %zu, \"lists\": %llu, \"seconds\": %.3f,"
	       " \"cpu_seconds\": %.3f, \"peak_mib\": %.1f}\n",
	       kube_informer_count(informer), kube_informer_bad_count(informer), bench->errors,
	       (unsigned long long)kube_informer_counters(informer).lists, (double)took_ms / 1000,
	       seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
	       (double)usage.ru_maxrss / 1024);
}

static int run(struct kube_config *config, int64_t most_ms)
{
	struct bench bench = { .loop = loop_new() };
	struct https *https = https_new(bench.loop, "rayscaler/bench");
	struct kube_client *client =
		kube_client_new(bench.loop, https, config, &KUBE_CLIENT_OPTIONS_INIT);
	struct loop_timer *timer = loop_timer_new(bench.loop, on_late, &bench);
	int64_t started_ms = loop_monotonic_ms(bench.loop);
	struct kube_informer *informer = kube_informer_new(
		client, &(struct kube_informer_options){ .type = &kube_type_pod,
							 .label_selector = LABEL_CLUSTER,
							 .callbacks = { .on_synced = on_synced,
									.on_error = on_error,
									.context = &bench } });

	loop_timer_start(timer, most_ms);
	loop_run(bench.loop);
	print_figures(&bench, informer, loop_monotonic_ms(bench.loop) - started_ms);
	kube_informer_free(informer);
	loop_timer_free(timer);
	kube_client_free(client);
	https_free(https);
	loop_free(bench.loop);
	return bench.synced ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct kube_config *config;
	struct err err;
	int status;

	if (argc != 3) {
		fprintf(stderr, "kube_list_bench KUBECONFIG SECONDS\n");
		return 2;
	}
	config = kube_config_load(&(struct kube_config_options){ .kubeconfig = argv[1] }, &err);
	if (!config) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	status = run(config, strtoll(argv[2], NULL, 10) * 1000);
	kube_config_free(config);
	return status;
}
