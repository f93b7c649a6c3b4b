/* Golden cases: reads src/test/golden/NNNN_name.yaml and expands its base, its changes and the templates to
 * the snapshot that `rayscaler plan` reads. src/test/golden/README.md describes the form. */
#ifndef TEST_GOLDEN_CASE_H
#define TEST_GOLDEN_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/snapshot.h"

struct cJSON;

#define GOLDEN_DIRECTORY "src/test/golden"

/* The directory of the cases: $GOLDEN_DIR or GOLDEN_DIRECTORY. Bases are always those of GOLDEN_DIRECTORY. */
const char *golden_directory(void);

/* The text of a file, NUL-terminated. The caller frees it (memory_free). */
int golden_text(const char *path, char **ret_text, struct err *err);

/* The case with its snapshot in the member `snapshot`. The caller frees the tree (json_free). */
int golden_read(const char *path, struct cJSON **ret_case, struct err *err);
/* The same of the text of a case. */
int golden_parse(const char *text, size_t size, struct cJSON **ret_case, struct err *err);

/* Decodes the snapshot of a case; it is in the arena. */
int golden_snapshot(const char *path, struct arena *arena, struct snapshot *ret_snapshot,
		    struct err *err);
/* The same with further changes, as YAML (NULL: none). */
int golden_snapshot_changed(const char *path, const char *more, struct arena *arena,
			    struct snapshot *ret_snapshot, struct err *err);

/* The snapshot of a case as YAML. The caller frees it (memory_free). */
int golden_yaml(const char *path, char **ret_text, struct err *err);

/* The names of the cases (0001_name.yaml), sorted. Frees with golden_names_free. */
struct golden_names {
	char **at;
	size_t count;
};
int golden_names_read(const char *directory, struct golden_names *ret_names, struct err *err);
void golden_names_free(struct golden_names *names);

#endif
