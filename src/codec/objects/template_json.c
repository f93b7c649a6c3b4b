#include "codec/objects/template_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/text/quantity.h"
#include "codec/text/rfc3339.h"
#include "core/decide/template_seen.h"

#define FINGERPRINT_SIZE 16

static bool is_name(const char *text)
{
	return *text != '\0' && strlen(text) <= TEMPLATE_SEEN_NAME_SIZE_MAX;
}

static int resources_decode(const struct json_at *at, struct resources *ret_resources)
{
	struct quantities quantities;
	struct resource *items;

	if (quantities_decode(at, "resources", &quantities) ||
	    quantities.count > TEMPLATE_SEEN_RESOURCES_MAX)
		return -1;
	items = arena_array(at->reader->arena, quantities.count, sizeof(*items));
	for (size_t i = 0; i < quantities.count; i++) {
		if (!quantities.at[i].valid || !is_name(quantities.at[i].name))
			return -1;
		items[i] = (struct resource){ quantities.at[i].name, quantities.at[i].amount };
	}
	*ret_resources = resources_sort(items, quantities.count);
	return 0;
}

static int labels_decode(const struct json_at *at, struct labels *ret_labels)
{
	if (object_labels_decode(at, "labels", ret_labels) ||
	    ret_labels->count > TEMPLATE_SEEN_RESOURCES_MAX)
		return -1;
	for (size_t i = 0; i < ret_labels->count; i++)
		if (!is_name(ret_labels->at[i].key) ||
		    strlen(ret_labels->at[i].value) > TEMPLATE_SEEN_NAME_SIZE_MAX)
			return -1;
	return 0;
}

int template_json_decode(const struct json_at *at, struct memory_template *ret_template)
{
	struct memory_template template = *ret_template;

	if (json_expect(at, JSON_OBJECT) || json_text(at, "template", &template.fingerprint) ||
	    strlen(template.fingerprint) != FINGERPRINT_SIZE ||
	    rfc3339_decode(at, "since", &template.since) || json_text(at, "pod", &template.pod) ||
	    strlen(template.pod) > TEMPLATE_SEEN_NAME_SIZE_MAX ||
	    resources_decode(at, &template.resources) || labels_decode(at, &template.labels))
		return -1;
	*ret_template = template;
	return 0;
}

void template_json_write(struct json_writer *writer, const struct memory_template *template)
{
	json_write_text(writer, "template", template->fingerprint);
	if (template->since != TIME_NONE)
		json_write_time(writer, "since", template->since);
	if (*template->pod != '\0')
		json_write_text(writer, "pod", template->pod);
	if (template->resources.count > 0) {
		json_write_object(writer, "resources");
		for (size_t i = 0; i < template->resources.count; i++)
			json_write_amount(writer, template->resources.at[i].name,
					  template->resources.at[i].amount);
		json_write_object_end(writer);
	}
	if (template->labels.count > 0) {
		json_write_object(writer, "labels");
		for (size_t i = 0; i < template->labels.count; i++)
			json_write_text(writer, template->labels.at[i].key,
					template->labels.at[i].value);
		json_write_object_end(writer);
	}
}
