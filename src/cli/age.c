#include "cli/age.h"

const char *age_text(struct arena *arena, int64_t seconds)
{
	long long s = seconds > 0 ? seconds : 0;

	if (s < 120)
		return arena_printf(arena, "%llds", s);
	if (s < 3600)
		return arena_printf(arena, "%lldm%llds", s / 60, s % 60);
	if (s < 86400)
		return arena_printf(arena, "%lldh%lldm", s / 3600, s % 3600 / 60);
	return arena_printf(arena, "%lldd%lldh", s / 86400, s % 86400 / 3600);
}
