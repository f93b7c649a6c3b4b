#include "gcs/gcs_request.h"

#include "codec/objects/ray_state_json.h"
#include "codec/text/number.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_state.h"
#include "ray.pb-c.h"

static void gcs_read_bundle(struct gcs_reader *reader, const Ray__ResourceRequest *message,
			    struct ray_request *ret)
{
	struct bundle_entry *entries =
		arena_array(reader->arena, message->n_resources_bundle, sizeof(*entries));

	for (size_t i = 0; i < message->n_resources_bundle; i++) {
		const Ray__ResourceRequest__ResourcesBundleEntry *entry =
			message->resources_bundle[i];
		const char *problem;

		entries[i].name = gcs_reader_text(reader, entry->key);
		entries[i].received = entry->value;
		(void)amount_from_double(entry->value, &problem);
		if (problem)
			(void)gcs_reader_problem(reader, "resourcesBundle", entry->key, problem);
	}
	ray_request_set_bundle(ret, entries, message->n_resources_bundle, reader->arena);
}

static void gcs_read_placements(struct gcs_reader *reader, const Ray__ResourceRequest *message,
				struct ray_request *ret)
{
	size_t count = message->n_placement_constraints;
	struct placement_constraint *placements =
		arena_array(reader->arena, count, sizeof(*placements));

	for (size_t i = 0; i < count; i++) {
		const Ray__AntiAffinityConstraint *anti =
			message->placement_constraints[i]->anti_affinity;
		const Ray__AffinityConstraint *affinity =
			message->placement_constraints[i]->affinity;

		placements[i].has_anti_affinity = anti != NULL;
		placements[i].anti_affinity.key =
			gcs_reader_text(reader, anti ? anti->label_name : "");
		placements[i].anti_affinity.value =
			gcs_reader_text(reader, anti ? anti->label_value : "");
		placements[i].has_affinity = affinity != NULL;
		placements[i].affinity.key =
			gcs_reader_text(reader, affinity ? affinity->label_name : "");
		placements[i].affinity.value =
			gcs_reader_text(reader, affinity ? affinity->label_value : "");
	}
	ret->placements = placements;
	ret->placement_count = count;
}

static void gcs_read_selector(struct gcs_reader *reader, const Ray__LabelSelector *message,
			      struct label_selector *ret)
{
	struct label_constraint *constraints =
		arena_array(reader->arena, message->n_label_constraints, sizeof(*constraints));

	for (size_t i = 0; i < message->n_label_constraints; i++) {
		const Ray__LabelSelectorConstraint *constraint = message->label_constraints[i];

		constraints[i].key = gcs_reader_text(reader, constraint->label_key);
		constraints[i].operation = (int32_t)constraint->operator_;
		constraints[i].values = gcs_reader_strings(reader, constraint->label_values,
							   constraint->n_label_values);
	}
	ret->constraints = constraints;
	ret->count = message->n_label_constraints;
}

static bool gcs_request_is_above(struct gcs_reader *reader, const Ray__ResourceRequest *message)
{
	for (size_t i = 0; i < message->n_label_selectors; i++) {
		const Ray__LabelSelector *selector = message->label_selectors[i];

		if (gcs_reader_is_above(reader, "labelSelectors.labelConstraints",
					selector->n_label_constraints, GCS_STATE_CONSTRAINTS_MAX,
					"constraints"))
			return true;
		for (size_t k = 0; k < selector->n_label_constraints; k++)
			if (gcs_reader_is_above(reader,
						"labelSelectors.labelConstraints.labelValues",
						selector->label_constraints[k]->n_label_values,
						GCS_STATE_CONSTRAINTS_MAX, "values"))
				return true;
	}
	return gcs_reader_is_above(reader, "resourcesBundle", message->n_resources_bundle,
				   GCS_STATE_BUNDLE_RESOURCES_MAX, "resources") ||
	       gcs_reader_is_above(reader, "placementConstraints", message->n_placement_constraints,
				   GCS_STATE_CONSTRAINTS_MAX, "constraints") ||
	       gcs_reader_is_above(reader, "labelSelectors", message->n_label_selectors,
				   GCS_STATE_CONSTRAINTS_MAX, "selectors");
}

static void gcs_request_convert(struct gcs_reader *reader, const Ray__ResourceRequest *message,
				struct ray_request *ret)
{
	struct label_selector *selectors;

	if (gcs_request_is_above(reader, message))
		return;
	gcs_read_bundle(reader, message, ret);
	gcs_read_placements(reader, message, ret);
	selectors = arena_array(reader->arena, message->n_label_selectors, sizeof(*selectors));
	for (size_t i = 0; i < message->n_label_selectors; i++)
		gcs_read_selector(reader, message->label_selectors[i], &selectors[i]);
	ret->selectors = selectors;
	ret->selector_count = message->n_label_selectors;
}

/* A request with a problem is not shared: each one is reported at its own place. */
static void gcs_request_share(struct gcs_reader *reader, struct gcs_intern_entry *entry,
			      const struct ray_request *request)
{
	if (request->problem || reader->failed)
		return;
	struct ray_request *shared = ARENA_NEW(&reader->equal, struct ray_request);
	*shared = *request;
	entry->value = shared;
}

int gcs_request_read(struct gcs_reader *reader, struct gcs_bytes body, struct ray_request *ret)
{
	size_t size = gcs_bytes_size(&body);

	if (gcs_reader_is_above(reader, "", size, GCS_STATE_REQUEST_BYTES_MAX, "bytes"))
		return -1;
	struct gcs_intern_entry *entry = gcs_intern_find(&reader->requests, body.at, size);
	if (entry && entry->value) {
		*ret = *(const struct ray_request *)entry->value;
		return 0;
	}
	if (gcs_reader_is_above(reader, "", ++reader->shape_count, GCS_STATE_SHAPES_MAX,
				"distinct requests"))
		return -1;
	const Ray__ResourceRequest *message = gcs_message_unpack(
		&ray__resource_request__descriptor, body.at, size, &reader->entry, reader->err);
	if (message) {
		gcs_request_convert(reader, message, ret);
		if (entry)
			gcs_request_share(reader, entry, ret);
	}
	reader->failed |= !message;
	arena_reset(&reader->entry);
	return gcs_reader_check(reader);
}
