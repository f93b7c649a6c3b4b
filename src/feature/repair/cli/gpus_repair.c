#include "feature/repair/cli/gpus_repair.h"

#include "feature/repair/core/repair.h"

/* "taint nvidia.com/gpu-xid-error since 2026-11-20T09:59:20Z"; NULL for a cordon, which has its own note. */
static const char *sign_of(const struct node *node, struct arena *arena)
{
	static const struct settings published; /* no flag names a further one */
	struct repair_signal signal;
	const char *text;

	if (!repair_signal_of(&published, node, arena, &signal) ||
	    signal.source == REPAIR_BY_CORDON)
		return NULL;
	text = repair_signal_text(&signal, arena);
	return signal.since == TIME_NONE ?
		       text :
		       arena_printf(arena, "%s since %s", text, time_text(arena, signal.since));
}

const struct gpus_sign gpus_repair = { .of = sign_of };
