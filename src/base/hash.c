#include "base/hash.h"

#include <string.h>

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(1099511628211);
	return hash;
}

uint64_t hash_add(uint64_t hash, const char *text)
{
	return hash_bytes(hash_bytes(hash, text, strlen(text)), "\xff", 1);
}

uint64_t hash_text(const char *text)
{
	return hash_bytes(HASH_START, text, strlen(text));
}
