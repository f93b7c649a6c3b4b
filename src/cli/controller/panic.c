#include "cli/controller/panic.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/check.h"
#include "codec/objects/snapshot_json.h"

#define CASE_BYTES_MAX ((size_t)64 << 20)

void panic_print(const char *condition, const char *file, int line, const char *function,
		 const char *key)
{
	const struct snapshot *snapshot = check_snapshot();
	struct buf text = BUF_INIT(CASE_BYTES_MAX);

	fprintf(stderr, "rayscaler: internal error: \"%s\" does not hold at %s:%d (%s)%s%s\n",
		condition, file, line, function, *key ? ", while working on " : "", key);
	if (!snapshot)
		return;
	if (snapshot_write(snapshot, &text, NULL))
		return;
	fprintf(stderr,
		"rayscaler: save the next lines in a file for \"rayscaler plan -f FILE\", "
		"and report them:\n%s",
		buf_string(&text));
}
