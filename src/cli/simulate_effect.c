#include "cli/simulate_effect.h"

#include <string.h>

#include "base/memory.h"
#include "cli/simulate_text.h"
#include "core/report/overridden.h"

#define CLASSES_MAX 10 /* of equal rows */
#define NAMES_MAX 5    /* of rows in a line */

/* ---- settings that others override ---- */

/* The setting that wins wherever `path` sets something in this input; NULL: none does everywhere. */
static const char *winner_of(const struct sim_input *input, const char *path, struct arena *arena)
{
	const char *found = NULL;

	ARRAY_EACH(const struct sim_cluster, cluster, input->clusters, input->cluster_count) {
		struct snapshot *snapshot = ARENA_NEW(arena, struct snapshot);
		const char *winner;
		bool counts;

		snapshot->cluster = *cluster->cluster;
		snapshot->autoscaler = cluster->autoscaler;
		snapshot->settings = *cluster->settings;
		winner = overridden_by(snapshot, path, arena, &counts);
		if (counts)
			return NULL;
		found = found ? found : winner;
	}
	return found;
}

/* Notes the setting that wins in all variants. */
static bool note_winner(struct simulate_plan *plan, const char *path)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *winner = NULL;

	VEC_EACH(const struct simulate_variant, variant, &plan->variants) {
		if (variant->values)
			winner = winner_of(&variant->input, path, &arena);
		if (!winner)
			return false;
	}
	VEC_PUSH(plan->arena, &plan->notes,
		 arena_printf(plan->arena, "%s: no effect: %s", path, winner));
	return true;
}

static bool lacks_prices(const struct simulate_variant *variant)
{
	const struct sim_input *input = &variant->input;

	if (!variant->values || input->prices)
		return false;
	ARRAY_EACH(const struct sim_cluster, cluster, input->clusters, input->cluster_count)
		if (cluster->settings->packing == PACKING_CHEAPEST)
			return true;
	return false;
}

static void note_prices(struct simulate_plan *plan)
{
	bool lacks = false;

	VEC_EACH(const struct simulate_variant, variant, &plan->variants)
		lacks = lacks || lacks_prices(variant);
	if (lacks)
		VEC_PUSH(plan->arena, &plan->notes,
			 "packing: cheapest is the same as fewest-gpus without prices; add "
			 "--price-table");
}

/* ---- rows that are the same ---- */

/* Of combinations: the number of rows from one value of this axis to the next. */
static size_t stride_of(const struct simulate_plan *plan, size_t axis)
{
	size_t stride = 1;

	for (size_t i = axis + 1; i < plan->axis_count; i++)
		stride *= plan->axes[i].count;
	return stride;
}

/* The combination with the first value of this axis instead of its own. */
static size_t with_first_value(const struct simulate_plan *plan, size_t axis, size_t number)
{
	size_t stride = stride_of(plan, axis);

	return number - number / stride % plan->axes[axis].count * stride;
}

static bool has_effect(const struct simulate_plan *plan, size_t axis)
{
	for (size_t i = 0; i < simulate_choice_count(plan); i++)
		if (!simulate_row_is_same(&plan->variants.at[with_first_value(plan, axis, i)].row,
					  &plan->variants.at[i].row))
			return true;
	return false;
}

/* One line for each class of at least two equal rows. `skip`: rows that a note explains. */
static void note_classes(struct simulate_plan *plan, const bool *skip)
{
	const struct simulate_row *const *rows = simulate_rows(plan);
	size_t count = plan->variants.count, classes = 0;

	for (size_t i = 0; i < count && classes < CLASSES_MAX; i++) {
		const char *names = plan->variants.at[i].name;
		size_t equal = 1;

		if (skip[i])
			continue;
		for (size_t k = i + 1; k < count; k++)
			if (!skip[k] && simulate_row_first(rows, count, k) == i &&
			    equal++ < NAMES_MAX)
				names = arena_printf(plan->arena, "%s; %s", names,
						     plan->variants.at[k].name);
		if (equal < 2)
			continue;
		if (equal > NAMES_MAX)
			names = arena_printf(plan->arena, "%s; and %zu more", names,
					     equal - NAMES_MAX);
		VEC_PUSH(plan->arena, &plan->notes,
			 arena_printf(plan->arena, "equal in the whole run: %s", names));
		classes++;
	}
}

void simulate_effect_note(struct simulate_plan *plan, const struct flag_values *set)
{
	bool *skip = arena_array(plan->arena, plan->variants.count, sizeof(*skip));

	note_prices(plan);
	for (size_t i = 0; i < set->count; i++)
		note_winner(plan, arena_strndup(plan->arena, set->at[i], strcspn(set->at[i], "=")));
	for (size_t axis = 0; axis < plan->axis_count; axis++) {
		bool one = plan->axes[axis].count < 2;

		if (has_effect(plan, axis))
			continue;
		if (!note_winner(plan, plan->axes[axis].path) && !one)
			VEC_PUSH(plan->arena, &plan->notes,
				 arena_printf(plan->arena,
					      "%s: no effect: rows that differ in it alone are "
					      "equal in the whole run",
					      plan->axes[axis].path));
		for (size_t i = 0; i < simulate_choice_count(plan); i++)
			skip[i] = skip[i] || with_first_value(plan, axis, i) != i;
	}
	note_classes(plan, skip);
}
