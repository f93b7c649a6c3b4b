/* A selector of DRA, judged for a device with every kind of attribute. Laws: what is not judged has
 * a reason; a verdict is the same twice; `!(x)` is the opposite, `(x) || true` holds, `(x) && false`
 * does not, unless the text is outside of the language; memory is bounded. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "feature/device_claims/core/cel.h"

static const struct device_attribute attributes[] = {
	{ "d.example/text", ATTRIBUTE_STRING, "H100", 0 },
	{ "d.example/version", ATTRIBUTE_VERSION, "9.0.0", 0 },
	{ "d.example/number", ATTRIBUTE_INT, "", -3 },
	{ "d.example/flag", ATTRIBUTE_BOOL, "", 1 },
};
static const struct quantity capacity[] = { { "d.example/memory", "80Gi", true, 0 } };
static const struct device device = {
	.name = "d",
	.attributes = attributes,
	.attribute_count = sizeof(attributes) / sizeof(*attributes),
	.capacity = { capacity, 1 },
};

static enum cel_verdict judge(const char *prefix, const char *text, const char *suffix,
			      struct arena *arena)
{
	const struct cel_device one = { "d.example", &device };
	const struct cel *cel =
		cel_compile(arena_printf(arena, "%s%s%s", prefix, text, suffix), arena);

	return cel_judge(cel, &one, &(size_t){ 0 });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct cel_device one = { "d.example", &device };
	const char *text = arena_strndup(&arena, (const char *)data, size);
	size_t used = arena.used_bytes;
	const struct cel *cel = cel_compile(text, &arena);
	enum cel_verdict verdict = cel_judge(cel, &one, &(size_t){ 0 });

	REQUIRE(arena.used_bytes - used < (CEL_NODES_MAX + 100) * 256);
	REQUIRE(cel_judge(cel, &one, &(size_t){ 0 }) == verdict);
	REQUIRE(!cel_problem(cel) || strlen(cel_problem(cel)) < 100);
	/* The end of the text may be a comment, and nothing is too long or too deep. */
	if (verdict == CEL_UNKNOWN || strlen(text) > CEL_TEXT_MAX / 2 || strchr(text, '/'))
		return 0;
	if (verdict == CEL_YES) {
		REQUIRE(judge("!(", text, "\n)", &arena) != CEL_YES);
		REQUIRE(judge("(", text, "\n) && true", &arena) != CEL_NO);
	}
	REQUIRE(judge("(", text, "\n) || true", &arena) != CEL_NO);
	REQUIRE(judge("(", text, "\n) && false", &arena) != CEL_YES);
	return 0;
}
