#include "ctl/queue/spread.h"

#include "base/check.h"
#include "base/hash.h"

/* The keys of a fleet often differ in one digit: each bit of the result has to depend on it. */
static uint64_t mix(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ (hash >> 33);
}

int64_t spread_ms(const char *key, enum spread what, int64_t interval_ms)
{
	int64_t at;

	CHECK(interval_ms > 0);
	at = (int64_t)(mix(hash_text(key) + (uint64_t)what) % (uint64_t)interval_ms);
	return at - at % SPREAD_SLOT_MS;
}
