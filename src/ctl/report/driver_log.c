#include "ctl/report/driver_log.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/time.h"
#include "ctl/pass/act.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "net/log.h"

struct lines {
	VEC(const char *) list;
};

/* Ray's words (ray 2.60, autoscaler/v2/event_logger.py); our message instead of its cause. */
static void add_lines(const struct act_scaled *scaled, struct arena *arena, struct lines *lines)
{
	int64_t fewer = scaled->replicas - scaled->target_replicas;
	int64_t removed = (int64_t)scaled->workers_to_delete;

	if (removed < fewer)
		removed = fewer;
	if (scaled->added > 0)
		VEC_PUSH(arena, &lines->list,
			 arena_printf(arena, "Adding %lld node(s) of type %s.",
				      (long long)scaled->added, scaled->group));
	if (removed > 0)
		VEC_PUSH(arena, &lines->list,
			 arena_printf(arena, "Removing %lld node(s) of type %s (%s).",
				      (long long)removed, scaled->group, scaled->message));
}

static void published(void *context, const struct gcs_reply *reply UNUSED, const struct err *err)
{
	const struct control *control = context;

	if (!err)
		return;
	metrics_gcs_failed(control->metrics, err);
	log_debug("lines for the drivers are lost", "error", err->text, NULL);
}

void driver_log_add(const struct control *control, struct gcs_client *gcs,
		    const struct act_scaled_list *scaled)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lines lines = { 0 };

	if (!control->options->driver_log || !gcs)
		return;
	for (size_t i = 0; i < scaled->groups.count; i++)
		add_lines(&scaled->groups.at[i], &arena, &lines);
	if (lines.list.count > 0)
		(void)gcs_client_publish_lines(
			gcs, control->options->gcs_timeout_seconds * MS_PER_SECOND, lines.list.at,
			lines.list.count, published, (void *)control);
}
