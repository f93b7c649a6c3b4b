/* The options that influence a decision. One table makes the members of `settings` in a Snapshot,
 * the long flags of `run`, the help text and docs/OPTIONS.md. Plain data of its declarer;
 * accelerators points into an arena or static memory. The table of the other flags has the same form
 * (ctl/shared/options.h). */
#ifndef CORE_MODEL_SETTINGS_H
#define CORE_MODEL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/kubernetes.h"
#include "feature_model.h"

enum settings_mode { MODE_CONTROLLER = 0, MODE_SIDECAR };
enum settings_packing { PACKING_RAY = 0, PACKING_FEWEST_GPUS, PACKING_CHEAPEST };
enum settings_enforce_max { ENFORCE_MAX_WHEN_IDLE = 0, ENFORCE_MAX_NOW };

/* X(kind, member, name, default, minimum, maximum, unit, help) kind: INTEGER (int64_t), BOOLEAN,
 * CHOICE (int, an enum in the order of the words of `unit`), LIST (struct strings); only of options
 * TEXT (const char *) and DURATION (int64_t in ms) */
#define SETTINGS_TABLE(X)                                                                          \
	X(INTEGER, idle_timeout_seconds, "idle-timeout-seconds", 60, 0, 31536000, "seconds",       \
	  "a worker that is idle longer than this is terminated")                                  \
	X(CHOICE, mode, "mode", MODE_CONTROLLER, 0, 1, "controller|sidecar",                       \
	  "how it runs; --cluster-name sets sidecar")                                              \
	X(CHOICE, packing, "packing", PACKING_RAY, 0, 2, "ray|fewest-gpus|cheapest",               \
	  "how new workers are chosen")                                                            \
	X(LIST, accelerators, "accelerators", 0, 0, 0, "names",                                    \
	  "further resource names that count as accelerators")                                     \
	X(BOOLEAN, conserve_accelerators, "conserve-accelerators", true, 0, 1, "true|false",       \
	  "demand without accelerators starts accelerator workers last")                           \
	X(BOOLEAN, keep_for_placement_groups, "keep-for-placement-groups", true, 0, 1,             \
	  "true|false", "idle workers stay for a placement group that waits for running work")     \
	X(INTEGER, max_starting_workers, "max-starting-workers", 0, 0, 1000000, "workers",         \
	  "limit on launched workers that are not registered, 0: none")                            \
	X(INTEGER, node_provision_timeout_seconds, "node-provision-timeout-seconds", 900, 0,       \
	  31536000, "seconds", "how long an unschedulable Pod may wait for a node")                \
	X(INTEGER, start_timeout_seconds, "start-timeout-seconds", 1200, 0, 31536000, "seconds",   \
	  "how long a Pod may take until its raylet has registered")                               \
	X(INTEGER, gang_hold_seconds, "gang-hold-seconds", 1200, 0, 31536000, "seconds",           \
	  "how long a part of a placement group or replica waits for the rest, 0: without end")    \
	X(INTEGER, raylet_gone_seconds, "raylet-gone-seconds", 60, 0, 31536000, "seconds",         \
	  "a running Pod with a dead raylet is recycled after this")                               \
	X(INTEGER, unregistered_seconds, "unregistered-seconds", 30, 1, 31536000, "seconds",       \
	  "a surplus Pod that runs unregistered for this long is terminated")                      \
	X(INTEGER, cancel_launch_seconds, "cancel-launch-seconds", 60, 0, 31536000, "seconds",     \
	  "a launch that nothing needs for this long is cancelled")                                \
	X(INTEGER, backoff_initial_seconds, "backoff-initial-seconds", 10, 1, 86400, "seconds",    \
	  "first backoff of a group without capacity")                                             \
	X(INTEGER, backoff_max_seconds, "backoff-max-seconds", 600, 1, 86400, "seconds",           \
	  "longest backoff of a group")                                                            \
	X(INTEGER, stuck_demand_seconds, "stuck-demand-seconds", 15, 0, 86400, "seconds",          \
	  "demand that fits but stays pending this long gets a new worker")                        \
	X(INTEGER, state_max_age_seconds, "state-max-age-seconds", 3, 1, 86400, "seconds",         \
	  "a GCS reply older than this counts as no reply")                                        \
	X(CHOICE, enforce_max, "enforce-max", ENFORCE_MAX_WHEN_IDLE, 0, 1, "when-idle|now",        \
	  "how workers above maxReplicas are terminated")                                          \
	X(INTEGER, max_gpus_per_cluster, "max-gpus-per-cluster", 0, 0, 1000000, "GPUs",            \
	  "GPU quota of a cluster, 0: none")                                                       \
	FEATURE_SETTINGS(X)

#define SETTINGS_TYPE_INTEGER int64_t
#define SETTINGS_TYPE_BOOLEAN bool
#define SETTINGS_TYPE_CHOICE int
#define SETTINGS_TYPE_LIST struct strings
#define SETTINGS_TYPE_TEXT const char *
#define SETTINGS_TYPE_DURATION int64_t

struct settings {
#define X(kind, member, name, initial, minimum, maximum, unit, help) SETTINGS_TYPE_##kind member;
	SETTINGS_TABLE(X)
#undef X
};

enum settings_kind {
	SETTINGS_INTEGER,
	SETTINGS_BOOLEAN,
	SETTINGS_CHOICE,
	SETTINGS_LIST,
	SETTINGS_TEXT,
	SETTINGS_DURATION,
};

/* One row of a table, for decoders and help. */
struct settings_row {
	enum settings_kind kind;
	const char *name;         /* "idle-timeout-seconds" */
	const char *initial_text; /* of a TEXT */
	int64_t initial, minimum, maximum;
	const char *unit; /* for CHOICE: the words, "ray|fewest-gpus", in the order of the enum */
	const char *help;
	size_t offset; /* of the member in its struct */
};

#define SETTINGS_NUMBER_INTEGER(value) (value)
#define SETTINGS_NUMBER_BOOLEAN(value) (value)
#define SETTINGS_NUMBER_CHOICE(value) (value)
#define SETTINGS_NUMBER_LIST(value) (value)
#define SETTINGS_NUMBER_TEXT(value) 0
#define SETTINGS_NUMBER_DURATION(value) (value)
#define SETTINGS_WORD_INTEGER(value) ""
#define SETTINGS_WORD_BOOLEAN(value) ""
#define SETTINGS_WORD_CHOICE(value) ""
#define SETTINGS_WORD_LIST(value) ""
#define SETTINGS_WORD_TEXT(value) (value)
#define SETTINGS_WORD_DURATION(value) ""
/* The row of an X for a member of the struct T. */
#define SETTINGS_ROW(T, kind, member, name, initial, minimum, maximum, unit, help)                 \
	{ SETTINGS_##kind,                                                                         \
	  name,                                                                                    \
	  SETTINGS_WORD_##kind(initial),                                                           \
	  SETTINGS_NUMBER_##kind(initial),                                                         \
	  minimum,                                                                                 \
	  maximum,                                                                                 \
	  unit,                                                                                    \
	  help,                                                                                    \
	  offsetof(T, member) },

void settings_init(struct settings *settings); /* the defaults */
/* Those of any rows. */
void settings_rows_init(const struct settings_row *all, size_t count, void *object);
const struct settings_row *settings_rows(size_t *ret_count);
const struct settings_row *settings_row_find(const char *name); /* NULL when unknown */
/* The value of a word of a CHOICE row; -1 for other words. */
int settings_choice_value(const struct settings_row *row, const char *word);
/* The word of a value of a CHOICE row: the first *ret_size bytes. */
const char *settings_choice_word(const struct settings_row *row, int64_t value, size_t *ret_size);

#endif
