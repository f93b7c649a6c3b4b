/* The request-resources annotation. Laws: every count is above 0; amounts are in their range. */
#include "fuzz.h"

#include "base/memory.h"
#include "codec/objects/request_resources.h"

static void check(const struct ray_constraint *constraint)
{
	for (size_t i = 0; i < constraint->count; i++) {
		const struct ray_request *request = &constraint->requests[i].request;

		REQUIRE(constraint->requests[i].count > 0);
		for (size_t k = 0; k < request->bundle_count; k++)
			REQUIRE(request->bundle[k].amount >= 0 &&
				request->bundle[k].amount <= RESOURCE_AMOUNT_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(memory_free_string) char *text = memory_strndup((const char *)data, size);
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_constraint constraint;
	struct err err = { .kind = ERR_NONE };

	if (request_resources_parse(text, &arena, &constraint, &err))
		REQUIRE(err.text[0] != '\0');
	else
		check(&constraint);
	return 0;
}
