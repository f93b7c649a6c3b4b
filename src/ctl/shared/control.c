#include "ctl/shared/control.h"

#include "base/arena.h"
#include "kube/kube_informer.h"

bool control_wake(const struct control *control, const char *namespace_, const char *name)
{
	return control->wake && control->wake(control->wake_context, namespace_, name);
}

void control_ready(const struct control *control)
{
	if (control->ready)
		control->ready(control->wake_context);
}

static const char *problem_of(const struct kube_informer *informer)
{
	const char *problem = kube_informer_problem(informer);

	return problem[0] ? problem : "the first list is not complete";
}

const char *control_stale(const struct control *control, struct arena *arena)
{
	const struct {
		const struct kube_informer *informer;
		const char *kind;
	} caches[] = { { control->ray_clusters, "RayClusters" }, { control->pods, "Pods" } };

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		if (!caches[i].informer)
			return arena_printf(arena, "%s: not asked for yet", caches[i].kind);
		if (!kube_informer_fresh(caches[i].informer))
			return arena_printf(arena, "%s: %s", caches[i].kind,
					    problem_of(caches[i].informer));
	}
	return "";
}

bool control_synced(const struct control *control)
{
	return control->ray_clusters && control->pods &&
	       kube_informer_synced(control->ray_clusters) && kube_informer_synced(control->pods);
}
