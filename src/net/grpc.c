#include "net/grpc.h"

#include <string.h>

#include "base/budget.h"
#include "base/text.h"

static const struct {
	int status;
	const char *name;
	enum err_kind kind;
} grpc_statuses[] = {
	{ GRPC_OK, "OK", ERR_NONE },
	{ GRPC_CANCELLED, "CANCELLED", ERR_RETRY },
	{ GRPC_UNKNOWN, "UNKNOWN", ERR_RETRY },
	{ GRPC_INVALID_ARGUMENT, "INVALID_ARGUMENT", ERR_INPUT },
	{ GRPC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", ERR_TIMEOUT },
	{ GRPC_NOT_FOUND, "NOT_FOUND", ERR_NOT_FOUND },
	{ 6, "ALREADY_EXISTS", ERR_CONFLICT },
	{ GRPC_PERMISSION_DENIED, "PERMISSION_DENIED", ERR_DENIED },
	{ GRPC_RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED", ERR_RETRY },
	{ GRPC_FAILED_PRECONDITION, "FAILED_PRECONDITION", ERR_INPUT },
	{ 10, "ABORTED", ERR_RETRY },
	{ 11, "OUT_OF_RANGE", ERR_INPUT },
	{ GRPC_UNIMPLEMENTED, "UNIMPLEMENTED", ERR_NOT_FOUND },
	{ 13, "INTERNAL", ERR_RETRY },
	{ GRPC_UNAVAILABLE, "UNAVAILABLE", ERR_RETRY },
	{ 15, "DATA_LOSS", ERR_RETRY },
	{ GRPC_UNAUTHENTICATED, "UNAUTHENTICATED", ERR_DENIED },
};

#define GRPC_STATUS_COUNT (sizeof(grpc_statuses) / sizeof(grpc_statuses[0]))

const char *grpc_status_name(int status)
{
	for (size_t i = 0; i < GRPC_STATUS_COUNT; i++)
		if (grpc_statuses[i].status == status)
			return grpc_statuses[i].name;
	return "unknown status";
}

enum err_kind grpc_status_kind(int status)
{
	for (size_t i = 0; i < GRPC_STATUS_COUNT; i++)
		if (grpc_statuses[i].status == status)
			return grpc_statuses[i].kind;
	return ERR_RETRY;
}

void grpc_reader_init(struct grpc_reader *reader, size_t ceiling_bytes)
{
	memset(reader, 0, sizeof(*reader));
	buf_init(&reader->message, ceiling_bytes);
}

void grpc_reader_done(struct grpc_reader *reader)
{
	buf_done(&reader->message);
}

static int grpc_reader_check_prefix(struct grpc_reader *reader, struct err *err)
{
	const unsigned char *p = reader->prefix;

	reader->length = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	if (p[0])
		return err_set(err, ERR_INPUT,
			       "the reply is compressed (flag %u), which was not asked for",
			       (unsigned)p[0]);
	if (reader->length > reader->message.ceiling_bytes)
		return err_set(
			err, ERR_LIMIT,
			"the reply is announced with %zu bytes, more than the ceiling of %zu "
			"for one reply of a Ray head; reduce what the head lists in it",
			reader->length, reader->message.ceiling_bytes);
	reader->message.ceiling_bytes = reader->length; /* the message never needs more */
	return 0;
}

int grpc_reader_add(struct grpc_reader *reader, const void *data, size_t size, struct err *err)
{
	const char *bytes = data;

	while (size > 0 && reader->prefix_size < GRPC_PREFIX_SIZE) {
		reader->prefix[reader->prefix_size++] = (unsigned char)*bytes++;
		size--;
		if (reader->prefix_size == GRPC_PREFIX_SIZE &&
		    grpc_reader_check_prefix(reader, err) < 0)
			return -1;
	}
	if (size == 0)
		return 0;
	if (size > reader->length - reader->message.size)
		return err_set(err, ERR_INPUT, "the reply continues after its message of %zu bytes",
			       reader->length);
	if (buf_add(&reader->message, bytes, size) < 0) {
		(void)budget_refuse(reader->message.budget,
				    reader->length + 1 - reader->message.capacity, err);
		return err_prefix(err, "after %zu of the reply's %zu bytes", reader->message.size,
				  reader->length);
	}
	return 0;
}

bool grpc_reader_is_complete(const struct grpc_reader *reader)
{
	return reader->prefix_size == GRPC_PREFIX_SIZE && reader->message.size == reader->length;
}

void grpc_prefix_write(unsigned char ret_prefix[static GRPC_PREFIX_SIZE], uint32_t size)
{
	ret_prefix[0] = 0;
	ret_prefix[1] = (unsigned char)(size >> 24);
	ret_prefix[2] = (unsigned char)(size >> 16);
	ret_prefix[3] = (unsigned char)(size >> 8);
	ret_prefix[4] = (unsigned char)size;
}

void grpc_message_decode(const char *value, size_t size, struct buf *text)
{
	for (size_t i = 0; i < size; i++) {
		bool escaped = value[i] == '%' && size - i > 2;
		int byte = escaped ? text_hex_byte(value + i + 1) : -1;

		if (buf_add_char(text, byte < 0 ? value[i] : (char)byte) < 0)
			return;
		if (byte >= 0)
			i += 2;
	}
}

int grpc_status_parse(const char *value, size_t size)
{
	int status = 0;

	if (size == 0 || size > 4)
		return -1;
	for (size_t i = 0; i < size; i++) {
		if (value[i] < '0' || value[i] > '9')
			return -1;
		status = status * 10 + (value[i] - '0');
	}
	return status;
}
