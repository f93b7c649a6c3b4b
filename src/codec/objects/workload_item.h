/* Builds a workload from its items, each a JSON tree; used by the readers of files
 * (codec/objects/workload_file and workload_csv) only. Items with equal bundles share them. */
#ifndef CODEC_OBJECTS_WORKLOAD_ITEM_H
#define CODEC_OBJECTS_WORKLOAD_ITEM_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "codec/text/json.h"
#include "core/model/workload.h"

#define WORKLOAD_ITEMS_MAX 2000000
/* Of one item, and of all together: a simulation holds the state of each one that has not ended. */
#define WORKLOAD_COUNT_MAX INT64_C(10000000)
#define WORKLOAD_BUNDLES_MAX 10000
#define WORKLOAD_SUBMIT_MAX_MS (INT64_C(10) * 366 * 86400 * 1000)

struct built_item {
	struct work_item item;
	/* submit_ms is a point in time: since 1970, or since whenever the file counts from. */
	bool absolute;
};

struct workload_builder {
	struct arena *arena; /* of the workload */
	/* A number of `submit` counts from the earliest one, as in traces; else from 0. */
	bool numbers_absolute;
	struct arena list;    /* of `items` */
	struct arena scratch; /* of one item */
	VEC(struct built_item) items;
	int64_t total;      /* sum of the counts */
	struct map bundles; /* text of bundles: struct shared_bundles */
	struct map names;   /* of jobs and clusters: the copy in the arena */
	struct buf key;
	const char *cluster;  /* of the items that name none; NULL: none */
	const char *left_out; /* as of the workload */
};

void workload_builder_init(struct workload_builder *builder, struct arena *arena);
void workload_builder_done(struct workload_builder *builder);

/* Adds the item at `at`. The reader's arena must be &builder->scratch; -1 with the reader's error,
 * its failed_path then names the member. Strings in the scratch arena are invalid afterwards, but
 * not those of an error. */
int workload_builder_add(struct workload_builder *builder, const struct json_at *at);

/* Shifts points in time to the earliest one, and sorts. ERR_INPUT: there is no item, or one is too
 * late. */
int workload_builder_finish(struct workload_builder *builder, struct workload *ret_workload,
			    struct err *err);

/* An RFC 3339 time ("absolute"; also with a space and without a zone, then UTC), or a duration. */
int workload_time_parse(const char *text, int64_t *ret_ms, bool *ret_absolute,
			const char **ret_problem);

#endif
