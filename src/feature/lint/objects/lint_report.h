/* The findings of all files together, and what the rules need of one file for another. The caller owns
 * struct lint_report and its arena, in which all of it lives. */
#ifndef FEATURE_LINT_OBJECTS_LINT_REPORT_H
#define FEATURE_LINT_OBJECTS_LINT_REPORT_H

#include <stddef.h>

#include "base/arena.h"
#include "codec/objects/object_kinds.h"
#include "codec/text/position.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* Findings above this are counted and not kept. */
#define LINT_ENTRIES_MAX 100000
#define LINT_REPORT_BYTES_MAX ((size_t)64 << 20)

/* Of all texts that are read twice: with an object of rayscaler.dev or a RayCluster that claims devices. */
#define LINT_KEPT_BYTES_MAX ((size_t)32 << 20)

struct lint_known_cluster {
	size_t file_number;
	struct lint_known known;
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

/* A worker group that is compared with other objects; the finding of `entry` has only its path. */
struct lint_kept_group {
	struct lint_entry entry;
	size_t feature;                 /* in the order of lint_features */
	struct object_kept_group group; /* its path is that of `entry` */
};

/* A part of a template that a Namespace with Pod Security refuses: baseline, or restricted alone. */
struct lint_kept_violation {
	struct lint_entry entry; /* its message has what, its fix what to write */
	const char *namespace_;
	bool restricted;
};

/* An object of a file, or a Pod that KubeRay would make of it, that the API server is asked about by dry-run. */
struct lint_question {
	struct lint_entry entry; /* where; its finding has only the path */
	const char *what;        /* "the RayCluster", "a Pod of group gpu" */
	const char *api_version, *plural, *namespace_, *name; /* "": none */
	bool namespaced;
	const char *body; /* JSON */
};

struct lint_report {
	struct arena *arena;
	VEC(struct lint_entry) list;
	size_t counts[LINT_ERROR + 1]; /* by severity, also of dropped findings */
	size_t dropped;                /* number of findings that are not kept */
	size_t files, objects;         /* read; objects: those with a RayCluster */
	const char *instead;           /* cure for a file without them; NULL: unknown */
	size_t autoscalers;            /* objects of rayscaler.dev that were read */
	void **states;                 /* of lint_features */
	/* For lint_report_finish: the RayClusters, and the texts that are read again. */
	VEC(struct lint_known_cluster) clusters;
	VEC(struct lint_kept_group) groups;
	VEC(struct lint_kept_violation) violations;
	VEC(struct namespace) namespaces;
	VEC(struct lint_kept_text) texts;
	size_t kept_bytes;
	bool asks; /* set it to get the questions */
	VEC(struct lint_question) questions;
};

/* Of features, NULL at the end. */
extern const struct object_kinds *const lint_features[];

void lint_report_init(struct lint_report *report, struct arena *arena);
/* Copies the entry. */
void lint_report_add(struct lint_report *report, const struct lint_entry *entry);
void lint_report_sort(struct lint_report *report);
/* Above LINT_REPORT_BYTES_MAX a RayCluster is not remembered. `gpus` as in struct lint_known. */
void lint_report_remember(struct lint_report *report, const struct ray_cluster *cluster,
			  const int64_t *gpus);
/* Everything is copied; the same limit holds. */
void lint_report_remember_group(struct lint_report *report, const struct lint_kept_group *group);
void lint_report_remember_violation(struct lint_report *report,
				    const struct lint_kept_violation *violation);
/* Everything is copied, and `body` printed; when `asks` is set, and up to LINT_REPORT_BYTES_MAX. */
void lint_report_ask(struct lint_report *report, const struct lint_question *question,
		     const struct cJSON *body);
/* The RayCluster of the namespace and name, in the same file if there is one; NULL: none. */
const struct lint_known *lint_report_cluster(const struct lint_report *report, size_t file_number,
					     const char *namespace_, const char *name);
/* -1: all together have more than LINT_KEPT_BYTES_MAX. `file` must live as long as the report. */
int lint_report_keep_text(struct lint_report *report, const char *file, const char *text,
			  size_t size);

#endif
