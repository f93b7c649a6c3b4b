/* JSON text through every object decoder. Laws: cJSON can read each text that the strict scan
 * accepts; an error has a text; the number of problems is limited. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
#include "codec/objects/lease_json.h"
#include "codec/objects/memory_json.h"
#include "codec/objects/namespace_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/objects/secret_json.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/resolve.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "test/support/ray_state_text.h"

static void check(int failed, const struct err *err)
{
	REQUIRE(failed == 0 || failed == -1);
	REQUIRE(failed == 0 || (err->kind != ERR_NONE && err->text[0] != '\0'));
}

/* The tree as the only object of each kind. */
static void decode_devices(const struct cJSON *tree, struct arena *arena)
{
	struct err err = { .kind = ERR_NONE };
	struct resource_slice slice;
	struct device_class class;
	struct claim_template template_;
	struct resource_claim claim;
	struct device_objects objects = { .slices_known = true };

	if (resource_slice_decode(tree, "", arena, &slice, &err) == 0)
		objects = (struct device_objects){ .slices = &slice, .slice_count = 1 };
	if (device_class_decode(tree, "", arena, &class, &err) == 0) {
		objects.classes = &class;
		objects.class_count = 1;
	}
	if (claim_template_decode(tree, "", arena, &template_, &err) == 0) {
		objects.templates = &template_;
		objects.template_count = 1;
	}
	if (resource_claim_decode(tree, "", arena, &claim, &err) == 0) {
		objects.claims = &claim;
		objects.claim_count = 1;
	}
	objects.templates_known = objects.claims_known = true;
	REQUIRE(device_claims_attach(&objects, device_table_builtin(), arena)->claims != NULL);
}

static void decode_all(const struct cJSON *tree, struct arena *arena)
{
	struct err err = { .kind = ERR_NONE };
	struct autoscaler_object autoscaler;
	struct namespace namespace;
	struct memory_state memory;
	struct ray_cluster cluster;
	struct ray_state state;
	struct gpu_pool pool;
	struct event event;
	struct lease lease;
	const char *value;
	struct node node;
	struct pod pod;
	size_t size;

	check(ray_cluster_decode(tree, "a", arena, &cluster, &err), &err);
	check(pod_decode(tree, "", arena, &pod, &err), &err);
	check(node_decode(tree, "", arena, &node, &err), &err);
	check(event_decode(tree, "", arena, &event, &err), &err);
	check(lease_decode(tree, "", arena, &lease, &err), &err);
	check(autoscaler_decode(tree, "", arena, &autoscaler, &err), &err);
	check(namespace_decode(tree, "", arena, &namespace, &err), &err);
	check(gpu_pool_decode(tree, "", arena, &pool, &err), &err);
	(void)gpu_pool_decode_unreadable(tree, "why", arena, &pool);
	check(ray_state_decode(tree, "", arena, &state, &err), &err);
	check(secret_decode(tree, "", "auth_token", arena, &value, &size, &err), &err);
	memory_decode(tree, arena, &memory);
	decode_devices(tree, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err = { .kind = ERR_NONE };

	if (json_parse((const char *)data, size, &fuzz_limits, &tree, &err)) {
		REQUIRE(!tree && err.text[0] != '\0');
		REQUIRE(strcmp(err.text, "the JSON tree cannot be built") != 0);
		return 0;
	}
	decode_all(tree, &arena);
	return 0;
}
