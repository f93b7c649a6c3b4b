#include "cli/shared/unscaled.h"

#include <string.h>

#include "cli/shared/table.h"
#include "codec/text/text.h"

#define FIX "kubectl get deployments,pods -A -l app.kubernetes.io/name=rayscaler"

const char *unscaled_mark(const struct view_cluster *cluster, const char *text, struct arena *arena)
{
	return arena_printf(arena, "%s ago%s%s", table_age(arena, cluster->age_ms / MS_PER_SECOND),
			    *text != '\0' ? ": " : "", text);
}

const char *unscaled_key(const struct view_cluster *cluster, struct arena *arena)
{
	bool old = cluster->age_ms != VIEW_AGE_UNKNOWN;

	return arena_printf(arena, "%s/%s%s%s", cluster->namespace_, cluster->name, old ? " " : "",
			    old ? unscaled_mark(cluster, "", arena) : "");
}

/* "12m6s", or "12m6s to 15m2s". */
static const char *ages_text(const struct view_clusters *clusters, struct arena *arena)
{
	int64_t least = INT64_MAX, most = -1;
	const char *first, *last;

	VEC_EACH(const struct view_cluster, cluster, clusters) {
		if (!cluster->unscaled || cluster->age_ms == VIEW_AGE_UNKNOWN)
			continue;
		least = cluster->age_ms < least ? cluster->age_ms : least;
		most = cluster->age_ms > most ? cluster->age_ms : most;
	}
	if (most < 0)
		return NULL;
	first = table_age(arena, least / MS_PER_SECOND);
	last = table_age(arena, most / MS_PER_SECOND);
	return strcmp(first, last) == 0 ? first : arena_printf(arena, "%s to %s", first, last);
}

void unscaled_write(const struct view_clusters *clusters, bool marked, size_t width,
		    struct arena *arena, struct buf *buf)
{
	const char *ages = ages_text(clusters, arena), *which = "";

	if (clusters->unscaled == 0)
		return;
	if (clusters->unscaled < clusters->count)
		which = arena_printf(arena, " %zu of %zu RayClusters", clusters->unscaled,
				     clusters->count);
	text_add_wrapped(buf,
			 ages ? arena_printf(arena,
					     "nothing scales%s now: the last decision is %s old, "
					     "and so are %s; start a controller: " FIX,
					     which, ages,
					     marked ? "the figures marked \"ago\"" :
						      "their figures") :
				arena_printf(arena,
					     "nothing scales%s now: no controller was found, nor "
					     "figures of one; start one: " FIX,
					     which),
			 0, 2, width);
	buf_add_char(buf, '\n');
}
