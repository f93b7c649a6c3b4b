#include "ctl/cluster_gate.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "core/decide/gate.h"
#include "core/model/reason.h"
#include "ctl/pass/observe.h"
#include "ctl/shared/options.h"

enum cluster_gate cluster_gate(const struct observation *view, const struct options *options)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct observation observation = *view;
	struct snapshot snapshot;
	enum reason reason;

	if (!view->cluster)
		return CLUSTER_HANDS_OFF;
	observation.snapshot.settings = options->settings;
	observation.snapshot.device_table = options->device_table;
	observe(&observation, &scratch, &snapshot);
	reason = gate_check(&snapshot, &scratch).reason;
	if (!reason)
		return CLUSTER_SCALED;
	return reason == REASON_SUSPENDED && ray_cluster_suspended_at(view->cluster) ?
		       CLUSTER_ENDING :
		       CLUSTER_HANDS_OFF;
}
