#include "codec/objects/gpushare_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text/json.h"

struct uses {
	VEC(struct device_use) list;
};

static bool device_of(const char *text, int64_t *ret_device)
{
	char *end;
	long device = strtol(text, &end, 10);

	if (end == text || *end != '\0' || device < 0 || device >= GPUSHARE_DEVICES_MAX)
		return false;
	*ret_device = device;
	return true;
}

static void add(struct arena *arena, struct uses *uses, int64_t device, int64_t amount)
{
	for (size_t i = 0; i < uses->list.count; i++) {
		if (uses->list.at[i].device == device) {
			uses->list.at[i].amount += amount;
			return;
		}
	}
	VEC_PUSH(arena, &uses->list, ((struct device_use){ device, amount }));
}

/* {"container": {"0": 4, "1": 2}}: -1 when it is anything else. */
static int allocation_decode(const char *text, struct arena *arena, struct uses *uses)
{
	static const struct json_limits limits = { .bytes = 65536, .depth = 4, .elements = 1024 };
	AUTO(json_done) struct cJSON *json = NULL;
	struct err err;
	struct json_reader reader = { .arena = arena, .err = &err };
	struct json_at root;

	if (json_parse(text, strlen(text), &limits, &json, &err))
		return -1;
	root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT))
		return -1;
	for (struct json_at container = json_first(&root); container.json; json_next(&container)) {
		if (json_expect(&container, JSON_OBJECT))
			return -1;
		for (struct json_at e = json_first(&container); e.json; json_next(&e)) {
			int64_t device, units;

			if (!device_of(e.name, &device) || json_expect(&e, JSON_NUMBER) ||
			    json_integer_value(&e, &units) || units < 1 ||
			    units > RESOURCE_AMOUNT_MAX / RESOURCE_UNIT / GPUSHARE_DEVICES_MAX)
				return -1;
			add(arena, uses, device, units * RESOURCE_UNIT);
		}
	}
	return 0;
}

void gpushare_decode(const struct labels *annotations, struct arena *arena,
		     const struct device_use **ret_uses, size_t *ret_count)
{
	const char *allocation = labels_value(annotations, GPUSHARE_ANNOTATION_ALLOCATION);
	const char *index = labels_value(annotations, GPUSHARE_ANNOTATION_INDEX);
	struct uses uses = { .list = { .at = NULL } };
	int64_t device;

	if (allocation && allocation_decode(allocation, arena, &uses))
		uses.list.count = 0;
	if (uses.list.count == 0 && index && device_of(index, &device))
		add(arena, &uses, device, 0);
	*ret_uses = uses.list.at;
	*ret_count = uses.list.count;
}
