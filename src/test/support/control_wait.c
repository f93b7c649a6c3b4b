#include "test/support/control_wait.h"

#include "ctl/shared/control.h"
#include "kube/kube_informer.h"

bool control_is_synced(void *context)
{
	const struct control *control = context;

	return kube_informer_fresh(control->ray_clusters, NULL) &&
	       kube_informer_fresh(control->pods, NULL);
}

void control_no_news(void *context, const char *namespace_, const char *name)
{
	(void)context;
	(void)namespace_;
	(void)name;
}
