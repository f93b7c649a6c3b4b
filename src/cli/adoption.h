/* The lines of spec.autoscalerOptions that park the container `autoscaler` of a RayCluster for a
 * rayscaler controller, and their removal, as a diff and as a JSON Patch. Pure; sends nothing. */
#ifndef CLI_ADOPTION_H
#define CLI_ADOPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* One member of autoscalerOptions; its values are JSON text, NULL: none. */
struct adoption_line {
	const char *member, *before, *after;
};

struct adoption {
	struct ray_cluster cluster;
	const char *options;           /* spec.autoscalerOptions as JSON text; NULL: none */
	bool empties;                  /* nothing else is in autoscalerOptions */
	struct adoption_line lines[5]; /* that change */
	size_t line_count;
	const char *kept;      /* release: resources of the user that remain; NULL: none */
	const char *unchanged; /* why no line changes; NULL: some do */
	bool refused;          /* with unchanged: the user has something to do first */
	bool head_is_older;    /* with unchanged: the head Pod does not have the lines yet */
	bool head_is_unknown;  /* with unchanged: it may be so */
	bool sets_pull_period; /* the head sets how often its GCS asks for demand; release: true */
};

/* The adoption of a RayCluster, or its release. ERR_INPUT when the object cannot be read. Lives in
 * the arena; nothing points into the tree. */
int adoption_make(const struct cJSON *json, bool release, struct arena *arena,
		  struct adoption *ret_adoption, struct err *err);
/* For lines that are there: whether the head Pod, made before them, still lacks them. pod NULL: it
 * cannot be read. */
void adoption_compare_head(struct adoption *adoption, bool release, const struct pod *pod);
/* The lines as a diff, and what the recreation of the head Pod means for the user's jobs. */
void adoption_write_text(const struct adoption *adoption, struct buf *buf);
/* Its first operation tests that autoscalerOptions is what the diff was made from. */
void adoption_write_patch(const struct adoption *adoption, struct buf *buf);

#endif
