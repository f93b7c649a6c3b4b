#include "test/support/control_wait.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/control.h"
#include "kube/kube_informer.h"

bool control_is_synced(void *context)
{
	const struct control *control = context;

	return kube_informer_fresh(control->ray_clusters) && kube_informer_fresh(control->pods);
}

unsigned control_decisions(const struct control *control)
{
	static const char line[] =
		"\nrayscaler_reconcile_duration_seconds_count{phase=\"deciding\"} ";
	const struct metrics_now now = { .leader = true };
	AUTO(buf_done) struct buf text;
	const char *found;

	buf_init(&text, 1 << 20);
	metrics_write(control->metrics, &now, &text);
	found = strstr(buf_string(&text), line);
	return found ? (unsigned)strtoul(found + strlen(line), NULL, 10) : 0;
}
