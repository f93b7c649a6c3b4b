#include "kube/kube_discover.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/json.h"

static const struct json_limits kube_discover_limits = {
	.bytes = 4 << 20,
	.depth = 64,
	.elements = 100000,
};

int kube_discover_serves(const char *body, size_t size, const char *plural, bool *ret_serves,
			 struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = &arena, .err = err };
	struct json_at resources;
	bool serves = false;

	if (json_parse(body, size, &kube_discover_limits, &json, err) < 0)
		return -1;
	struct json_at root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) < 0 || json_array(&root, "resources", &resources) < 0)
		return -1;
	for (struct json_at e = json_first(&resources); e.json; json_next(&e)) {
		const char *name;

		if (json_text(&e, "name", &name) < 0)
			return -1;
		serves = serves || strcmp(name, plural) == 0;
	}
	*ret_serves = serves;
	return 0;
}
