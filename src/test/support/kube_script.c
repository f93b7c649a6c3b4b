#include "test/support/kube_script.h"

char *script_text(const char *text)
{
	char *copy = memory_strdup(text ? text : "");

	for (char *c = copy; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	return copy;
}

static void script_send_bytes(struct exchange *exchange, const char *text)
{
	size_t size = strlen(text);
	char *chunks = memory_alloc(size * 6);

	for (size_t i = 0; i < size; i++) {
		memcpy(chunks + i * 6, "1\r\n?\r\n", 6);
		chunks[i * 6 + 3] = text[i];
	}
	exchange_send(exchange, chunks, size * 6);
	memory_free(chunks);
}

static void script_play(struct exchange *exchange, const struct step *step)
{
	char *text = script_text(step->text);

	switch (step->kind) {
	case STEP_ANSWER:
		exchange_answer(exchange, step->status ? step->status : 200,
				step->headers ? step->headers : "", text);
		break;
	case STEP_STREAM:
	case STEP_STREAM_HOLD:
	case STEP_STREAM_CUT:
	case STEP_STREAM_HALF:
	case STEP_STREAM_RESET:
	case STEP_STREAM_BYTES:
		exchange_open_stream(exchange);
		if (step->kind == STEP_STREAM_BYTES)
			script_send_bytes(exchange, text);
		else if (*text)
			exchange_chunk(exchange, text, strlen(text));
		if (step->kind == STEP_STREAM)
			exchange_end_stream(exchange);
		else if (step->kind == STEP_STREAM_CUT)
			exchange->closed = true;
		else if (step->kind == STEP_STREAM_RESET)
			exchange_reset(exchange);
		else if (step->kind == STEP_STREAM_HALF)
			exchange_half_close(exchange);
		else
			exchange_hold(exchange);
		break;
	case STEP_HOLD:
		exchange_hold(exchange);
		break;
	case STEP_RESET:
		exchange_reset(exchange);
		break;
	}
	memory_free(text);
}

void script_request(struct exchange *exchange, void *context)
{
	struct kube_script *script = context;
	size_t number = atomic_fetch_add(&script->step, 1);
	char line[8192];

	if (number >= script->step_count) {
		exchange_hold(exchange);
		return;
	}
	(void)snprintf(line, sizeof(line), "%s %s", exchange->method, exchange->path);
	if (script->steps[number].expect && !strstr(line, script->steps[number].expect)) {
		print_error("step %zu: \"%s\" is not in \"%s\"\n", number,
			    script->steps[number].expect, line);
		script->surprised = true;
	}
	script_play(exchange, &script->steps[number]);
}

struct kube_config *script_config(const struct kube_script *script)
{
	char *path = temp_path(script->directory, "config");
	struct kube_config_options options = { .kubeconfig = path,
					       .exec_pause_ms = script->exec_pause_ms };
	struct err err;
	struct kube_config *config = kube_config_load(&options, &err);

	CHECK(config);
	memory_free(path);
	return config;
}

void script_start(struct kube_script *script, server_script *answer,
		  const struct kube_client_options *options)
{
	char text[1024];

	script->loop = loop_new();
	script->https = https_new(script->loop, "rayscaler/test");
	script->server = server_start(answer, script);
	if (!script->directory)
		script->directory = temp_directory();
	temp_write(script->directory, "token", "t1");
	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
		       "users: [{name: u, user: {%s}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
		       script->server->port, script->user ? script->user : "tokenFile: token");
	temp_write(script->directory, "config", text);
	script->config = script_config(script);
	script->client = kube_client_new(script->loop, script->https, script->config, options);
	buf_init(&script->seen, 64 << 20);
}

void script_steps(struct kube_script *script, const struct step *steps, size_t count)
{
	script->steps = steps;
	script->step_count = count;
	script_start(script, script_request, &KUBE_CLIENT_OPTIONS_INIT);
}

void script_done(struct kube_script *script)
{
	kube_client_free(script->client);
	https_free(script->https);
	loop_free(script->loop);
	server_stop(script->server);
	kube_config_free(script->config);
	temp_done(script->directory);
	buf_done(&script->seen);
	if (script->surprised)
		fail_msg("a request was not the expected one");
}
