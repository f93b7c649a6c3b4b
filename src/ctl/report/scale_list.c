#include "ctl/report/scale_list.h"

#include "core/model/field.h"

static const struct field scale_fields[] = {
	FIELD_TEXT(struct autoscaler_scale, group, "group"),
	FIELD_TEXT(struct autoscaler_scale, reason, "reason"),
	FIELD_TEXT(struct autoscaler_scale, message, "message"),
	FIELD_END,
};

void scale_list_done(struct scale_list *list)
{
	arena_done(&list->arena);
	*list = (struct scale_list){ .arena = ARENA_INIT };
}

static void add(struct scale_list *list, const struct autoscaler_scale *scale)
{
	VEC_PUSH(&list->arena, &list->scales, *FIELD_COPY(scale_fields, scale, &list->arena));
}

void scale_list_set(struct scale_list *list, const struct pass_decision *decision)
{
	const struct plan *plan = decision->plan;

	scale_list_done(list);
	for (size_t i = 0; plan->patch.count > 0 && i < plan->groups.count; i++) {
		const struct plan_group *group = &plan->groups.at[i];

		if (group->reason[0] && group->replicas != group->target_replicas)
			add(list, &(struct autoscaler_scale){ .group = group->name,
							      .time = decision->now /
								      MS_PER_SECOND * MS_PER_SECOND,
							      .from = group->replicas,
							      .to = group->target_replicas,
							      .reason = group->reason,
							      .message = group->message });
	}
}

void scale_list_push(struct scale_list *list, struct scale_list *newer)
{
	for (size_t i = 0; i < list->scales.count; i++)
		add(newer, &list->scales.at[i]);
	scale_list_done(list);
	*list = *newer;
	*newer = (struct scale_list){ .arena = ARENA_INIT };
}
