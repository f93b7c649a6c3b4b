#include "base/hash.h"

uint64_t hash_text(const char *text)
{
	uint64_t value = UINT64_C(14695981039346656037);

	for (; *text != '\0'; text++)
		value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return value;
}
