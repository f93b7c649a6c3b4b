#include "codec/objects/secret_json.h"

#include "codec/text/base64.h"
#include "codec/text/json.h"

int secret_decode(const struct cJSON *json, const char *path, const char *key, struct arena *arena,
		  const char **ret_value, size_t *ret_size, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), data, value;
	char *bytes;

	if (json_expect(&root, JSON_OBJECT) || json_object(&root, "data", &data))
		return -1;
	value = json_member(&data, key);
	if (json_type(&value) == JSON_MISSING)
		return err_set(err, ERR_NOT_FOUND, "%s: the Secret has no such key",
			       json_path(&value));
	if (json_expect(&value, JSON_STRING))
		return -1;
	if (base64_decode(json_text_value(&value), arena, &bytes, ret_size))
		return json_fail(&value, "is not base64");
	*ret_value = bytes;
	return 0;
}
