#include "core/report/managed.h"

#include "base/text.h"
#include "core/model/reason.h"

bool managed_by_us(const struct summary *summary)
{
	static const char *const reasons[] = { REASON_AUTOSCALING_DISABLED, REASON_UNMANAGED,
					       REASON_MANAGED_ELSEWHERE, REASON_DELETING,
					       REASON_CLUSTER_UNREADABLE };
	const struct plan_condition *active = summary_condition(summary, "ScalingActive");

	return !active ||
	       !text_is_among(active->reason, reasons, sizeof(reasons) / sizeof(reasons[0]));
}
