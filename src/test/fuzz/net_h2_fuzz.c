/* Bytes of a server on an HTTP/2 connection on which a call waits for its reply. */
#include "fuzz.h"

#include <string.h>

#include "net/grpc.h"
#include "net/h2_frames.h"

struct reply {
	struct grpc_reader reader;
	bool ended;
};

static void on_opened(void *owner)
{
	(void)owner;
}

static void on_header(void *stream, const char *name, size_t name_size, const char *value,
		      size_t value_size)
{
	(void)stream;
	REQUIRE(name_size == 0 || name);
	(void)grpc_status_parse(value, value_size);
}

static int on_data(void *stream, const void *data, size_t size)
{
	struct reply *reply = stream;

	REQUIRE(!reply->ended);
	return grpc_reader_add(&reply->reader, data, size, NULL);
}

static void on_stream_end(void *owner, void *stream, bool complete, uint32_t error_code)
{
	struct reply *reply = stream;

	(void)owner;
	(void)complete;
	(void)error_code;
	REQUIRE(!reply->ended); /* one end for each stream */
	reply->ended = true;
}

static void on_lost(void *owner, const struct err *err)
{
	(void)owner;
	(void)err;
}

static const struct h2_connection_events events = {
	.opened = on_opened,
	.header = on_header,
	.data = on_data,
	.stream_end = on_stream_end,
	.read_end = on_opened,
	.lost = on_lost,
};

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0 };
}

static void drain(struct h2_frames *frames)
{
	const uint8_t *out;

	while (nghttp2_session_mem_send(frames->session, &out) > 0)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const nghttp2_nv headers[] = { pair(":method", "POST"), pair(":scheme", "http"),
				       pair(":path", "/a/b"), pair(":authority", "a") };
	struct h2_frames frames;
	struct reply reply = { .ended = false };
	size_t first;
	struct err err;

	if (size < 2)
		return 0;
	grpc_reader_init(&reply.reader, 4096);
	h2_frames_init(&frames, &events, &frames);
	h2_frames_greet(&frames);
	REQUIRE(nghttp2_submit_request(frames.session, NULL, headers, 4, NULL, &reply) == 1);
	drain(&frames);
	/* Most inputs start as a server does, so that they get further. */
	if (data[0] % 8)
		REQUIRE(h2_frames_input(&frames, "\0\0\0\4\0\0\0\0\0", 9, &err) == 0);
	first = data[1] % (size - 1);
	if (h2_frames_input(&frames, data + 2, first < size - 2 ? first : size - 2, &err) == 0) {
		drain(&frames);
		if (first < size - 2)
			(void)h2_frames_input(&frames, data + 2 + first, size - 2 - first, &err);
		drain(&frames);
		(void)h2_frames_check(&frames, &err);
	}
	h2_frames_done(&frames);
	grpc_reader_done(&reply.reader);
	return 0;
}
