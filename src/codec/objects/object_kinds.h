/* The objects of a feature in files that a program checks together: FEATURE_OBJECT_KINDS. Results live in the arena. */
#ifndef CODEC_OBJECTS_OBJECT_KINDS_H
#define CODEC_OBJECTS_OBJECT_KINDS_H

#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/object_rule.h"

struct cJSON;

/* A wrong name of a member in the spec; the last one has no names. */
struct object_cure {
	const char *names, *cure; /* separated by blanks, which they begin and end with */
};

/* A worker group that is compared with objects of all files. */
struct object_kept_group {
	const char *namespace_, *name, *path;
	const struct pod_spec *spec;
	int64_t min_gpus; /* 1/10000, of its minReplicas */
};

struct object_kinds {
	/* A kind of rayscaler.dev in no namespace, which is checked as a whole; NULL: none. */
	const char *kind;
	const struct field *fields;
	const struct object_cure *cures;
	size_t state_size; /* of `state`, one for all files, zero before the first object */
	/* An object of the files: those of `kind` and of kinds that nothing else checks. False: it is not of the
	 * feature. */
	bool (*add)(void *state, const struct cJSON *object, const char *kind,
		    const char *api_version, struct arena *arena, struct object_problems *problems);
	/* When all are added, one of `kind`. -1: it cannot be decoded. */
	int (*check)(void *state, const struct cJSON *object, struct arena *arena,
		     struct object_problems *problems, struct err *err);
	/* The device table with the claims of the files; NULL: unchanged. */
	const struct device_table *(*count)(const void *state, const struct device_table *devices,
					    struct arena *arena);
	/* Whether the rules of `group` are about it, and the end of its path there. */
	bool (*keeps)(const struct worker_group *group, const struct device_table *devices);
	const char *group_path;
	/* When all are added and checked. */
	void (*group)(void *state, const struct object_kept_group *group, struct arena *arena,
		      struct object_problems *problems);
};

#endif
