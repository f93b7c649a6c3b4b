#include "codec/objects/token_request_json.h"

#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/rfc3339.h"

void token_request_write(int seconds, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", "authentication.k8s.io/v1" },
			 { "kind", "TokenRequest" });
	json_write_object(&writer, "spec");
	json_write_integer(&writer, "expirationSeconds", seconds);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
}

int token_request_decode(const struct cJSON *json, const char *path, struct arena *arena,
			 const char **ret_token, time_ms *ret_expires, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), status, token;

	*ret_expires = TIME_NONE;
	if (json_expect(&root, JSON_OBJECT) || json_object(&root, "status", &status) ||
	    json_text(&status, "token", ret_token) ||
	    rfc3339_decode(&status, "expirationTimestamp", ret_expires))
		return -1;
	token = json_member(&status, "token");
	return **ret_token ? 0 : json_fail(&token, "is empty");
}
