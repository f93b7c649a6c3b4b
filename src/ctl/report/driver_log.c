#include "ctl/report/driver_log.h"

#include "base/err.h"
#include "base/time.h"
#include "ctl/pass/act.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "net/log.h"

static void published(void *context, const struct gcs_reply *reply UNUSED, const struct err *err)
{
	const struct control *control = context;

	if (!err)
		return;
	metrics_gcs_failed(control->metrics, err);
	log_debug("lines for the drivers are lost", "error", err->text, NULL);
}

void driver_log_add_lines(const struct control *control, struct gcs_client *gcs,
			  const struct strings *lines)
{
	if (control->options->driver_log && gcs && lines->count > 0)
		(void)gcs_client_publish_lines(
			gcs, control->options->gcs_timeout_seconds * MS_PER_SECOND, lines->at,
			lines->count, published, memory_without_const(control));
}

void driver_log_add(const struct control *control, struct gcs_client *gcs,
		    const struct act_scaled_list *scaled)
{
	driver_log_add_lines(control, gcs, &scaled->lines);
}
