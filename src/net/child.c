#include "net/child.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"

#define CHILD_READ_BYTES 4096
/* A killed program that has not ended by then (it hangs in the kernel) is abandoned. */
#define CHILD_KILL_MS 1000

struct child {
	uv_process_t process;
	uv_pipe_t pipe;
	struct loop_timer *deadline;
	struct child_options options;
	struct buf output;
	char chunk[CHILD_READ_BYTES];
	int open_handles; /* of libuv: the memory is freed with the last one */
	bool ended, exited, at_end;
	struct err failure; /* ERR_NONE: no failure so far */
	int64_t exit_status;
	int signal;
};

static void child_on_close(uv_handle_t *handle)
{
	struct child *child = handle->data;

	if (--child->open_handles > 0)
		return;
	buf_done(&child->output);
	memory_free(child);
}

/* From here on libuv only closes the handles. */
static void child_close(struct child *child)
{
	child->ended = true;
	if (!child->exited)
		(void)uv_process_kill(&child->process, SIGKILL);
	loop_timer_free(steal(&child->deadline));
	uv_close((uv_handle_t *)&child->pipe, child_on_close);
	uv_close((uv_handle_t *)&child->process, child_on_close);
}

static void child_finish(struct child *child)
{
	bool failed = child->failure.kind != ERR_NONE;

	child->options.done(child->options.context, failed ? "" : buf_string(&child->output),
			    failed ? 0 : child->output.size, failed ? &child->failure : NULL);
	child_close(child);
}

/* Finishes when both the program has ended and its output is complete, in either order. */
static void child_look(struct child *child)
{
	if (child->ended || !child->exited || !child->at_end)
		return;
	if (child->failure.kind == ERR_NONE && child->signal)
		err_set(&child->failure, ERR_INPUT, "was ended by signal %d", child->signal);
	else if (child->failure.kind == ERR_NONE && child->exit_status)
		err_set(&child->failure, ERR_INPUT, "ended with exit status %lld",
			(long long)child->exit_status);
	child_finish(child);
}

/* `failure` is set: waits a limited time for the end of the program, so that libuv reaps it. */
static void child_kill(struct child *child)
{
	(void)uv_read_stop((uv_stream_t *)&child->pipe);
	child->at_end = true;
	if (!child->exited)
		(void)uv_process_kill(&child->process, SIGKILL);
	loop_timer_start(child->deadline, child->exited ? 0 : CHILD_KILL_MS);
}

static void child_on_exit(uv_process_t *process, int64_t exit_status, int signal)
{
	struct child *child = process->data;

	child->exited = true;
	child->exit_status = exit_status;
	child->signal = signal;
	child_look(child);
}

static void child_on_alloc(uv_handle_t *handle, size_t suggested UNUSED, uv_buf_t *ret_buf)
{
	struct child *child = handle->data;

	*ret_buf = uv_buf_init(child->chunk, sizeof(child->chunk));
}

static void child_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *from)
{
	struct child *child = stream->data;

	if (size == 0 || child->at_end)
		return;
	if (size < 0) {
		(void)uv_read_stop(stream);
		child->at_end = true;
		child_look(child);
		return;
	}
	if (buf_add(&child->output, from->base, (size_t)size) == 0)
		return;
	err_set(&child->failure, ERR_LIMIT, "printed more than %zu bytes",
		child->options.ceiling_bytes);
	child_kill(child);
}

static void child_on_deadline(void *context)
{
	struct child *child = context;

	if (child->failure.kind != ERR_NONE) {
		child_finish(child);
		return;
	}
	err_set(&child->failure, ERR_TIMEOUT, "did not end within %lld ms and was killed",
		(long long)child->options.deadline_ms);
	child_kill(child);
}

static int child_spawn(struct child *child, struct loop *loop)
{
	uv_stdio_container_t streams[] = {
		{ .flags = child->options.pass_stdin ? UV_INHERIT_FD : UV_IGNORE, .data.fd = 0 },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)&child->pipe },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
	};
	/* The arguments as for execvp: without const, but never written. */
	uv_process_options_t options = {
		.file = child->options.arguments[0],
		.args = memory_without_const(child->options.arguments),
		.env = memory_without_const(child->options.environment),
		.stdio = streams,
		.stdio_count = 3,
		.exit_cb = child_on_exit,
	};

	/* Not every library opens its sockets with close-on-exec. */
	(void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	return uv_spawn(loop_uv(loop), &child->process, &options);
}

struct child *child_start(struct loop *loop, const struct child_options *options, struct err *err)
{
	struct child *child = memory_alloc(sizeof(*child));

	CHECK(options->deadline_ms > 0 && options->arguments[0]);
	child->options = *options;
	buf_init(&child->output, options->ceiling_bytes);
	child->process.data = child;
	CHECK(uv_pipe_init(loop_uv(loop), &child->pipe, 0) == 0);
	child->pipe.data = child;
	child->deadline = loop_timer_new(loop, child_on_deadline, child);
	child->open_handles = 2;
	int code = child_spawn(child, loop);
	if (code < 0) {
		child->exited = true;
		child_close(child);
		err_set(err, code == UV_ENOENT ? ERR_NOT_FOUND : ERR_INPUT, "cannot be started: %s",
			uv_strerror(code));
		return NULL;
	}
	CHECK(uv_read_start((uv_stream_t *)&child->pipe, child_on_alloc, child_on_read) == 0);
	loop_timer_start(child->deadline, options->deadline_ms);
	return child;
}

void child_cancel(struct child *child)
{
	if (child && !child->ended)
		child_close(child);
}
