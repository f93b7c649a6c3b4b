/* Shared by the parts of the generator: the snapshot that is being drawn. See laws_random.h. */
#ifndef TEST_LAWS_MAKER_H
#define TEST_LAWS_MAKER_H

#include <stdbool.h>

#include "laws_random.h"

#define NOW_MS INT64_C(1795168800000) /* 2026-11-20T10:00:00Z */
#define GROUPS_MAX 8
#define WORKERS_MAX 26

enum kind {
	KIND_BUSY,
	KIND_FREE, /* RUNNING with nothing in use */
	KIND_IDLE,
	KIND_DRAINED,
	KIND_DRAINING, /* something is in use */
	KIND_DEAD_RAYLET,
	KIND_RESTARTED, /* two nodes, the old one dead */
	KIND_STARTING,
	KIND_LATE, /* starting for longer than allowed */
	KIND_PENDING,
	KIND_UNSCHEDULABLE,
	KIND_GATED,
	KIND_FAILED,
	KIND_DELETING,
	KIND_NO_POD, /* a Ray node whose Pod the watch has not seen */
	KIND_UNKNOWN_STATUS,
	KIND_BAD_FIGURES,
	KIND_COUNT
};

/* The malformed or unusual property of a group. */
enum oddity {
	ODD_NOTHING,
	ODD_MINIMUM,
	ODD_SUSPENDED,
	ODD_TIMEOUT,
	ODD_LABELS,
	ODD_CPU,
	ODD_COUNT
};

/* Indices in maker.groups: the group that was removed from the RayCluster follows the others. */
#define HEAD_SHAPE (GROUPS_MAX + 1)

struct shape {
	char name[24];
	int cpu, gpu, memory_gib;
	const char *extra; /* NULL: none */
	int extra_count;
	const char *zone, *market; /* NULL: no such label */
	int hosts, min, max, replicas, pods;
	int seconds_idle; /* -1: not given */
	enum oddity odd;
};

struct worker {
	char name[24];
	int group; /* group_count: a removed one */
	int replica;
	enum kind kind;
};

struct maker {
	struct laws_random random;
	struct buf *out;
	struct shape groups[GROUPS_MAX + 2];
	int group_count;
	struct worker workers[WORKERS_MAX];
	int worker_count;
	int node_count, gang_count;
	bool listed[WORKERS_MAX]; /* in workersToDelete */
	bool strange;             /* malformed and unusual parts are drawn as well */
};

int laws_maker_below(struct maker *m, int limit);
bool laws_maker_one_in(struct maker *m, int chances);

/* One of a list. */
#define PICK_OF(type, m, ...)                                                                      \
	({                                                                                         \
		static const type list_[] = { __VA_ARGS__ };                                       \
		list_[laws_maker_below((m), (int)(sizeof(list_) / sizeof(list_[0])))];             \
	})
#define PICK(m, ...) PICK_OF(int, m, __VA_ARGS__)
#define PICK_WORD(m, ...) PICK_OF(char *const, m, __VA_ARGS__)
#define PICK_PART(m, ...) PICK_OF(double, m, __VA_ARGS__)
#define ADD(m, ...) ((void)buf_printf((m)->out, __VA_ARGS__))

/* Members of an object, as JSON text. A time is `seconds` before now. */
void laws_maker_add_time(struct maker *m, const char *name, int seconds);
void laws_maker_add_labels_of(struct maker *m, const struct shape *s);

/* laws_random_workers.c */
void laws_maker_draw_workers(struct maker *m);
void laws_maker_add_pods(struct maker *m);
void laws_maker_add_events(struct maker *m);
void laws_maker_add_nodes(struct maker *m);
/* laws_random_demand.c */
void laws_maker_add_request_list(struct maker *m, int count);
void laws_maker_add_gang(struct maker *m, int index);

#endif
