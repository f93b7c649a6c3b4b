#include "base/slots.h"

#include "base/check.h"

#define FIRST_COUNT ((size_t)16)

size_t slots_wanted(const struct slots *slots, size_t growth)
{
	CHECK(slots->used < UINT32_MAX / 2);
	if (2 * slots->used < slots->count)
		return 0;
	return slots->count > 0 ? slots->count * growth : FIRST_COUNT;
}

struct slot *slots_move(struct slots *slots, struct slot *at, size_t count)
{
	const struct slots old = *slots;

	*slots = (struct slots){ at, count, old.used };
	for (size_t i = 0; i < old.count; i++) {
		size_t home = old.at[i].entry ? slots_home(slots, old.at[i].hash) : 0;

		if (!old.at[i].entry)
			continue;
		while (at[home].entry)
			home = (home + 1) & (count - 1);
		at[home] = old.at[i];
	}
	return old.at;
}

void slots_free(struct slots *slots, struct slot *slot)
{
	size_t mask = slots->count - 1, gap = (size_t)(slot - slots->at);

	for (size_t i = (gap + 1) & mask; slots->at[i].entry; i = (i + 1) & mask) {
		size_t home = slots_home(slots, slots->at[i].hash);

		/* Otherwise a look-up would stop at the gap. */
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			slots->at[gap] = slots->at[i];
			gap = i;
		}
	}
	slots->at[gap].entry = 0;
	slots->used--;
}
