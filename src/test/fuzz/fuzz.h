/* Shared by all fuzz targets. A target is src/test/fuzz/<layer>_<name>_fuzz.c with a function
 * LLVMFuzzerTestOneInput; it is linked with the archives of its layer and of those below. REQUIRE
 * is for laws that must hold for any bytes. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/text/json.h"

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "does not hold: %s (%s:%d)\n", #condition, __FILE__,       \
				__LINE__);                                                         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static const struct json_limits fuzz_limits __attribute__((unused)) = {
	.bytes = 1 << 20,
	.depth = 64,
	.elements = 100000,
	.unique_names = true,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
