#include "cli/status_changes.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "cli/shared/table.h"
#include "cli/status_text.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"

static void add_line(struct status_changes *changes, const char *line)
{
	if (changes->count == STATUS_CHANGES_MAX) {
		memory_free(changes->lines[0]);
		memmove(changes->lines, changes->lines + 1,
			(STATUS_CHANGES_MAX - 1) * sizeof(changes->lines[0]));
		changes->count--;
	}
	changes->lines[changes->count++] = memory_strdup(line);
}

static void done_rows(struct map *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		memory_free(rows->entries[i].value);
	map_done(rows);
}

/* The texts of the present rows. */
static struct map rows_of(const struct view_clusters *clusters, struct arena *arena)
{
	struct map rows = MAP_INIT;

	VEC_EACH(const struct view_cluster, cluster, clusters) {
		const struct summary *summary = cluster->summary;

		for (size_t g = 0; g < summary->group_count; g++) {
			const char *key = arena_printf(arena, "%s/%s %s", cluster->namespace_,
						       cluster->name, summary->groups[g].name);

			memory_free(map_remove(&rows, key)); /* two groups of one name */
			map_set(&rows, key,
				memory_strdup(
					status_text_row(arena, cluster, &summary->groups[g])));
		}
	}
	return rows;
}

void status_changes_update(struct status_changes *changes, const struct view_clusters *clusters,
			   time_ms now)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct map rows = rows_of(clusters, &arena);
	char when[RFC3339_SIZE];

	rfc3339_print(now / MS_PER_SECOND * MS_PER_SECOND, when);
	if (changes->began)
		for (size_t i = 0; i < rows.count; i++) {
			const char *before = map_get(&changes->rows, rows.entries[i].key);
			const char *row = rows.entries[i].value;

			if (!before || strcmp(before, row) != 0)
				add_line(changes, arena_printf(&arena, "%s %s: %s -> %s", when,
							       rows.entries[i].key,
							       before ? before : "new", row));
		}
	for (size_t i = 0; i < changes->rows.count; i++)
		if (!map_get(&rows, changes->rows.entries[i].key))
			add_line(changes, arena_printf(&arena, "%s %s: deleted", when,
						       changes->rows.entries[i].key));
	done_rows(&changes->rows);
	changes->rows = rows;
	changes->began = true;
}

void status_changes_write(const struct status_changes *changes, bool colours, struct buf *buf)
{
	if (changes->count == 0)
		return;
	buf_add_char(buf, '\n');
	table_add_text(buf, TABLE_TITLE, "LAST CHANGES", colours);
	buf_add_char(buf, '\n');
	for (size_t i = 0; i < changes->count; i++)
		text_add_line(buf, "%s", changes->lines[i]);
}

void status_changes_done(struct status_changes *changes)
{
	done_rows(&changes->rows);
	for (size_t i = 0; i < changes->count; i++)
		memory_free(changes->lines[i]);
	*changes = (struct status_changes){ .count = 0 };
}
