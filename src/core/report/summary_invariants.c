#include "core/report/summary_invariants.h"

#include <string.h>

#include "base/check.h"

static void check_group(const struct summary_group *group, const struct plan_group *planned)
{
	int64_t pods = 0;

	CHECK(group->name == planned->name && group->backoff == planned->backoff);
	CHECK(group->hosts > 0);
	for (size_t i = 0; i < SUMMARY_STATE_COUNT; i++)
		pods += group->pods[i];
	CHECK(group->pod_count == pods);
	CHECK(group->registered <= group->pod_count);
	CHECK((group->waiting > 0) == (group->unserved_reason[0] != '\0'));
	CHECK(group->waiting_reason && group->waiting_message);
}

static void check_demand(const struct summary *summary)
{
	for (size_t i = 0; i < summary->unserved_count; i++) {
		const struct summary_unserved *item = &summary->unserved[i];

		CHECK(item->reason && item->message);
		CHECK(!item->infeasible || i == 0 || summary->unserved[i - 1].infeasible);
	}
	for (size_t i = 0; i < summary->pending_count; i++)
		CHECK(summary->pending[i].amount > 0);
	CHECK(summary->pending_gpus == 0 || strcmp(summary->pending[0].name, "GPU") == 0);
	for (size_t i = 0; i < summary->requested_count; i++)
		CHECK(summary->requested[i].bundle);
}

void invariants_of_summary(const struct summary *summary, const struct plan *plan)
{
	int64_t pods = 0, kept = 0;

	CHECK(summary->reason[0] != '\0' && summary->message);
	CHECK(summary->group_count == plan->groups.count);
	for (size_t i = 0; i < summary->group_count; i++) {
		check_group(&summary->groups[i], &plan->groups.at[i]);
		pods += summary->groups[i].pod_count;
	}
	CHECK(pods <= summary->pod_count); /* workers of removed groups are in the sum alone */
	CHECK(summary->pod_count == (int64_t)plan->workers.count);
	for (size_t i = 0; i < summary->kept_count; i++)
		kept += summary->kept[i].count;
	CHECK(kept <= summary->pods[WORKER_IDLE]);
	CHECK(summary->resource_count <= SUMMARY_RESOURCES_MAX);
	CHECK(summary->gpus.known == summary->ray_reachable);
	if (!summary->ray_reachable) {
		CHECK(!summary->safe_to_scale_down);
		CHECK(summary->registered == 0);
		CHECK(summary->pending_count == 0 && summary->pending_bundles == 0);
	}
	check_demand(summary);
}
