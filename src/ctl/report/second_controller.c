#include "ctl/report/second_controller.h"

#include <string.h>

#include "base/memory.h"
#include "ctl/shared/leader.h"

void second_controller_init(struct own_controller *own)
{
	*own = (struct own_controller){ .name = leader_make_identity(), .since = TIME_NONE };
}

void second_controller_done(struct own_controller *own)
{
	memory_free(own->name);
	log_repeat_done(&own->others);
}

void second_controller_look(struct second_controller *second, struct own_controller *own,
			    time_ms now, const char *key, const struct summary *status,
			    int64_t now_ms)
{
	if (own->since == TIME_NONE)
		own->since = now;
	if (!status || !status->controller || !status->controller[0] ||
	    strcmp(status->controller, own->name) == 0 || status->decided_at == TIME_NONE ||
	    status->decided_at <= own->since + SECOND_CONTROLLER_SKEW_MS ||
	    status->decided_at == second->seen)
		return;
	second->seen = status->decided_at;
	second->until_ms = now_ms + SECOND_CONTROLLER_LIVES_MS;
	(void)log_repeat_error(&own->others,
			       "a second controller decides about the same RayClusters", key,
			       status->controller);
}
