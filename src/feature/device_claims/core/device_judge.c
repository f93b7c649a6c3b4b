#include "feature/device_claims/core/device_judge.h"

#include <string.h>

#include "base/memory.h"

/* Of one judgement beside its steps. */
#define STEPS_OF_CALL 8

/* The verdicts of one selector. */
struct judged_text {
	struct device_set matching, sure;
	const char *problem;
	bool cut; /* at the limit of steps: nothing is judged */
};

static size_t size_of(const struct device_judge *judge)
{
	return judge->free->device_count / 8 + 1;
}

/* False: fewer are left. */
static bool spend(struct device_judge *judge, size_t steps)
{
	if (steps > judge->steps_left)
		return false;
	judge->steps_left -= steps;
	return true;
}

static bool set_has(const struct device_set *set, size_t device)
{
	return (set->bits[device / 8] >> (device % 8) & 1) != 0;
}

static void set_add(const struct device_set *set, size_t device)
{
	set->bits[device / 8] |= (unsigned char)(1U << (device % 8));
}

static void set_fill(const struct device_judge *judge, const struct device_set *set, int byte)
{
	memset(set->bits, byte, size_of(judge));
}

static void set_meet(const struct device_judge *judge, const struct device_set *set,
		     const struct device_set *other)
{
	for (size_t i = 0; i < size_of(judge); i++)
		set->bits[i] &= other->bits[i];
}

void device_judge_init(struct device_judge *judge, const struct device_free *free,
		       struct arena *arena)
{
	*judge = (struct device_judge){ .free = free,
					.steps_left = DEVICE_JUDGE_STEPS,
					.arena = arena,
					.scratch = ARENA_INIT,
					.texts = MAP_IN(arena),
					.classes = MAP_IN(arena) };
	judge->sure.bits = arena_alloc(&judge->scratch, size_of(judge));
	for (size_t i = 0; i < free->objects->class_count; i++)
		map_set(&judge->classes, free->objects->classes[i].name,
			&free->objects->classes[i]);
}

void device_judge_done(struct device_judge *judge)
{
	map_done(&judge->texts);
	map_done(&judge->classes);
	arena_done(&judge->scratch);
}

/* ---- one selector ---- */

static void judge_devices(struct device_judge *judge, const struct cel *cel,
			  struct judged_text *text)
{
	const struct device_free *free = judge->free;

	for (size_t i = 0; i < free->device_count; i++) {
		const struct cel_device device = { free->devices[i].slice->driver,
						   free->devices[i].device };
		size_t steps = STEPS_OF_CALL;
		enum cel_verdict verdict = cel_judge(cel, &device, &steps);

		text->cut = !spend(judge, steps);
		if (text->cut)
			return;
		if (verdict != CEL_NO)
			set_add(&text->matching, i);
		if (verdict == CEL_YES)
			set_add(&text->sure, i);
	}
}

/* One that was cut is judged again for the next namespace, which has steps of its own. */
static const struct judged_text *judge_text(struct device_judge *judge, const char *selector)
{
	AUTO(arena_done) struct arena compiled = ARENA_INIT;
	struct judged_text *text = map_get(&judge->texts, selector);
	const struct cel *cel;

	if (text && !text->cut)
		return text;
	if (!text) {
		text = ARENA_NEW(&judge->scratch, struct judged_text);
		map_set(&judge->texts, selector, text);
	}
	text->cut = !spend(judge, strlen(selector)) ||
		    judge->steps_left < judge->free->device_count * STEPS_OF_CALL;
	if (text->cut)
		return text;
	if (!text->sure.bits) {
		text->matching.bits = arena_alloc(&judge->scratch, size_of(judge));
		text->sure.bits = arena_alloc(&judge->scratch, size_of(judge));
	}
	cel = cel_compile(selector, &compiled);
	if (cel_problem(cel))
		text->problem = arena_strdup(judge->arena, cel_problem(cel));
	set_fill(judge, &text->matching, 0);
	set_fill(judge, &text->sure, 0);
	judge_devices(judge, cel, text);
	return text;
}

/* ---- asks ---- */

/* False: one of them was cut. */
static bool meet_all(struct device_judge *judge, const struct strings *selectors,
		     struct device_matches *matches)
{
	for (size_t i = 0; i < selectors->count; i++) {
		const struct judged_text *text = judge_text(judge, selectors->at[i]);

		if (text->cut)
			return false;
		matches->problem = matches->problem ? matches->problem : text->problem;
		set_meet(judge, &matches->set, &text->matching);
		set_meet(judge, &judge->sure, &text->sure);
	}
	return true;
}

struct device_matches device_judge_ask(struct device_judge *judge, const struct device_ask *ask)
{
	const struct device_class *class = map_get(&judge->classes, ask->device_class);
	bool none = !class && judge->free->objects->classes_known;
	struct device_matches matches = { .problem = NULL };

	/* So that the number of them has a limit as well. */
	if (!spend(judge, judge->free->device_count))
		return matches;
	matches.set.bits = arena_alloc(judge->arena, size_of(judge));
	set_fill(judge, &matches.set, none ? 0 : 0xff);
	set_fill(judge, &judge->sure, class ? 0xff : 0);
	if ((class && !meet_all(judge, &class->selectors, &matches)) ||
	    (!none && !meet_all(judge, &ask->selectors, &matches)))
		matches.set.bits = NULL;
	return matches;
}

bool device_judge_is_sure(const struct device_judge *judge, size_t device)
{
	return set_has(&judge->sure, device);
}

bool device_matches_has(const struct device_matches *matches, size_t device)
{
	return !matches || !matches->set.bits || set_has(&matches->set, device);
}
