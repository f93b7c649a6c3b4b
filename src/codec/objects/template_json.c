#include "codec/objects/template_json.h"

#include <string.h>

#include "core/decide/template_seen.h"

#define FINGERPRINT_SIZE 16

const struct field template_fields[] = {
	FIELD_TEXT(struct memory_template, fingerprint, "template", .flags = FIELD_ALWAYS,
		   .description = "Hash of what the template gives a worker in Ray."),
	FIELD_TIME(struct memory_template, since, "since",
		   .description = "When the template was last edited; older Pods have another "
				  "one."),
	FIELD_TEXT(struct memory_template, pod, "pod",
		   .description = "A worker that lacks a resource of the template."),
	FIELD_RESOURCES(struct memory_template, resources, "resources",
			.description = "Resources in Ray that differ from the template's; 0: "
				       "absent."),
	FIELD_LABELS(struct memory_template, labels, "labels",
		     .description = "Labels in Ray of all workers of the template."),
	FIELD_END,
};

static bool is_name(const char *text)
{
	return *text != '\0' && strlen(text) <= TEMPLATE_SEEN_NAME_SIZE_MAX;
}

static bool is_valid(const struct memory_template *template)
{
	if (strlen(template->fingerprint) != FINGERPRINT_SIZE ||
	    strlen(template->pod) > TEMPLATE_SEEN_NAME_SIZE_MAX ||
	    template->resources.count > TEMPLATE_SEEN_RESOURCES_MAX ||
	    template->labels.count > TEMPLATE_SEEN_RESOURCES_MAX)
		return false;
	for (size_t i = 0; i < template->resources.count; i++)
		if (!is_name(template->resources.at[i].name))
			return false;
	for (size_t i = 0; i < template->labels.count; i++)
		if (!is_name(template->labels.at[i].key) ||
		    strlen(template->labels.at[i].value) > TEMPLATE_SEEN_NAME_SIZE_MAX)
			return false;
	return true;
}

int template_json_decode(const struct json_at *at, struct memory_template *ret_template)
{
	struct memory_template template = *ret_template;

	if (json_expect(at, JSON_OBJECT) || field_decode_all(at, template_fields, &template) ||
	    !is_valid(&template))
		return -1;
	*ret_template = template;
	return 0;
}
