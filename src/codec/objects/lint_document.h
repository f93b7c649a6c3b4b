/* The findings of texts: every RayCluster in a file of YAML or JSON, also inside of a RayJob, a
 * RayService, a RayCronJob or a List; other objects are skipped silently. An object that cannot be
 * read is a finding as well (rule cannot-be-read), so nothing here fails. The caller owns struct
 * lint_report and its arena, in which all findings live; the memory of a text (its tree, positions,
 * decoded objects) is freed before the next document is read. Must not be used for objects that are
 * scaled: the trees are changed (codec/objects/lint_shape). */
#ifndef CODEC_OBJECTS_LINT_DOCUMENT_H
#define CODEC_OBJECTS_LINT_DOCUMENT_H

#include <stddef.h>

#include "base/arena.h"
#include "codec/text/json.h"
#include "codec/text/position.h"
#include "core/lint/lint.h"

/* A RayCluster has at most 1.5 MiB in the API server; a file may be a list of many. */
#define LINT_FILE_BYTES_MAX ((size_t)32 << 20)
/* Findings above this are counted and not kept. */
#define LINT_ENTRIES_MAX 100000
#define LINT_REPORT_BYTES_MAX ((size_t)64 << 20)

extern const struct json_limits lint_limits;

struct lint_entry {
	const char *file;            /* "": none, the object is from an API server */
	size_t file_number;          /* in the order of reading */
	size_t document;             /* of the file, from 0 */
	const char *object;          /* "RayCluster ray/demo"; "" when unknown */
	struct position at;          /* line 0: unknown */
	struct lint_finding finding; /* its path is from the root of `object` */
};

struct lint_report {
	struct arena *arena;
	VEC(struct lint_entry) list;
	size_t counts[LINT_ERROR + 1]; /* by severity, also of dropped findings */
	size_t dropped;                /* number of findings that are not kept */
	size_t files, objects;         /* read; objects: those with a RayCluster */
};

void lint_report_init(struct lint_report *report, struct arena *arena);
/* One file's text; `file` is copied. */
void lint_text_add(struct lint_report *report, const char *file, const char *text, size_t size,
		   const struct lint_context *context);
/* A file, or an object (`object` not ""), that cannot be read at all. */
void lint_problem_add(struct lint_report *report, const char *file, const char *object,
		      const char *problem);
/* A RayCluster from an API server. */
void lint_live_add(struct lint_report *report, const struct ray_cluster *cluster,
		   const struct lint_context *context);
/* Sorts by file, document, line and column; stable. */
void lint_report_sort(struct lint_report *report);

#endif
