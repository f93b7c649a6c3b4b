#include "net/h2_frames.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/memory.h"

#define H2_WINDOW_BYTES (1 << 20)
#define H2_HEADER_LIST_BYTES 16384
#define H2_WHY_BYTES 200

void h2_frames_reset(nghttp2_session *session, int32_t stream_id)
{
	(void)nghttp2_session_set_stream_user_data(session, stream_id, NULL);
	(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_CANCEL);
}

static void h2_frames_note(struct h2_frames *frames, const char *text)
{
	if (!frames->why)
		frames->why = memory_strndup(text, strnlen(text, H2_WHY_BYTES));
}

static int h2_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			size_t name_size, const uint8_t *value, size_t value_size,
			uint8_t flags UNUSED, void *context)
{
	struct h2_frames *frames = context;
	void *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	frames->header_bytes += name_size + value_size;
	if (stream)
		frames->events->header(stream, (const char *)name, name_size, (const char *)value,
				       value_size);
	return 0;
}

static int h2_on_data(nghttp2_session *session, uint8_t flags UNUSED, int32_t stream_id,
		      const uint8_t *data, size_t size, void *context)
{
	struct h2_frames *frames = context;
	void *stream = nghttp2_session_get_stream_user_data(session, stream_id);

	if (!stream)
		return 0;
	if (frames->events->data(stream, data, size) < 0)
		h2_frames_reset(session, stream_id);
	else
		frames->taken_bytes += size;
	return 0;
}

static int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	struct h2_frames *frames = context;

	frames->received = true;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		frames->goaway = true;
		h2_frames_note(frames, nghttp2_http2_strerror(frame->goaway.error_code));
	}
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
		return 0;
	void *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!stream)
		return 0;
	frames->events->stream_end(frames->owner, stream, true, 0);
	/* The server answered without having read the whole body: the rest is not sent. */
	if (nghttp2_session_get_stream_local_close(session, frame->hd.stream_id) == 0)
		h2_frames_reset(session, frame->hd.stream_id);
	else
		(void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, NULL);
	return 0;
}

static int h2_on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
			      void *context)
{
	struct h2_frames *frames = context;
	void *stream = nghttp2_session_get_stream_user_data(session, stream_id);

	if (stream)
		frames->events->stream_end(frames->owner, stream, false, error_code);
	return 0;
}

static int h2_on_invalid_frame(nghttp2_session *session UNUSED, const nghttp2_frame *frame UNUSED,
			       int error, void *context)
{
	h2_frames_note(context, nghttp2_strerror(error));
	return 0;
}

static int h2_on_error(nghttp2_session *session UNUSED, int code UNUSED, const char *text,
		       size_t size, void *context)
{
	struct h2_frames *frames = context;

	if (!frames->why && size > 0)
		frames->why = memory_strndup(text, size < H2_WHY_BYTES ? size : H2_WHY_BYTES);
	return 0;
}

static void *h2_malloc(size_t size, void *context UNUSED)
{
	return malloc(size);
}

static void h2_free(void *block, void *context UNUSED)
{
	free(block);
}

static void *h2_calloc(size_t count, size_t size, void *context UNUSED)
{
	return calloc(count, size);
}

/* nghttp2 reserves a buffer of 16 KiB for the largest frame in each session, and our requests fill
 * a few hundred bytes of it. Its inner pages, which may come from memory that was in use before, are
 * given back to the kernel until they are written. */
static void *h2_realloc(void *block, size_t size, void *context UNUSED)
{
	void *resized = realloc(block, size);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)resized + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)resized + size) / page * page;

	if (!block && resized && end > first)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
	return resized;
}

void h2_frames_init(struct h2_frames *frames, const struct h2_connection_events *events,
		    void *owner)
{
	nghttp2_mem memory = {
		.malloc = h2_malloc,
		.free = h2_free,
		.calloc = h2_calloc,
		.realloc = h2_realloc,
	};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;

	*frames = (struct h2_frames){ .events = events, .owner = owner };
	CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
	CHECK(nghttp2_option_new(&option) == 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_on_stream_close);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks,
								     h2_on_invalid_frame);
	nghttp2_session_callbacks_set_error_callback2(callbacks, h2_on_error);
	nghttp2_option_set_no_closed_streams(option, 1);
	CHECK(nghttp2_session_client_new3(&frames->session, callbacks, frames, option, &memory) ==
	      0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
}

void h2_frames_done(struct h2_frames *frames)
{
	nghttp2_session_del(steal(&frames->session));
	memory_free(steal(&frames->why));
}

void h2_frames_greet(struct h2_frames *frames)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_BYTES },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_LIST_BYTES },
	};

	CHECK(nghttp2_submit_settings(frames->session, NGHTTP2_FLAG_NONE, settings,
				      sizeof(settings) / sizeof(settings[0])) == 0);
	CHECK(nghttp2_session_set_local_window_size(frames->session, NGHTTP2_FLAG_NONE, 0,
						    H2_WINDOW_BYTES) == 0);
}

int h2_frames_input(struct h2_frames *frames, const void *data, size_t size, struct err *err)
{
	ssize_t used = nghttp2_session_mem_recv(frames->session, data, size);

	if (used >= 0 && (size_t)used == size)
		return 0;
	return err_set(err, ERR_RETRY, "HTTP/2: %s; is this a GCS, and without TLS?",
		       frames->why ? frames->why : nghttp2_strerror((int)(used < 0 ? used : 0)));
}

int h2_frames_check(const struct h2_frames *frames, struct err *err)
{
	if (nghttp2_session_want_read(frames->session) ||
	    nghttp2_session_want_write(frames->session))
		return 0;
	return err_set(err, ERR_RETRY, "HTTP/2: the connection was ended: %s",
		       frames->why ? frames->why : "no reason given");
}
