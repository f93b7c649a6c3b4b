#include "ctl/report/overload.h"

#include "base/hash.h"
#include "base/int64.h"

#define CONFLICT_MS 1000
#define RETRY_MS 5000

int64_t overload_retry_ms(const struct err *err, int64_t retry_after_ms)
{
	int64_t after_ms = RETRY_MS;

	if (err->kind == ERR_CONFLICT)
		after_ms = CONFLICT_MS;
	else if (err->kind == ERR_DENIED || err->kind == ERR_INPUT)
		after_ms = OVERLOAD_REFUSED_MS;
	return int64_max(after_ms, retry_after_ms);
}

void overload_refused(struct overload *overload, const char *namespace_, int64_t now_ms,
		      int64_t retry_after_ms)
{
	uint64_t refused = hash_text(namespace_);
	int64_t until_ms = now_ms + retry_after_ms;

	if (now_ms < overload->until_ms && refused != overload->namespace_ &&
	    until_ms > overload->all_not_before_ms)
		overload->all_not_before_ms = until_ms;
	overload->namespace_ = refused;
	overload->until_ms = until_ms;
}
