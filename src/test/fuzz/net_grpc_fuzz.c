/* One gRPC reply in pieces: how it is cut makes no difference. */
#include "fuzz.h"

#include <string.h>

#include "net/grpc.h"

#define CEILING_BYTES 4096

struct outcome {
	enum err_kind kind;
	bool complete;
	struct grpc_reader reader;
};

/* piece 0: all at once. */
static void read_all(const uint8_t *data, size_t size, size_t piece, struct outcome *ret)
{
	struct err err = { .kind = ERR_NONE };

	grpc_reader_init(&ret->reader, CEILING_BYTES);
	ret->kind = ERR_NONE;
	for (size_t at = 0; at < size && ret->kind == ERR_NONE; at += piece ? piece : size) {
		size_t left = size - at;

		if (grpc_reader_add(&ret->reader, data + at, piece && piece < left ? piece : left,
				    &err) < 0)
			ret->kind = err.kind;
	}
	ret->complete = ret->kind == ERR_NONE && grpc_reader_is_complete(&ret->reader);
	REQUIRE(ret->reader.message.size <= CEILING_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces;
	struct buf text;

	if (size == 0)
		return 0;
	read_all(data + 1, size - 1, 0, &whole);
	read_all(data + 1, size - 1, 1 + data[0] % 16, &pieces);
	REQUIRE(whole.kind == pieces.kind && whole.complete == pieces.complete);
	if (whole.complete) {
		REQUIRE(whole.reader.message.size == pieces.reader.message.size);
		REQUIRE(memcmp(buf_string(&whole.reader.message),
			       buf_string(&pieces.reader.message), whole.reader.message.size) == 0);
	}
	grpc_reader_done(&whole.reader);
	grpc_reader_done(&pieces.reader);
	buf_init(&text, 100);
	grpc_message_decode((const char *)data, size, &text);
	REQUIRE(text.size <= size && text.size <= 100);
	buf_done(&text);
	REQUIRE(grpc_status_parse((const char *)data, size) >= -1);
	return 0;
}
