/* Talks to one GCS with the client of src/gcs and prints the replies as JSON lines: for tests
 * against a real Ray head. Not installed.
 *
 *   gcs_probe [options] HOST PORT COMMAND [ARGUMENT...]
 *
 * Options: --token TOKEN, --from-environment (token and TLS as the sidecar reads them),
 * --timeout-ms N (2000), --repeat N (1), --interval-ms N (200), --clients N (1, each with a
 * connection of its own), --ceiling-bytes N.
 * Exit status: 0 when the last call of all succeeded, 1 when it failed, 2 for wrong usage. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "codec/objects/ray_state_json.h"
#include "codec/text/json_write.h"
#include "codec/text/number.h"
#include "gcs/gcs_auth.h"
#include "gcs/gcs_client.h"
#include "gcs/gcs_gpu_use.h"
#include "net/loop.h"

#define PROBE_OUTPUT_BYTES ((size_t)256 << 20)

struct probe {
	struct loop *loop;
	struct loop_timer *timer;
	struct gcs_config config;
	struct gcs_auth auth;
	struct gcs_client **clients;
	struct arena arena;
	int64_t timeout_ms, repeat, interval_ms, client_count;
	int64_t waiting; /* calls under way */
	char **arguments;
	int argument_count;
	const struct probe_command *command;
	bool failed;
};

struct probe_command {
	const char *name;
	int argument_count;
	void (*start)(struct probe *probe, struct gcs_client *client);
};

static void probe_turn(void *context);

/* ---- output ---- */

static void probe_end(struct probe *probe, struct json_writer *writer, const struct err *err)
{
	if (err) {
		json_write_text(writer, "error", err_kind_name(err->kind));
		json_write_text(writer, "text", err->text);
	}
	json_write_object_end(writer);
	printf("%s\n", buf_string(writer->buf));
	fflush(stdout);
	probe->failed = err != NULL;
	if (--probe->waiting == 0) {
		if (--probe->repeat > 0)
			loop_timer_start(probe->timer, probe->interval_ms);
		else
			loop_stop(probe->loop);
	}
}

static void probe_begin(struct json_writer *writer, struct buf *output)
{
	buf_init(output, PROBE_OUTPUT_BYTES);
	json_write_init(writer, output, JSON_STYLE_LINE);
	json_write_object(writer, NULL);
}

/* ---- commands ---- */

static void probe_state_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	const struct ray_state *state = reply->state;
	AUTO(buf_done) struct buf output;
	struct json_writer writer;

	probe_begin(&writer, &output);
	if (state) {
		field_write_object(&writer, "state", ray_state_fields, state);
		json_write_array(&writer, "problems");
		for (size_t i = 0; i < state->problems.count; i++)
			json_write_text(&writer, NULL, state->problems.at[i]);
		json_write_array_end(&writer);
	}
	probe_end(context, &writer, err);
}

static void probe_state(struct probe *probe, struct gcs_client *client)
{
	gcs_client_get_state(client, probe->timeout_ms, &probe->arena, probe_state_done, probe);
}

static void probe_drain_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	AUTO(buf_done) struct buf output;
	struct json_writer writer;

	probe_begin(&writer, &output);
	if (!err) {
		json_write_boolean(&writer, "accepted", reply->accepted);
		json_write_text(&writer, "rejection", reply->rejection);
	}
	probe_end(context, &writer, err);
}

static void probe_drain(struct probe *probe, struct gcs_client *client)
{
	gcs_client_drain_node(client, probe->timeout_ms, probe->arguments[0], probe->arguments[1],
			      TIME_NONE, probe_drain_done, probe);
}

static void probe_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	AUTO(buf_done) struct buf output;
	struct json_writer writer;

	(void)reply;
	probe_begin(&writer, &output);
	probe_end(context, &writer, err);
}

static void probe_kv_put(struct probe *probe, struct gcs_client *client)
{
	gcs_client_kv_put(client, probe->timeout_ms, probe->arguments[0], probe->arguments[1],
			  probe->arguments[2], strlen(probe->arguments[2]), probe_done, probe);
}

static void probe_lines(struct probe *probe, struct gcs_client *client)
{
	gcs_client_publish_lines(client, probe->timeout_ms, (const char *const *)probe->arguments,
				 2, probe_done, probe);
}

static void probe_gpu_use_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	const struct gpu_use *use = reply->gpu_use;
	AUTO(buf_done) struct buf output;
	struct json_writer writer;

	probe_begin(&writer, &output);
	json_write_array(&writer, "rows");
	for (size_t i = 0; use && i < use->row_count; i++) {
		json_write_object(&writer, NULL);
		json_write_text(&writer, "kind", gpu_holder_kind_name(use->rows[i].kind));
		json_write_text(&writer, "name", use->rows[i].name);
		json_write_text(&writer, "job", use->rows[i].job);
		json_write_text(&writer, "node", use->rows[i].node);
		json_write_text(&writer, "group", use->rows[i].group);
		json_write_amount(&writer, "gpus", use->rows[i].gpus);
		json_write_time(&writer, "since", use->rows[i].since);
		json_write_object_end(&writer);
	}
	json_write_array_end(&writer);
	json_write_array(&writer, "jobs");
	for (size_t i = 0; use && i < use->job_count; i++) {
		json_write_object(&writer, NULL);
		json_write_text(&writer, "id", use->jobs[i].id);
		json_write_text(&writer, "entrypoint", use->jobs[i].entrypoint);
		json_write_text(&writer, "submission", use->jobs[i].submission);
		json_write_object_end(&writer);
	}
	json_write_array_end(&writer);
	json_write_integer(&writer, "missing", use ? use->missing : 0);
	json_write_integer(&writer, "dropped", use ? use->dropped : 0);
	probe_end(context, &writer, err);
}

static void probe_gpu_use(struct probe *probe, struct gcs_client *client)
{
	int64_t list = 0;

	if (number_parse_integer(probe->arguments[0], &list) < 0 || list < 0 || list >= RAY_LISTS)
		list = 0;
	gcs_client_get_list(client, probe->timeout_ms, (enum ray_list)list, &gcs_gpu_use,
			    &probe->arena, probe_gpu_use_done, probe);
}

static void probe_requests_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	const struct ray_constraint *constraint = reply->constraint;
	AUTO(buf_done) struct buf output;
	struct json_writer writer;

	probe_begin(&writer, &output);
	if (!err && constraint) {
		json_write_array(&writer, "requests");
		for (size_t i = 0; i < constraint->count; i++) {
			json_write_object(&writer, NULL);
			ray_request_write(&writer, "request", &constraint->requests[i].request);
			json_write_integer(&writer, "count", constraint->requests[i].count);
			json_write_object_end(&writer);
		}
		json_write_array_end(&writer);
	} else if (!err) {
		json_write_null(&writer, "requests");
	}
	probe_end(context, &writer, err);
}

static void probe_requests(struct probe *probe, struct gcs_client *client)
{
	gcs_client_get_kv_requests(client, probe->timeout_ms, &probe->arena, probe_requests_done,
				   probe);
}

/* A plan that calls everything infeasible that Ray waits for, and launches for one group. */
static void probe_report_state(void *context, const struct gcs_reply *reply, const struct err *err)
{
	const struct ray_state *state = reply->state;
	struct probe *probe = context;
	struct arena *arena = &probe->arena;
	struct plan plan = { .cluster_name = "" };

	if (err) {
		probe_done(context, reply, err);
		return;
	}
	VEC_PUSH(arena, &plan.groups, ((struct plan_group){ .name = "gpu-group", .to_launch = 2 }));
	VEC_PUSH(arena, &plan.workers,
		 ((struct plan_worker){ .pod = "pod-1",
					.group = "gpu-group",
					.state = WORKER_PENDING,
					.message = "no Node yet" }));
	for (size_t i = 0; i < state->request_count; i++)
		VEC_PUSH(arena, &plan.infeasible,
			 ((struct plan_demand){ .kind = DEMAND_REQUEST,
						.request = &state->requests[i].request,
						.count = state->requests[i].count }));
	for (size_t i = 0; i < state->gang_count; i++)
		VEC_PUSH(arena, &plan.infeasible,
			 ((struct plan_demand){
				 .kind = DEMAND_GANG, .gang = &state->gangs[i], .count = 1 }));
	for (size_t i = 0; i < state->constraint_count; i++)
		for (size_t j = 0; j < state->constraints[i].count; j++)
			VEC_PUSH(arena, &plan.infeasible,
				 ((struct plan_demand){
					 .kind = DEMAND_CONSTRAINT,
					 .request = &state->constraints[i].requests[j].request,
					 .count = state->constraints[i].requests[j].count }));
	gcs_client_report_state(probe->clients[0], probe->timeout_ms, loop_wall(probe->loop), state,
				&plan, probe_done, probe);
}

static void probe_report(struct probe *probe, struct gcs_client *client)
{
	gcs_client_get_state(client, probe->timeout_ms, &probe->arena, probe_report_state, probe);
}

static void probe_memory_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct probe *probe = context;
	AUTO(buf_done) struct buf output;
	struct json_writer writer;
	long pages = 0, all = 0;
	FILE *file;

	(void)reply;
	arena_reset(&probe->arena);
	probe_begin(&writer, &output);
	file = fopen("/proc/self/statm", "r");
	if (file && fscanf(file, "%ld %ld", &all, &pages) == 2)
		json_write_integer(&writer, "rssBytes", pages * sysconf(_SC_PAGESIZE));
	if (file)
		fclose(file);
	probe_end(probe, &writer, err);
}

/* The program's own memory after each reply: with --clients, the price of a connection. */
static void probe_memory(struct probe *probe, struct gcs_client *client)
{
	gcs_client_get_state(client, probe->timeout_ms, &probe->arena, probe_memory_done, probe);
}

static const struct probe_command probe_commands[] = {
	{ "state", 0, probe_state },          /* GetClusterResourceState */
	{ "drain", 2, probe_drain },          /* node id in hex, message */
	{ "kv-put", 3, probe_kv_put },        /* namespace, key, value */
	{ "kv-requests", 0, probe_requests }, /* request_resources() under autoscaler v1 */
	{ "gpu-use", 1, probe_gpu_use },      /* the number of enum ray_list */
	{ "lines", 2, probe_lines },          /* that drivers print */
	{ "report", 0, probe_report },        /* all that is pending as infeasible */
	{ "memory", 0, probe_memory },
};

static void probe_turn(void *context)
{
	struct probe *probe = context;

	arena_reset(&probe->arena);
	probe->waiting = probe->client_count;
	for (int64_t i = 0; i < probe->client_count; i++)
		probe->command->start(probe, probe->clients[i]);
}

/* ---- the command line ---- */

static int probe_usage(void)
{
	fprintf(stderr, "usage: gcs_probe [options] HOST PORT COMMAND [ARGUMENT...]\n");
	return 2;
}

static int probe_option(struct probe *probe, const char *name, const char *value)
{
	const struct {
		const char *name;
		int64_t *number;
	} numbers[] = {
		{ "--timeout-ms", &probe->timeout_ms },
		{ "--repeat", &probe->repeat },
		{ "--interval-ms", &probe->interval_ms },
		{ "--clients", &probe->client_count },
	};
	int64_t bytes;

	if (strcmp(name, "--token") == 0) {
		probe->config.token = value;
		return 0;
	}
	if (strcmp(name, "--ceiling-bytes") == 0 && number_parse_integer(value, &bytes) == 0) {
		probe->config.reply_ceiling_bytes = (size_t)bytes;
		return 0;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(name, numbers[i].name) == 0)
			return number_parse_integer(value, numbers[i].number);
	return -1;
}

static int probe_parse(struct probe *probe, int count, char **arguments)
{
	int64_t port;
	int i = 1;

	for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
		struct err err;

		if (strcmp(arguments[i], "--from-environment") == 0) {
			if (gcs_auth_from_environment(&probe->auth, &err) < 0) {
				fprintf(stderr, "gcs_probe: %s\n", err.text);
				return -1;
			}
			probe->config.token = probe->auth.token;
			probe->config.tls = probe->auth.tls;
		} else if (i + 1 == count ||
			   probe_option(probe, arguments[i], arguments[i + 1]) < 0) {
			return -1;
		} else {
			i++;
		}
	}
	if (count - i < 3 || number_parse_integer(arguments[i + 1], &port) < 0)
		return -1;
	probe->config.host = arguments[i];
	probe->config.port = (int)port;
	for (size_t c = 0; c < sizeof(probe_commands) / sizeof(probe_commands[0]); c++)
		if (strcmp(arguments[i + 2], probe_commands[c].name) == 0)
			probe->command = &probe_commands[c];
	probe->arguments = arguments + i + 3;
	probe->argument_count = count - i - 3;
	if (!probe->command || probe->command->argument_count != probe->argument_count)
		return -1;
	return 0;
}

int main(int count, char **arguments)
{
	struct probe probe = {
		.config.cluster = "test/probe",
		.timeout_ms = 2000,
		.repeat = 1,
		.interval_ms = 200,
		.client_count = 1,
	};

	if (probe_parse(&probe, count, arguments) < 0)
		return probe_usage();
	probe.loop = loop_new();
	probe.timer = loop_timer_new(probe.loop, probe_turn, &probe);
	probe.clients = memory_array((size_t)probe.client_count, sizeof(struct gcs_client *));
	for (int64_t i = 0; i < probe.client_count; i++)
		probe.clients[i] = gcs_client_new(probe.loop, &probe.config);
	loop_timer_start(probe.timer, 0);
	loop_run(probe.loop);
	for (int64_t i = 0; i < probe.client_count; i++)
		gcs_client_free(probe.clients[i]);
	memory_free(probe.clients);
	loop_timer_free(probe.timer);
	gcs_auth_done(&probe.auth);
	arena_done(&probe.arena);
	loop_free(probe.loop);
	return probe.failed;
}
