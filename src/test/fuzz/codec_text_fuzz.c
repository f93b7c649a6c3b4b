/* Quantities, times, numbers and base64. Laws: amounts stay in their range; times that are printed
 * read back the same. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/base64.h"
#include "codec/text/number.h"
#include "codec/text/quantity.h"
#include "codec/text/rfc3339.h"
#include "codec/text/yaml_scalar.h"
#include "core/model/resources.h"

static void check_quantity(const char *text)
{
	const char *problem = NULL;
	int64_t amount = 0;
	int failed = quantity_parse(text, &amount, &problem);

	REQUIRE(failed ? problem != NULL : !problem);
	REQUIRE(amount >= 0 && amount <= RESOURCE_AMOUNT_MAX);
}

static void check_time(const char *text)
{
	char printed[RFC3339_SIZE];
	const char *problem;
	time_ms time, again;

	if (rfc3339_parse(text, &time, &problem))
		return;
	rfc3339_print(time, printed);
	/* An offset may lead out of the four-digit years. */
	REQUIRE(rfc3339_parse(printed, &again, &problem) == 0);
	REQUIRE(again == time || time < INT64_C(-62167219200000) ||
		time > INT64_C(253402300799999));
}

static void check_number(const char *text)
{
	char printed[NUMBER_TEXT_SIZE];
	double value, again;
	int64_t integer;

	number_parse_integer(text, &integer);
	yaml_scalar_resolve(text);
	if (number_parse(text, &value))
		return;
	number_print(value, printed);
	REQUIRE(number_parse(printed, &again) == 0);
	REQUIRE(again == value || value != value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(memory_free_string) char *text = memory_strndup((const char *)data, size);
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char *bytes;
	size_t bytes_size;

	check_quantity(text);
	check_time(text);
	check_number(text);
	if (base64_decode(text, &arena, &bytes, &bytes_size) == 0)
		REQUIRE(bytes_size <= size);
	return 0;
}
