/* The needs of a list of shapes: which of them could fit into a node. See schedule_run.h. */
#include "core/schedule/schedule_run.h"

/* Counts the shapes by name into run->name_counts. */
static void find_names(struct schedule_requests *requests, struct schedule_run *run)
{
	const struct schedule_list *list = requests->list;
	size_t most = 0;

	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = 0; j < list->shapes[i].need_count; j++) {
			uint32_t name = list->shapes[i].needs[j].name;

			if (!run->name_counts[name]++)
				VEC_PUSH(run->scratch, &requests->names, name);
		}
	requests->pivot = SCHEDULE_ID_NONE;
	for (size_t i = 0; i < requests->names.count; i++) {
		uint32_t name = requests->names.at[i];

		if (run->name_counts[name] <= most)
			continue;
		most = run->name_counts[name];
		requests->pivot = name;
	}
}

const struct schedule_requests *schedule_requests_new(struct schedule_run *run,
						      const struct schedule_list *list)
{
	struct schedule_requests *requests = ARENA_NEW(run->scratch, struct schedule_requests);
	size_t words = (list->count + 63) / 64;

	*requests = (struct schedule_requests){ .list = list, .word_count = words };
	requests->accelerated = arena_array(run->scratch, words + 1, sizeof(uint64_t));
	find_names(requests, run);
	for (size_t i = 0; i < requests->names.count; i++)
		run->name_counts[requests->names.at[i]] = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];

		if (shape->asks_accelerator)
			requests->accelerated[i / 64] |= UINT64_C(1) << (i % 64);
		requests->adds_labels = requests->adds_labels || shape->anti_label_count;
		if (!shape->selector)
			continue;
		VEC_PUSH(run->scratch, &requests->selecting, i);
		if (shape->request->selector_count > (size_t)requests->labels_max)
			requests->labels_max = (int)shape->request->selector_count;
	}
	return requests;
}

static bool fits(const struct schedule_run *run, const struct schedule_state *state,
		 const struct schedule_shape *shape)
{
	return !shape->impossible &&
	       schedule_state_has(&run->states, state, shape->needs, shape->need_count);
}

bool schedule_requests_fit(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id)
{
	for (size_t i = 0; i < requests->list->count; i++)
		if (fits(run, &run->states.states.at[id], &requests->list->shapes[i]))
			return true;
	return false;
}

void schedule_requests_may(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id, uint64_t *ret_bits)
{
	const struct schedule_state *state = &run->states.states.at[id];

	for (size_t i = 0; i < requests->list->count; i++) {
		const struct schedule_shape *shape = &requests->list->shapes[i];

		if (shape->selector && !requests->adds_labels &&
		    !schedule_label_rank(&run->states, state->labels, shape->selector))
			continue;
		if (fits(run, state, shape))
			ret_bits[i / 64] |= UINT64_C(1) << (i % 64);
	}
}
