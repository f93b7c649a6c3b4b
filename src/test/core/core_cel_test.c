/* Selectors: verdicts as those of Kubernetes 1.34 (k8s.io/dynamic-resource-allocation/cel, to which the
 * rows of the table were compared), what is not judged, and hostile texts. */
#include "feature/device_claims/core/cel.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define NVIDIA "device.attributes['gpu.nvidia.com']"
#define MEMORY "device.capacity['gpu.nvidia.com'].memory"
#define OTHER "device.attributes['other.example.com']"

/* As driver gpu.nvidia.com 25.8 publishes a GPU and a MIG device, and a driver without attributes
 * whose devices several claims share. */
static const struct device_attribute gpu_attributes[] = {
	{ "gpu.nvidia.com/type", ATTRIBUTE_STRING, "gpu", 0 },
	{ "gpu.nvidia.com/productName", ATTRIBUTE_STRING, "NVIDIA H100 80GB HBM3", 0 },
	{ "gpu.nvidia.com/architecture", ATTRIBUTE_STRING, "Hopper", 0 },
	{ "gpu.nvidia.com/uuid", ATTRIBUTE_STRING, "GPU-18db0e85", 0 },
	{ "gpu.nvidia.com/cudaComputeCapability", ATTRIBUTE_VERSION, "9.0.0", 0 },
	{ "gpu.nvidia.com/driverVersion", ATTRIBUTE_VERSION, "550.54.15", 0 },
	{ "gpu.nvidia.com/minor", ATTRIBUTE_INT, "", 3 },
	{ "gpu.nvidia.com/ecc", ATTRIBUTE_BOOL, "", 1 },
	{ "resource.kubernetes.io/pcieRoot", ATTRIBUTE_STRING, "pci0000:01", 0 },
};
static const struct device_attribute mig_attributes[] = {
	{ "gpu.nvidia.com/type", ATTRIBUTE_STRING, "mig", 0 },
	{ "gpu.nvidia.com/profile", ATTRIBUTE_STRING, "1g.10gb", 0 },
	{ "gpu.nvidia.com/parentUUID", ATTRIBUTE_STRING, "GPU-18db0e85", 0 },
};
static const struct quantity gpu_capacity[] = {
	{ "gpu.nvidia.com/memory", "81559Mi", true, 0 },
};
static const struct quantity mig_capacity[] = {
	{ "gpu.nvidia.com/memory", "9984Mi", true, 0 },
	{ "gpu.nvidia.com/memorySlice0", "1", true, 0 },
};
static const struct device gpu_device = { .name = "gpu-0",
					  .attributes = gpu_attributes,
					  .attribute_count = SUPPORT_COUNT(gpu_attributes),
					  .capacity = { gpu_capacity, 1 } };
static const struct device mig_device = { .name = "gpu-0-mig-19-4-1",
					  .attributes = mig_attributes,
					  .attribute_count = SUPPORT_COUNT(mig_attributes),
					  .capacity = { mig_capacity, 2 } };
static const struct device bare_device = { .name = "d", .allow_multiple = true };

static const struct cel_device GPU = { "gpu.nvidia.com", &gpu_device };
static const struct cel_device MIG = { "gpu.nvidia.com", &mig_device };
static const struct cel_device BARE = { "other.example.com", &bare_device };

struct row {
	const char *text;
	const struct cel_device *device;
	enum cel_verdict verdict;
};

static const struct row rows[] = {
	/* The classes of NVIDIA's driver. */
	{ "device.driver == 'gpu.nvidia.com' && " NVIDIA ".type == 'gpu'", &GPU, CEL_YES },
	{ "device.driver == 'gpu.nvidia.com' && " NVIDIA ".type == 'gpu'", &MIG, CEL_NO },
	{ "device.driver == 'gpu.nvidia.com' && " NVIDIA ".type == 'mig'", &MIG, CEL_YES },
	{ "device.driver == 'gpu.nvidia.com' && " NVIDIA ".type == 'mig'", &BARE, CEL_NO },
	{ "device.driver == \"gpu.nvidia.com\"", &GPU, CEL_YES },
	{ "device.driver != 'gpu.nvidia.com'", &BARE, CEL_YES },
	{ "true", &BARE, CEL_YES },
	{ "false", &BARE, CEL_NO },
	/* Attributes. */
	{ NVIDIA ".productName == 'NVIDIA H100 80GB HBM3'", &GPU, CEL_YES },
	{ NVIDIA "['productName'] == 'NVIDIA A100-SXM4-40GB'", &GPU, CEL_NO },
	{ NVIDIA ".minor == 3", &GPU, CEL_YES },
	{ NVIDIA ".minor > 3", &GPU, CEL_NO },
	{ NVIDIA ".minor >= 3 && " NVIDIA ".minor <= 3", &GPU, CEL_YES },
	{ NVIDIA ".minor < 3.5", &GPU, CEL_YES },
	{ NVIDIA ".minor == 3.0", &GPU, CEL_YES },
	{ NVIDIA ".minor > -1", &GPU, CEL_YES },
	{ NVIDIA ".minor in [0, 1, 2]", &GPU, CEL_NO },
	{ NVIDIA ".ecc", &GPU, CEL_YES },
	{ "!" NVIDIA ".ecc", &GPU, CEL_NO },
	{ NVIDIA ".ecc == true", &GPU, CEL_YES },
	{ "device.attributes['resource.kubernetes.io'].pcieRoot == 'pci0000:01'", &GPU, CEL_YES },
	{ NVIDIA ".profile == '1g.10gb' || " NVIDIA ".profile == '2g.20gb'", &MIG, CEL_YES },
	{ NVIDIA ".profile in ['1g.10gb', '2g.20gb',]", &MIG, CEL_YES },
	{ NVIDIA ".profile in ['3g.40gb']", &MIG, CEL_NO },
	{ "!(" NVIDIA ".profile in ['3g.40gb'])", &MIG, CEL_YES },
	{ NVIDIA ".profile in []", &MIG, CEL_NO },
	{ NVIDIA ".type == 1", &GPU, CEL_NO },
	{ NVIDIA ".type != 1", &GPU, CEL_YES },
	{ NVIDIA ".type < 'h' && 'a' < 'b'", &GPU, CEL_YES },
	{ NVIDIA ".type < 1", &GPU, CEL_NO },
	{ NVIDIA ".type", &GPU, CEL_NO },
	/* A missing attribute is an error, which the other operand may absorb. */
	{ NVIDIA ".missing == 'x'", &GPU, CEL_NO },
	{ NVIDIA ".missing != 'x'", &GPU, CEL_NO },
	{ "!(" NVIDIA ".missing == 'x')", &GPU, CEL_NO },
	{ NVIDIA ".missing == 'x' || true", &GPU, CEL_YES },
	{ NVIDIA ".missing == 'x' || false", &GPU, CEL_NO },
	{ "!(" NVIDIA ".missing == 'x' && false)", &GPU, CEL_YES },
	{ "!(false && " NVIDIA ".missing)", &GPU, CEL_YES },
	{ "!(" NVIDIA ".type && false)", &GPU, CEL_YES },
	{ OTHER ".missing", &GPU, CEL_NO },
	{ "has(" NVIDIA ".profile)", &GPU, CEL_NO },
	{ "has(" NVIDIA ".profile)", &MIG, CEL_YES },
	{ "!has(" OTHER ".profile)", &GPU, CEL_YES },
	{ "has(" NVIDIA ".profile) && " NVIDIA ".profile == '1g.10gb'", &GPU, CEL_NO },
	{ "'profile' in " NVIDIA, &MIG, CEL_YES },
	{ "'profile' in " NVIDIA, &GPU, CEL_NO },
	{ "'gpu.nvidia.com' in device.attributes", &GPU, CEL_YES },
	{ "'gpu.nvidia.com' in device.attributes", &BARE, CEL_NO },
	{ "'gpu.nvidia.com' in device.capacity", &MIG, CEL_YES },
	{ NVIDIA ".?profile.orValue('none') == 'none'", &GPU, CEL_YES },
	{ NVIDIA ".?profile.orValue('none') == '1g.10gb'", &MIG, CEL_YES },
	{ NVIDIA "[?'profile'].hasValue()", &MIG, CEL_YES },
	{ NVIDIA ".?profile.hasValue()", &GPU, CEL_NO },
	{ NVIDIA ".?profile.value() == '1g.10gb'", &GPU, CEL_NO },
	{ "!(" NVIDIA ".?profile.value() == '1g.10gb')", &MIG, CEL_NO },
	{ "device.attributes[?'no'].?b.orValue(false)", &GPU, CEL_NO },
	/* Capacity. */
	{ MEMORY ".compareTo(quantity('40Gi')) >= 0", &GPU, CEL_YES },
	{ MEMORY ".compareTo(quantity('80Gi')) >= 0", &GPU, CEL_NO },
	{ MEMORY ".isGreaterThan(quantity('40Gi'))", &GPU, CEL_YES },
	{ MEMORY ".isLessThan(quantity('10Gi'))", &MIG, CEL_YES },
	{ MEMORY ".isLessThan(quantity('9.75Gi'))", &MIG, CEL_NO },
	{ MEMORY " == quantity('9.75Gi')", &MIG, CEL_YES },
	{ MEMORY " != quantity('9984Mi')", &MIG, CEL_NO },
	{ MEMORY ".compareTo(quantity('10468982784')) == 0", &MIG, CEL_YES },
	{ "quantity('0.5').compareTo(quantity('500m')) == 0", &BARE, CEL_YES },
	{ "quantity('1Ki').isGreaterThan(quantity('1k'))", &BARE, CEL_YES },
	{ "quantity('7Ei').isGreaterThan(quantity('7E'))", &BARE, CEL_YES },
	{ "'memory' in device.capacity['gpu.nvidia.com']", &BARE, CEL_NO },
	{ "has(device.capacity['gpu.nvidia.com'].memorySlice0)", &MIG, CEL_YES },
	{ MEMORY ".isGreaterThan(quantity('1Gi'))", &BARE, CEL_NO },
	/* Versions. */
	{ NVIDIA ".cudaComputeCapability.compareTo(semver('9.0.0')) == 0", &GPU, CEL_YES },
	{ NVIDIA ".driverVersion.isGreaterThan(semver('550.9.0'))", &GPU, CEL_YES },
	{ NVIDIA ".driverVersion.isLessThan(semver('550.54.15'))", &GPU, CEL_NO },
	{ NVIDIA ".driverVersion == semver('550.54.15')", &GPU, CEL_YES },
	{ NVIDIA ".cudaComputeCapability.major() >= 9", &GPU, CEL_YES },
	{ NVIDIA ".driverVersion.minor() == 54 && " NVIDIA ".driverVersion.patch() == 15", &GPU,
	  CEL_YES },
	{ NVIDIA ".driverVersion == '550.54.15'", &GPU, CEL_NO },
	{ "!(" NVIDIA ".driverVersion == '550.54.15')", &GPU, CEL_NO },
	{ NVIDIA ".driverVersion > 1", &GPU, CEL_NO },
	{ NVIDIA ".type.isGreaterThan(semver('1.0.0'))", &GPU, CEL_NO },
	/* Strings. */
	{ NVIDIA ".productName.startsWith('NVIDIA H100')", &GPU, CEL_YES },
	{ NVIDIA ".productName.endsWith('HBM2')", &GPU, CEL_NO },
	{ NVIDIA ".productName.contains('80GB')", &GPU, CEL_YES },
	{ NVIDIA ".productName.lowerAscii().contains('h100')", &GPU, CEL_YES },
	{ NVIDIA ".productName.matches('H100')", &GPU, CEL_YES },
	{ NVIDIA ".productName.matches('^H100')", &GPU, CEL_NO },
	{ NVIDIA ".profile.matches(r'^1g\\.10gb$')", &MIG, CEL_YES },
	{ NVIDIA ".profile.matches('0gb$')", &MIG, CEL_YES },
	{ NVIDIA ".minor.startsWith('3')", &GPU, CEL_NO },
	{ "'a\\'b' == \"a'b\" && r'\\' == '\\\\'", &BARE, CEL_YES },
	/* Others. */
	{ "device.allowMultipleAllocations", &BARE, CEL_YES },
	{ "device.allowMultipleAllocations == true", &GPU, CEL_NO },
	{ "cel.bind(a, " NVIDIA ", a.type == 'gpu' && a.minor == 3)", &GPU, CEL_YES },
	{ "cel.bind(a, " NVIDIA ", has(a.profile) && a.profile == '1g.10gb')", &GPU, CEL_NO },
	{ "cel.bind(a, " NVIDIA ", cel.bind(b, a.type, b == 'mig'))", &MIG, CEL_YES },
	{ "cel.bind(a, " NVIDIA ".missing, true)", &GPU, CEL_YES },
	{ "cel.bind(a, 'gpu', cel.bind(a, 'mig', a == 'mig'))", &GPU, CEL_YES },
	{ NVIDIA ".type == 'mig' ? " NVIDIA ".profile == '1g.10gb' : true", &GPU, CEL_YES },
	{ NVIDIA ".type == 'mig' ? " NVIDIA ".profile == '1g.10gb' : false", &MIG, CEL_YES },
	{ "(device.driver == 'a' ? 1 : 2) == 2", &GPU, CEL_YES },
	{ "// a comment\n  true // another", &GPU, CEL_YES },
	{ "false || true && false", &GPU, CEL_NO },
	{ "!!true", &GPU, CEL_YES },
	{ "!!!true", &GPU, CEL_NO },
	{ "!!" NVIDIA ".minor == 3", &GPU, CEL_YES },
	{ "'gpu' in [" NVIDIA ".type, " NVIDIA ".missing]", &GPU, CEL_NO },
	{ "!(" NVIDIA ".driverVersion in [device.driver])", &GPU, CEL_YES },
	{ "!has(device.attributes[" NVIDIA ".minor].a)", &GPU, CEL_YES },
	{ NVIDIA ".type == null", &GPU, CEL_NO },
	/* Not judged, but where it does not matter. */
	{ NVIDIA ".productName.split(' ').size() > 2", &GPU, CEL_UNKNOWN },
	{ NVIDIA ".exists(x, x == 'type')", &GPU, CEL_UNKNOWN },
	{ "[1, 2].all(x, x > 0)", &GPU, CEL_UNKNOWN },
	{ NVIDIA ".minor + 1 == 4", &GPU, CEL_UNKNOWN },
	{ NVIDIA ".productName.matches('[AH]100')", &GPU, CEL_UNKNOWN },
	{ "semver('v9.0', true).major() == 9", &GPU, CEL_UNKNOWN },
	{ NVIDIA ".minor in [1, " NVIDIA ".minor + 0]", &GPU, CEL_UNKNOWN },
	{ "device.driver == 'other.example.com' && " NVIDIA ".exists(x, true)", &GPU, CEL_NO },
	{ "device.driver == 'gpu.nvidia.com' || size(" NVIDIA ") > 1", &GPU, CEL_YES },
	{ "!(false && 1 + 1 == 2)", &GPU, CEL_YES },
	{ "true ? true : [1].exists(x, x > 1)", &GPU, CEL_YES },
	{ "3 in [3, 1 + 1]", &GPU, CEL_UNKNOWN },
};

static const char *verdict_name(enum cel_verdict verdict)
{
	static const char *const names[] = { "no", "yes", "unknown" };

	return names[verdict];
}

static enum cel_verdict verdict_of(const struct cel *cel, const struct cel_device *device)
{
	size_t steps = 0;
	enum cel_verdict verdict = cel_judge(cel, device, &steps);

	assert_in_range(steps, 0, CEL_STEPS_MAX + 1000);
	return verdict;
}

static void test_verdicts(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		const struct cel *cel = cel_compile(rows[i].text, &arena);
		enum cel_verdict verdict = verdict_of(cel, rows[i].device);

		if (verdict != rows[i].verdict)
			fail_msg("%s: %s for %s, is %s (%s)", rows[i].text,
				 verdict_name(rows[i].verdict), rows[i].device->device->name,
				 verdict_name(verdict),
				 cel_problem(cel) ? cel_problem(cel) : "judged");
	}
}

static void test_problems(void **state)
{
	static const char *const problems[][2] = {
		{ NVIDIA ".productName.split(' ').size() > 2", "function split" },
		{ "[1].all(x, x > 0)", "function all" },
		{ "size(" NVIDIA ") > 1", "function size" },
		{ "quantity() == 1", "function quantity" },
		{ "1 + 1 == 2", "arithmetic" },
		{ "request.user == 'a'", "name request" },
		{ "0x1F == 31", "number 0x1F == 31" },
		{ "", "its syntax" },
		{ "true true", "its syntax" },
		{ "'a", "its syntax" },
		{ "(true", "its syntax" },
		{ "{'a': 1}.a == 1", "its syntax" },
		{ "'\\u0041' == 'A'", "an escape sequence" },
		{ "has(1)", "function has" },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	assert_null(cel_problem(cel_compile("true", &arena)));
	for (size_t i = 0; i < SUPPORT_COUNT(problems); i++) {
		const struct cel *cel = cel_compile(problems[i][0], &arena);

		assert_int_equal(verdict_of(cel, &GPU), CEL_UNKNOWN);
		assert_non_null(cel_problem(cel));
		assert_string_equal(cel_problem(cel), problems[i][1]);
	}
}

/* `count` times the part, around the middle. */
static const char *repeat(struct arena *arena, const char *part, size_t count, const char *middle,
			  const char *end)
{
	size_t size = strlen(part), end_size = strlen(end);
	char *text = arena_alloc(arena, count * (size + end_size) + strlen(middle) + 1);

	for (size_t i = 0; i < count; i++) {
		memcpy(text + i * size, part, size);
		memcpy(text + count * size + strlen(middle) + i * end_size, end, end_size);
	}
	memcpy(text + count * size, middle, strlen(middle));
	return text;
}

static enum cel_verdict judge(const char *text, struct arena *arena)
{
	return verdict_of(cel_compile(text, arena), &GPU);
}

static void test_hostile_texts(void **state)
{
	static const char *const parts[][3] = {
		{ "(", "true", ")" },
		{ "-", "1", "" },
		{ "[", "1", "]" },
		{ "a.", "b", "" },
		{ "device[", "'a'", "]" },
		{ "has(", "a.b", ")" },
		{ "true ? true : ", "true", "" },
		{ "cel.bind(a, 1, ", "a", ")" },
		{ "cel.bind(a, ", "1", ", a)" },
		{ "1 == ", "1", "" },
		{ "[1].all(x, ", "true", ")" },
		{ "x(", "1", ")" },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(parts); i++) {
		for (size_t count = 50; count <= 100000; count *= 10) {
			AUTO(arena_done) struct arena one = ARENA_INIT;
			const char *text =
				repeat(&arena, parts[i][0], count, parts[i][1], parts[i][2]);

			assert_int_equal(judge(text, &one), CEL_UNKNOWN);
			/* 128 bytes for each node, and the strings. */
			assert_true(one.used_bytes < CEL_NODES_MAX * 256);
		}
	}
	/* 10 MB; the longest that the API server stores; long chains do not count as depth. */
	assert_int_equal(judge(repeat(&arena, "true && ", 1250000, "true", ""), &arena),
			 CEL_UNKNOWN);
	assert_int_equal(judge(repeat(&arena, "true && ", 1270, "true", ""), &arena), CEL_YES);
	assert_int_equal(judge(repeat(&arena, " ", CEL_TEXT_MAX - 4, "true", ""), &arena), CEL_YES);
	assert_int_equal(judge(repeat(&arena, " ", CEL_TEXT_MAX - 3, "true", ""), &arena),
			 CEL_UNKNOWN);
	assert_int_equal(judge(repeat(&arena, "1,", 2000, "1 in [1]", ""), &arena), CEL_UNKNOWN);
	assert_int_equal(judge(repeat(&arena, "(", 40, "true", ")"), &arena), CEL_YES);
	assert_int_equal(judge(repeat(&arena, "!", 4000, "true", ""), &arena), CEL_YES);
}

/* Each variable uses the one before twice: evaluated once each, not 2^15 times; and a device with
 * more attributes than any driver may publish ends the judgement. */
static void test_steps(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	size_t count = CEL_STEPS_MAX;
	struct device_attribute *attributes = arena_array(&arena, count, sizeof(*attributes));
	struct device device = { .name = "d", .attributes = attributes, .attribute_count = count };
	const struct cel_device large = { "d.example", &device };
	const char *text = NVIDIA ".type == 'gpu'";

	(void)state;
	for (int i = 0; i < CEL_BINDS_MAX - 1; i++)
		text = arena_printf(&arena, "cel.bind(v, %s, v && v)", text);
	assert_int_equal(judge(text, &arena), CEL_YES);
	for (size_t i = 0; i < count; i++)
		attributes[i] = (struct device_attribute){ "d.example/a", ATTRIBUTE_BOOL, "", 1 };
	assert_int_equal(verdict_of(cel_compile("has(device.attributes['a'].b)", &arena), &large),
			 CEL_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_hostile_texts),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
