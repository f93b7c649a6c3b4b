/* feature/device_claims: the objects of resource.k8s.io from JSON, with each member and with malformed
 * values, and how their requests are counted. */

#include "base/buf.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/resolve.h"
#include "test/support/codec_support.h"

#define TEXT_BYTES_MAX ((size_t)1 << 20)

static const char slice_text[] =
	"metadata: {name: n1-gpu, resourceVersion: '7'}\n"
	"spec:\n"
	"  driver: gpu.nvidia.com\n"
	"  pool: {name: n1, generation: 3, resourceSliceCount: 2}\n"
	"  nodeSelector:\n"
	"    nodeSelectorTerms:\n"
	"    - matchExpressions: [{key: zone, operator: In, values: [a, b]}]\n"
	"      matchFields: [{key: metadata.name, operator: In, values: [n1]}]\n"
	"  sharedCounters:\n"
	"  - {name: gpu-0, counters: {memory: {value: 80Gi}, slices: {value: '7'}}}\n"
	"  devices:\n"
	"  - name: gpu-0-mig-0\n"
	"    attributes:\n"
	"      type: {string: mig}\n"
	"      other.example/version: {version: 1.2.3}\n"
	"      index: {int: -4}\n"
	"      ecc: {bool: true}\n"
	"      later: {list: [a]}\n"
	"      links: {strings: [a, b]}\n"
	"      serial: {int: 9007199254740993}\n"
	"      none: {}\n"
	"    capacity: {memory: {value: 9Gi, requestPolicy: {default: 1Gi}}, other.example/cores: {value: 12}}\n"
	"    taints: [{key: gpu.nvidia.com/xid, value: '79', effect: NoSchedule}]\n"
	"    consumesCounters:\n"
	"    - {counterSet: gpu-0, counters: {memory: {value: 10Gi}}}\n"
	"    allowMultipleAllocations: true\n"
	"    nodeName: n2\n"
	"    allNodes: true\n"
	"  - {name: gpu-1}\n";

static int slice_of(const char *text, struct arena *arena, struct resource_slice *slice,
		    struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);

	return resource_slice_decode(tree, "", arena, slice, err);
}

static void check_quantity(const struct quantity *quantity, const char *name, const char *text)
{
	assert_string_equal(quantity->name, name);
	assert_string_equal(quantity->text, text);
	assert_true(quantity->valid);
}

static void check_device(const struct device *device)
{
	static const struct device_attribute wanted[] = {
		{ "gpu.nvidia.com/type", ATTRIBUTE_STRING, "mig", 0 },
		{ "other.example/version", ATTRIBUTE_VERSION, "1.2.3", 0 },
		{ "gpu.nvidia.com/index", ATTRIBUTE_INT, "", -4 },
		{ "gpu.nvidia.com/ecc", ATTRIBUTE_BOOL, "", 1 },
		{ "gpu.nvidia.com/later", ATTRIBUTE_OTHER, "", 0 },
		{ "gpu.nvidia.com/links", ATTRIBUTE_OTHER, "", 0 },
		{ "gpu.nvidia.com/serial", ATTRIBUTE_OTHER, "", 0 },
	};

	assert_string_equal(device->name, "gpu-0-mig-0");
	assert_int_equal(device->attribute_count, SUPPORT_COUNT(wanted));
	for (size_t i = 0; i < SUPPORT_COUNT(wanted); i++) {
		assert_string_equal(device->attributes[i].name, wanted[i].name);
		assert_int_equal(device->attributes[i].kind, wanted[i].kind);
		assert_string_equal(device->attributes[i].text, wanted[i].text);
		assert_int_equal(device->attributes[i].number, wanted[i].number);
	}
	assert_int_equal(device->capacity.count, 2);
	check_quantity(&device->capacity.at[0], "gpu.nvidia.com/memory", "9Gi");
	check_quantity(&device->capacity.at[1], "other.example/cores", "12");
	assert_int_equal(device->defaults.count, 1);
	check_quantity(&device->defaults.at[0], "gpu.nvidia.com/memory", "1Gi");
	assert_int_equal(device->taint_count, 1);
	assert_string_equal(device->taints[0].effect, "NoSchedule");
	assert_int_equal(device->consumes_count, 1);
	assert_string_equal(device->consumes[0].set, "gpu-0");
	check_quantity(&device->consumes[0].counters.at[0], "memory", "10Gi");
	assert_true(device->allow_multiple);
	assert_string_equal(device->node_name, "n2");
	assert_true(device->all_nodes);
}

static void test_a_slice(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct resource_slice slice;
	struct err err;

	(void)state;
	if (slice_of(slice_text, &arena, &slice, &err))
		fail_msg("%s", err.text);
	assert_int_equal(slice.problems.count, 0);
	assert_string_equal(slice.name, "n1-gpu");
	assert_string_equal(slice.resource_version, "7");
	assert_string_equal(slice.driver, "gpu.nvidia.com");
	assert_string_equal(slice.pool, "n1");
	assert_int_equal(slice.generation, 3);
	assert_int_equal(slice.slice_count, 2);
	assert_string_equal(slice.node_name, "");
	assert_false(slice.all_nodes);
	assert_int_equal(slice.node_term_count, 1);
	assert_int_equal(slice.shared_count, 1);
	check_quantity(&slice.shared[0].counters.at[1], "slices", "7");
	assert_int_equal(slice.device_count, 2);
	check_device(&slice.devices[0]);
	assert_int_equal(slice.devices[1].attribute_count, 0);
	assert_string_equal(slice.devices[1].node_name, "");
}

#define CLAIM_SPEC                                                                                 \
	"{devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 2, " \
	"allocationMode: ExactCount, selectors: [{cel: {expression: 'a'}}, {cel: {expression: "    \
	"'b'}}], tolerations: [{key: t, operator: Exists}], capacity: {requests: {memory: 4Gi}}}}" \
	", {name: nics, firstAvailable: [{name: fast, deviceClassName: nic, allocationMode: All}," \
	" {name: slow, deviceClassName: old}]}, {name: admin, exactly: {deviceClassName: "         \
	"gpu.nvidia.com, adminAccess: true}}], constraints: [{requests: [gpus], matchAttribute: "  \
	"d/root}]}}"

static void check_spec(const struct claim_spec *spec)
{
	const struct device_ask *ask = spec->requests[0].asks;

	assert_int_equal(spec->request_count, 3);
	assert_string_equal(spec->requests[0].name, "gpus");
	assert_int_equal(spec->requests[0].ask_count, 1);
	assert_string_equal(ask->name, "");
	assert_string_equal(ask->device_class, "gpu.nvidia.com");
	assert_int_equal(ask->count, 2);
	assert_false(ask->all || ask->admin_access);
	assert_int_equal(ask->selectors.count, 2);
	assert_string_equal(ask->selectors.at[1], "b");
	assert_int_equal(ask->toleration_count, 1);
	check_quantity(&ask->capacity.at[0], "memory", "4Gi");
	assert_int_equal(spec->requests[1].ask_count, 2);
	assert_true(spec->requests[1].asks[0].all);
	assert_string_equal(spec->requests[1].asks[1].name, "slow");
	assert_int_equal(spec->requests[1].asks[1].count, 1);
	assert_true(spec->requests[2].asks[0].admin_access);
}

static void test_a_template(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree("metadata: {name: t, namespace: a, resourceVersion: '1'}\n"
					"spec: {spec: " CLAIM_SPEC "}\n");
	struct claim_template template_;
	struct err err;

	(void)state;
	assert_int_equal(claim_template_decode(tree, "", &arena, &template_, &err), 0);
	assert_null(template_.unreadable);
	assert_string_equal(template_.namespace_, "a");
	assert_string_equal(template_.name, "t");
	check_spec(&template_.spec);
}

static void test_a_claim(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(
		"metadata: {name: c, namespace: a, uid: u, resourceVersion: '1'}\n"
		"spec: " CLAIM_SPEC "\n"
		"status:\n"
		"  reservedFor: [{resource: pods, name: p, uid: x}]\n"
		"  allocation:\n"
		"    devices:\n"
		"      results:\n"
		"      - {request: nics/slow, driver: d, pool: n1, device: x, adminAccess: true,"
		" consumedCapacity: {memory: 1Gi}}\n");
	struct resource_claim claim;
	struct err err;

	(void)state;
	assert_int_equal(resource_claim_decode(tree, "", &arena, &claim, &err), 0);
	assert_null(claim.unreadable);
	assert_string_equal(claim.uid, "u");
	check_spec(&claim.spec);
	assert_true(claim.allocated);
	assert_int_equal(claim.result_count, 1);
	assert_string_equal(claim.results[0].request, "nics/slow");
	assert_string_equal(claim.results[0].driver, "d");
	assert_string_equal(claim.results[0].pool, "n1");
	assert_string_equal(claim.results[0].device, "x");
	assert_true(claim.results[0].admin_access);
	check_quantity(&claim.results[0].consumed.at[0], "memory", "1Gi");
	assert_int_equal(claim.pods.count, 1);
	assert_string_equal(claim.pods.at[0], "p");
}

static void test_a_class(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree =
		codec_tree("{metadata: {name: g, resourceVersion: '1'}, spec: {selectors: [{cel: "
			   "{expression: x}}, {}], extendedResourceName: nvidia.com/gpu}}");
	struct device_class class;
	struct err err;

	(void)state;
	assert_int_equal(device_class_decode(tree, "", &arena, &class, &err), 0);
	assert_string_equal(class.name, "g");
	assert_string_equal(class.extended_resource, "nvidia.com/gpu");
	assert_int_equal(class.selectors.count, 2);
	assert_string_equal(class.selectors.at[0], "x");
	/* A selector of a later kind is one that is not judged. */
	assert_string_equal(class.selectors.at[1], "");
}

/* ---- malformed values ---- */

static int decode_slice(const char *text, struct arena *arena, struct err *err)
{
	struct resource_slice slice;

	return slice_of(text, arena, &slice, err);
}

#define SLICE(spec) "{metadata: {name: s}, spec: " spec "}"
#define DEVICE(members) SLICE("{driver: d, devices: [{name: x}, {name: y, " members "}]}")

static void test_malformed_slices(void **state)
{
	static const struct codec_bad bad[] = {
		{ "[]", "top level: must be an object" },
		{ "{}", "metadata.name: is missing" },
		{ "{metadata: {name: 7}}", "metadata.name: must be a string" },
		{ SLICE("7"), "spec: must be an object" },
		{ SLICE("{driver: 7}"), "spec.driver: must be a string" },
		{ SLICE("{pool: x}"), "spec.pool: must be an object" },
		{ SLICE("{pool: {generation: x}}"), "spec.pool.generation: must be" },
		{ SLICE("{pool: {resourceSliceCount: 1.5}}"),
		  "spec.pool.resourceSliceCount: must" },
		{ SLICE("{allNodes: 1}"), "spec.allNodes: must be" },
		{ SLICE("{nodeSelector: []}"), "spec.nodeSelector: must be an object" },
		{ SLICE("{sharedCounters: {}}"), "spec.sharedCounters: must be an array" },
		{ SLICE("{sharedCounters: [{counters: {m: 7}}]}"),
		  "spec.sharedCounters[0].counters.m: must be an object" },
		{ SLICE("{devices: {}}"), "spec.devices: must be an array" },
		{ SLICE("{devices: [{}]}"), "spec.devices[0].name: is missing" },
		{ DEVICE("attributes: []"), "spec.devices[1].attributes: must be an object" },
		{ DEVICE("attributes: {a: x}"), "spec.devices[1].attributes.a: must be an object" },
		{ DEVICE("attributes: {a: {int: x}}"),
		  "spec.devices[1].attributes.a.int: must be" },
		{ DEVICE("attributes: {a: {bool: x}}"),
		  "spec.devices[1].attributes.a.bool: must be" },
		{ DEVICE("attributes: {a: {string: 7}}"),
		  "spec.devices[1].attributes.a.string: must be a string" },
		{ DEVICE("attributes: {a: {version: [1]}}"),
		  "spec.devices[1].attributes.a.version: must be a string" },
		{ DEVICE("capacity: 7"), "spec.devices[1].capacity: must be an object" },
		{ DEVICE("capacity: {m: {value: []}}"),
		  "spec.devices[1].capacity.m.value: must be a quantity" },
		{ DEVICE("capacity: {m: {}}"), "spec.devices[1].capacity.m.value: must be a" },
		{ DEVICE("taints: {}"), "spec.devices[1].taints: must be an array" },
		{ DEVICE("consumesCounters: [7]"),
		  "spec.devices[1].consumesCounters[0]: must be an object" },
		{ DEVICE("allowMultipleAllocations: 'yes'"),
		  "spec.devices[1].allowMultipleAllocations: must be" },
	};

	(void)state;
	codec_check_bad(bad, SUPPORT_COUNT(bad), decode_slice);
}

static int decode_class(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct device_class class;

	return device_class_decode(tree, "", arena, &class, err);
}

static void test_malformed_classes(void **state)
{
	static const struct codec_bad bad[] = {
		{ "{metadata: {}}", "metadata.name: is missing" },
		{ "{metadata: {name: a}, spec: {selectors: 7}}", "spec.selectors: must be an" },
		{ "{metadata: {name: a}, spec: {selectors: [{cel: 7}]}}",
		  "spec.selectors[0].cel: must be an object" },
		{ "{metadata: {name: a}, spec: {selectors: [{cel: {expression: 7}}]}}",
		  "spec.selectors[0].cel.expression: must be a string" },
		{ "{metadata: {name: a}, spec: {extendedResourceName: {}}}",
		  "spec.extendedResourceName: must be a string" },
	};

	(void)state;
	codec_check_bad(bad, SUPPORT_COUNT(bad), decode_class);
}

/* The object keeps its names, so that it is not taken for a missing one. */
static void check_template(const char *requests, const char *problem)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(arena_printf(
		&arena,
		"{metadata: {name: t, namespace: a}, spec: {spec: {devices: {requests: %s}}}}",
		requests));
	struct claim_template template_;
	struct err err;

	assert_int_equal(claim_template_decode(tree, "", &arena, &template_, &err), 0);
	assert_string_equal(template_.name, "t");
	assert_string_equal(template_.namespace_, "a");
	assert_int_equal(template_.spec.request_count, 0);
	if (!template_.unreadable || strncmp(template_.unreadable, problem, strlen(problem)) != 0)
		fail_msg("%s\n  gives  %s\n  not    %s", requests, template_.unreadable, problem);
}

#define REQUESTS "spec.spec.devices.requests"

static void test_malformed_templates(void **state)
{
	(void)state;
	check_template("7", REQUESTS ": must be an array");
	check_template("[7]", REQUESTS "[0]: must be an object");
	check_template("[{name: 7}]", REQUESTS "[0].name: must be a string");
	check_template("[{exactly: 7}]", REQUESTS "[0].exactly: must be an object");
	check_template("[{exactly: {deviceClassName: 7}}]",
		       REQUESTS "[0].exactly.deviceClassName: must be a string");
	check_template("[{exactly: {count: x}}]", REQUESTS "[0].exactly.count: must be");
	check_template("[{exactly: {allocationMode: 7}}]",
		       REQUESTS "[0].exactly.allocationMode: must be a string");
	check_template("[{exactly: {adminAccess: 7}}]",
		       REQUESTS "[0].exactly.adminAccess: must be");
	check_template("[{exactly: {selectors: [7]}}]",
		       REQUESTS "[0].exactly.selectors[0]: must be an object");
	check_template("[{exactly: {capacity: {requests: 7}}}]",
		       REQUESTS "[0].exactly.capacity.requests: must be an object");
	check_template("[{firstAvailable: {}}]", REQUESTS "[0].firstAvailable: must be an array");
	check_template("[{firstAvailable: [{}, {count: []}]}]",
		       REQUESTS "[0].firstAvailable[1].count: must be");
}

static void check_claim(const char *results, const char *problem)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(arena_printf(
		&arena,
		"{metadata: {name: c, namespace: a, uid: u}, status: {allocation: {devices: "
		"{results: %s}}}}",
		results));
	struct resource_claim claim;
	struct err err;

	assert_int_equal(resource_claim_decode(tree, "", &arena, &claim, &err), 0);
	assert_string_equal(claim.uid, "u");
	assert_false(claim.allocated);
	if (!claim.unreadable || strncmp(claim.unreadable, problem, strlen(problem)) != 0)
		fail_msg("%s\n  gives  %s\n  not    %s", results, claim.unreadable, problem);
}

#define RESULTS "status.allocation.devices.results"

static void test_malformed_claims(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *nameless = codec_tree("{metadata: {name: 7}}");
	struct resource_claim claim;
	struct err err;

	(void)state;
	check_claim("7", RESULTS ": must be an array");
	check_claim("[7]", RESULTS "[0]: must be an object");
	check_claim("[{device: 7}]", RESULTS "[0].device: must be a string");
	check_claim("[{adminAccess: 7}]", RESULTS "[0].adminAccess: must be");
	check_claim("[{consumedCapacity: {m: []}}]",
		    RESULTS "[0].consumedCapacity.m: must be a quantity");
	assert_int_equal(resource_claim_decode(nameless, "", &arena, &claim, &err), -1);
	assert_string_equal(err.text, "metadata.name is missing");
}

/* ---- limits ---- */

/* `head`, `count` times the element, `tail`. */
static const char *repeated(struct arena *arena, const char *head, const char *element,
			    size_t count, const char *tail)
{
	AUTO(buf_done) struct buf text;

	buf_init(&text, TEXT_BYTES_MAX);
	buf_add_string(&text, head);
	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "%s%s", i > 0 ? "," : "",
			   strchr(element, '%') ? arena_printf(arena, "k%zu%s", i, element + 1) :
						  element);
	buf_add_string(&text, tail);
	return arena_strdup(arena, buf_string(&text));
}

static void check_limit(codec_decode *decode, const char *head, const char *element, size_t most,
			const char *tail, const char *problem)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct codec_bad bad = { repeated(&arena, head, element, most + 1, tail), problem };
	struct err err;

	if (decode(repeated(&arena, head, element, most, tail), &arena, &err))
		fail_msg("%s with %zu: %s", head, most, err.text);
	codec_check_bad(&bad, 1, decode);
}

static int decode_template(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct claim_template template_;

	assert_int_equal(claim_template_decode(tree, "", arena, &template_, err), 0);
	return template_.unreadable ? err_set(err, ERR_INPUT, "%s", template_.unreadable) : 0;
}

static int decode_claim(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct resource_claim claim;

	assert_int_equal(resource_claim_decode(tree, "", arena, &claim, err), 0);
	return claim.unreadable ? err_set(err, ERR_INPUT, "%s", claim.unreadable) : 0;
}

#define ONE_DEVICE "{metadata: {name: s}, spec: {devices: [{name: x, "
#define TEMPLATE "{metadata: {name: t}, spec: {spec: {devices: {"

static void test_limits(void **state)
{
	(void)state;
	check_limit(decode_slice, "{metadata: {name: s}, spec: {devices: [", "{name: x}", 512,
		    "]}}", "spec.devices: has 513 elements, more than 512");
	check_limit(decode_slice, "{metadata: {name: s}, spec: {sharedCounters: [", "{name: x}", 32,
		    "]}}", "spec.sharedCounters: has 33 elements, more than 32");
	check_limit(decode_slice, ONE_DEVICE "attributes: {", "%: {int: 1}", 128, "}}]}}",
		    "spec.devices[0].attributes: has 129 members, more than 128");
	check_limit(decode_slice, ONE_DEVICE "capacity: {", "%: {value: 1}", 128, "}}]}}",
		    "spec.devices[0].capacity: has 129 members, more than 128");
	check_limit(decode_slice, ONE_DEVICE "taints: [", "{key: x}", 128, "]}]}}",
		    "spec.devices[0].taints: has 129 elements, more than 128");
	check_limit(decode_slice, ONE_DEVICE "consumesCounters: [", "{counterSet: x}", 32, "]}]}}",
		    "spec.devices[0].consumesCounters: has 33 elements, more than 32");
	check_limit(decode_template, TEMPLATE "requests: [", "{name: x}", 128, "]}}}}",
		    "spec.spec.devices.requests: has 129 elements, more than 128");
	check_limit(decode_template, TEMPLATE "requests: [{firstAvailable: [", "{name: x}", 128,
		    "]}]}}}}",
		    "spec.spec.devices.requests[0].firstAvailable: has 129 elements, more than");
	check_limit(decode_template, TEMPLATE "requests: [{exactly: {selectors: [", "{}", 128,
		    "]}}]}}}}",
		    "spec.spec.devices.requests[0].exactly.selectors: has 129 elements");
	check_limit(decode_claim,
		    "{metadata: {name: c}, status: {allocation: {devices: {results: [", "{}", 128,
		    "]}}}}", RESULTS ": has 129 elements, more than 128");
	check_limit(decode_claim, "{metadata: {name: c}, status: {reservedFor: [", "{}", 1024,
		    "]}}", "status.reservedFor: has 1025 elements, more than 1024");
}

/* ---- counts ---- */

static const char classes[] =
	"deviceClasses:\n"
	"- {metadata: {name: gpu.nvidia.com}, spec: {selectors: [{cel: {expression: \"device.driver "
	"== 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'\"}}]}}\n"
	"- {metadata: {name: mig.nvidia.com}, spec: {selectors: [{cel: {expression: \"device.driver "
	"== 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'\"}}]}}\n"
	"- {metadata: {name: nic}, spec: {selectors: [{cel: {expression: \"device.driver == "
	"'nic.example'\"}}]}}\n";

#define GPU(name, product)                                                                         \
	"{name: " name ", attributes: {type: {string: gpu}, productName: {string: " product "}}, " \
	"capacity: {memory: {value: 80Gi}}}"
#define MIG(name)                                                                                  \
	"{name: " name ", attributes: {type: {string: mig}, profile: {string: 1g.10gb+me}, "       \
	"productName: {string: H100}}}"
#define POOL(name, devices)                                                                        \
	"- {metadata: {name: " name "}, spec: {driver: gpu.nvidia.com, nodeName: " name            \
	", pool: {name: " name ", generation: 1, resourceSliceCount: 1}, devices: [" devices       \
	"]}}\n"

static const char slices[] =
	"resourceSlices:\n" POOL("n1", GPU("g0", "H100") ", " GPU("g1", "H100"))
		POOL("n2", GPU("g0", "A100") ", " MIG("m0") ", " MIG("m1"));

static void add_amount(struct buf *buf, const char *name, const struct claimed_amount *amount)
{
	buf_printf(buf, " %s %lld %s", name, (long long)amount->amount, amount->resource);
}

/* A line for each request. */
static const char *counted(const char *text, struct arena *arena)
{
	AUTO(json_done)
	struct cJSON *tree = codec_tree(arena_printf(arena, "%s%s%s", classes, slices, text));
	AUTO(buf_done) struct buf lines;
	struct device_objects objects = { .slices = NULL };
	const struct claimed_index *index;
	struct err err;

	buf_init(&lines, TEXT_BYTES_MAX);
	if (field_decode_object(tree, "", FIELD_WHOLE(struct device_objects, device_objects_fields),
				arena, &objects, &err))
		fail_msg("%s: %s", text, err.text);
	index = device_claims_attach(&objects, device_table_builtin(), arena)->claims;
	assert_non_null(index);
	for (size_t i = 0; i < index->count; i++) {
		const struct claimed_request *one = &index->at[i];

		buf_printf(&lines, "%s %s:", one->claim, one->request);
		add_amount(&lines, "least", &one->promise);
		add_amount(&lines, "most", &one->charge);
		buf_printf(&lines, " of %s;%s\n", one->product, one->problem ? one->problem : "");
	}
	return arena_strdup(arena, buf_string(&lines));
}

static void check_counted(const char *text, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *found = counted(text, &arena);

	if (strcmp(found, wanted) != 0)
		fail_msg("%s\n  gives  %s\n  not    %s", text, found, wanted);
}

#define REQUEST(members)                                                                           \
	"resourceClaimTemplates: [{metadata: {name: t}, spec: {spec: {devices: {requests: "        \
	"[{name: r, " members "}]}}}}]"
#define EXACTLY(class, members) REQUEST("exactly: {deviceClassName: " class members "}")
#define WHOLE " nvidia.com/gpu"
#define PARTS " nvidia.com/mig-1g.10gb.me"

static void test_templates_are_counted(void **state)
{
	(void)state;
	check_counted(EXACTLY("gpu.nvidia.com", ", count: 3"),
		      "t r: least 30000" WHOLE " most 30000" WHOLE " of ;\n");
	/* All GPUs that match have one product. */
	check_counted(EXACTLY("gpu.nvidia.com",
			      ", selectors: [{cel: {expression: \"device.attributes["
			      "'gpu.nvidia.com'].productName == 'H100'\"}}]"),
		      "t r: least 10000" WHOLE " most 10000" WHOLE " of H100;\n");
	check_counted(EXACTLY("mig.nvidia.com", ", count: 2"),
		      "t r: least 20000" PARTS " most 20000" PARTS " of H100;\n");
	check_counted(EXACTLY("nic", ""), "t r: least 0  most 0  of ;\n");
	check_counted(EXACTLY("gpu.nvidia.com", ", adminAccess: true"),
		      "t r: least 0  most 0  of ;\n");
	check_counted(EXACTLY("gone", ""),
		      "t r: least 0  most 0  of ;DeviceClass gone does not exist; create it, or "
		      "install the driver that brings it\n");
	/* One on the Node with the fewest, two on the other. */
	check_counted(EXACTLY("gpu.nvidia.com", ", allocationMode: All"),
		      "t r: least 10000" WHOLE " most 20000" WHOLE " of ;\n");
	check_counted(REQUEST("firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com, count: "
			      "2}, {name: b, deviceClassName: mig.nvidia.com, count: 4}]"),
		      "t r: least 40000" PARTS " most 20000" WHOLE " of ;\n");
}

#define CLAIM(results)                                                                             \
	"resourceClaims: [{metadata: {name: c}, spec: {devices: {requests: [{name: r, exactly: "   \
	"{deviceClassName: gpu.nvidia.com, count: 4}}]}}, status: {allocation: {devices: "         \
	"{results: [" results "]}}}}]"
#define RESULT(device, more)                                                                       \
	"{request: r, driver: gpu.nvidia.com, pool: n2, device: " device more "}"

static void test_allocated_claims_are_counted(void **state)
{
	(void)state;
	check_counted(CLAIM(RESULT("g0", "")),
		      "c r: least 10000" WHOLE " most 10000" WHOLE " of ;\n");
	/* One line for each kind. */
	check_counted(CLAIM(RESULT("g0", "") ", " RESULT("m0", "") ", " RESULT("m1", "")),
		      "c r: least 10000" WHOLE " most 10000" WHOLE " of ;\n"
		      "c r: least 20000" PARTS " most 20000" PARTS " of ;\n");
	/* In no slice any more: as its request says. */
	check_counted(CLAIM(RESULT("lost", "")),
		      "c r: least 10000" WHOLE " most 10000" WHOLE " of ;\n");
	/* Of a request that the claim does not have, by an administrator, of another driver. */
	check_counted(CLAIM("{request: rr, driver: gpu.nvidia.com, pool: n2, device: g0}, " RESULT(
			      "g0", ", adminAccess: true") ", {request: r, driver: nic.example}"),
		      "c r: least 0  most 0  of ;\n");
	/* A part of the memory, rounded up; more than the whole counts as the whole. */
	check_counted(CLAIM(RESULT("g0", ", consumedCapacity: {memory: 20Gi}")),
		      "c r: least 2500" WHOLE " most 2500" WHOLE " of ;\n");
	check_counted(CLAIM(RESULT("g0", ", consumedCapacity: {memory: 1}")),
		      "c r: least 1" WHOLE " most 1" WHOLE " of ;\n");
	check_counted(CLAIM(RESULT("g0", ", consumedCapacity: {memory: 900Gi}")),
		      "c r: least 10000" WHOLE " most 10000" WHOLE " of ;\n");
}

static void test_incomplete_pools_do_not_count(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct resource_slice slice = { .name = "s",
					.resource_version = "",
					.driver = "gpu.nvidia.com",
					.pool = "n",
					.generation = 1,
					.slice_count = 2,
					.node_name = "n" };
	const struct device_request request = {
		"r",
		&(const struct device_ask){
			.name = "", .device_class = "gpu.nvidia.com", .all = true, .count = 1 },
		1,
	};
	const struct claim_template template_ = { .namespace_ = "",
						  .name = "t",
						  .resource_version = "",
						  .spec = { .requests = &request,
							    .request_count = 1 } };
	const struct device_objects objects = { .slices = &slice,
						.slice_count = 1,
						.templates = &template_,
						.template_count = 1,
						.slices_known = true,
						.templates_known = true };
	const struct claimed_index *index =
		device_claims_attach(&objects, device_table_builtin(), &arena)->claims;

	(void)state;
	assert_int_equal(index->count, 1);
	assert_int_equal(index->at[0].promise.amount, 0);
	assert_non_null(strstr(index->at[0].problem, "have no such device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_slice),
		cmocka_unit_test(test_a_template),
		cmocka_unit_test(test_a_claim),
		cmocka_unit_test(test_a_class),
		cmocka_unit_test(test_malformed_slices),
		cmocka_unit_test(test_malformed_classes),
		cmocka_unit_test(test_malformed_templates),
		cmocka_unit_test(test_malformed_claims),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_templates_are_counted),
		cmocka_unit_test(test_allocated_claims_are_counted),
		cmocka_unit_test(test_incomplete_pools_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
