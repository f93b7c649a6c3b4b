#include "ctl/report/overload.h"

#include "base/hash.h"

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
