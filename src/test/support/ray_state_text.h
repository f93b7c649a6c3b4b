/* A ray_state from a JSON tree of its own; the program reads it as a member of a Snapshot. Header
 * only. */
#ifndef TEST_SUPPORT_RAY_STATE_TEXT_H
#define TEST_SUPPORT_RAY_STATE_TEXT_H

#include "codec/objects/ray_state_json.h"
#include "codec/text/json.h"

__attribute__((unused)) static int ray_state_decode(const struct cJSON *json, const char *path,
						    struct arena *arena,
						    struct ray_state *ret_state, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err, .proto = true };
	struct json_at root = json_root(json, path, &reader);
	struct ray_state state = { .version = 0 };

	if (json_expect(&root, JSON_OBJECT) || field_decode_all(&root, ray_state_fields, &state))
		return -1;
	state.problems = (struct strings){ reader.problems.at, reader.problems.count };
	*ret_state = state;
	return 0;
}

#endif
