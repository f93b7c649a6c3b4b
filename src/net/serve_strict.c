#include "net/serve_strict.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct serve_strict {
	unsigned hosts, lengths, encodings;
	bool bad_name, unknown_encoding;
};

/* The characters of a token (RFC 9110, 5.6.2): neither space nor tab, which would hide a name. */
static bool is_token(const char *text, size_t size)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return size > 0 && strspn(text, token) == size;
}

static enum MHD_Result look_at_field(void *context, enum MHD_ValueKind kind, const char *name,
				     size_t name_size, const char *value, size_t value_size)
{
	struct serve_strict *found = context;

	(void)kind;
	(void)value_size;
	found->bad_name |= !is_token(name, name_size);
	if (!strcasecmp(name, MHD_HTTP_HEADER_HOST)) {
		found->hosts++;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
		found->lengths++;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
		found->encodings++;
		found->unknown_encoding |= !value || strcasecmp(value, "chunked") != 0;
	}
	return MHD_YES;
}

const char *serve_strict_check(struct MHD_Connection *connection, const char *version)
{
	bool http_1_1 = !strcmp(version, MHD_HTTP_VERSION_1_1);
	struct serve_strict found = { 0 };

	(void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at_field, &found);
	if (!http_1_1 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
		return "the version must be HTTP/1.0 or HTTP/1.1";
	if (found.bad_name)
		return "the name of a header field has characters that no name has";
	if (found.hosts > 1 || (http_1_1 && found.hosts == 0))
		return "a request has one Host field";
	if (found.lengths > 1)
		return "more than one Content-Length field";
	if (found.lengths > 0 && found.encodings > 0)
		return "Content-Length together with Transfer-Encoding";
	if (found.encodings > 1 || found.unknown_encoding)
		return "the only Transfer-Encoding is chunked";
	return NULL;
}
