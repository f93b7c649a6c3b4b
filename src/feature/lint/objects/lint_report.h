/* The findings of all files together, and what the rules need of one file for another. The caller owns
 * struct lint_report and its arena, in which all of it lives. */
#ifndef FEATURE_LINT_OBJECTS_LINT_REPORT_H
#define FEATURE_LINT_OBJECTS_LINT_REPORT_H

#include <stddef.h>

#include "base/arena.h"
#include "codec/text/position.h"
#include "feature/lint/core/lint.h"

/* Findings above this are counted and not kept. */
#define LINT_ENTRIES_MAX 100000
#define LINT_REPORT_BYTES_MAX ((size_t)64 << 20)

/* Of all texts with a RayClusterAutoscaler. */
#define LINT_KEPT_BYTES_MAX ((size_t)32 << 20)

struct lint_known_cluster {
	size_t file_number;
	struct ray_cluster cluster; /* namespace, name and groups alone */
	const char *owner;          /* autoscaler_problem_owner */
};

struct lint_kept_text {
	const char *file, *text;
	size_t file_number, size;
};

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
	size_t autoscalers;            /* RayClusterAutoscalers that were read */
	/* For lint_report_finish: the RayClusters, and the texts with a RayClusterAutoscaler. */
	VEC(struct lint_known_cluster) clusters;
	VEC(struct lint_kept_text) texts;
	size_t kept_bytes;
};

void lint_report_init(struct lint_report *report, struct arena *arena);
/* Copies the entry. */
void lint_report_add(struct lint_report *report, const struct lint_entry *entry);
void lint_report_sort(struct lint_report *report);
/* Above LINT_REPORT_BYTES_MAX a RayCluster is not remembered. */
void lint_report_remember(struct lint_report *report, const struct ray_cluster *cluster);
/* The RayCluster of the namespace and name, in the same file if there is one; NULL: none. */
const struct lint_known_cluster *lint_report_cluster(const struct lint_report *report,
						     size_t file_number, const char *namespace_,
						     const char *name);
/* -1: all together have more than LINT_KEPT_BYTES_MAX. `file` must live as long as the report. */
int lint_report_keep_text(struct lint_report *report, const char *file, const char *text,
			  size_t size);

#endif
