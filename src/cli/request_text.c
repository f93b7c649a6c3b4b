#include "cli/request_text.h"

#include <inttypes.h>
#include <string.h>

#include "codec/objects/plan_text.h"
#include "codec/text/text.h"
#include "core/model/reason.h"

#define WORKERS_SHOWN 20

static void add_annotation(struct buf *buf, const char *title, const char *text)
{
	buf_add_string(buf, title);
	if (text)
		text_add_clean(buf, text);
	else
		buf_add_string(buf, "nothing is requested");
	buf_add_char(buf, '\n');
}

static void add_groups(struct buf *buf, const struct plan *plan)
{
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		if (group->target_replicas == group->replicas)
			continue;
		buf_add_string(buf, "group ");
		text_add_clean(buf, group->name);
		buf_printf(buf, ": replicas %" PRId64 " -> %" PRId64 ", ", group->replicas,
			   group->target_replicas);
		text_add_reason(buf, group->reason, group->message);
	}
}

static void add_kept(struct buf *buf, const struct plan *plan)
{
	size_t kept = 0;

	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		if (strcmp(worker->reason, REASON_NEEDED_BY_REQUEST) != 0)
			continue;
		if (kept < WORKERS_SHOWN) {
			buf_add_string(buf, kept > 0 ? ", " : "kept while it holds: ");
			text_add_clean(buf, worker->pod);
		}
		kept++;
	}
	if (kept > WORKERS_SHOWN)
		buf_printf(buf, " and %zu more", kept - WORKERS_SHOWN);
	if (kept > 0)
		buf_add_char(buf, '\n');
}

static void add_refused(struct buf *buf, const struct plan_demand *demands, size_t count)
{
	ARRAY_EACH(const struct plan_demand, demand, demands, count) {
		if (demand->kind != DEMAND_CONSTRAINT || demand->source != SOURCE_ANNOTATION)
			continue;
		buf_printf(buf, "not served: %" PRId64 " x ", demand->count);
		plan_text_bundle(buf, demand->request);
		buf_add_string(buf, ": ");
		text_add_reason(buf, demand->reason, demand->message);
	}
}

void request_text_write(const struct plan *plan, const char *before, const char *after,
			struct buf *buf)
{
	plan_text_cluster(buf, plan->cluster_namespace, plan->cluster_name);
	add_annotation(buf, "before: ", before);
	add_annotation(buf, "now:    ", after);
	add_groups(buf, plan);
	add_kept(buf, plan);
	add_refused(buf, plan->infeasible.at, plan->infeasible.count);
	add_refused(buf, plan->unserved.at, plan->unserved.count);
}
