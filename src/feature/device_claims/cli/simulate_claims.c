/* Claims of a simulation: their devices are counted by the device table. */
#include "cli/shared/simulate_objects.h"
#include "codec/objects/cluster_set.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/resolve.h"
#include "sim/simulate.h"

/* Those of a simulation have no ResourceSlices: devices are not placed. */
static int decode(const struct cluster_set *set, struct arena *arena, struct sim_input *input,
		  struct err *err)
{
	struct cluster_set_trees classes = cluster_set_trees(set, "DeviceClass");
	struct cluster_set_trees templates = cluster_set_trees(set, "ResourceClaimTemplate");
	struct cluster_set_trees claims = cluster_set_trees(set, "ResourceClaim");
	struct device_class *class = arena_array(arena, classes.count, sizeof(*class));
	struct claim_template *template = arena_array(arena, templates.count, sizeof(*template));
	struct resource_claim *claim = arena_array(arena, claims.count, sizeof(*claim));
	const struct device_objects objects = { .classes = class,
						.class_count = classes.count,
						.templates = template,
						.template_count = templates.count,
						.claims = claim,
						.claim_count = claims.count };

	for (size_t i = 0; i < classes.count; i++)
		if (device_class_decode(classes.at[i], "", arena, &class[i], err))
			return err_prefix(err, "DeviceClass");
	for (size_t i = 0; i < templates.count; i++)
		if (claim_template_decode(templates.at[i], "", arena, &template[i], err))
			return err_prefix(err, "ResourceClaimTemplate");
	for (size_t i = 0; i < claims.count; i++)
		if (resource_claim_decode(claims.at[i], "", arena, &claim[i], err))
			return err_prefix(err, "ResourceClaim");
	if (classes.count + templates.count + claims.count > 0)
		input->devices = device_claims_attach(&objects, input->devices, arena);
	return 0;
}

const struct simulate_objects simulate_claims = { decode, NULL };
