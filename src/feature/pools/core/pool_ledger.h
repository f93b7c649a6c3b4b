/* The knowledge that pools have of each RayCluster from one allocation to the next: what it holds, with its patches in
 * flight, what it asks for and since when, what is granted to it and whether a patch has used that, which of its
 * workers are drained. One ledger for the controller, the simulation and the laws; they decide when it is
 * allocated. Pure: objects and times are arguments; on the heap. */
#ifndef FEATURE_POOLS_CORE_POOL_LEDGER_H
#define FEATURE_POOLS_CORE_POOL_LEDGER_H

#include "base/list.h"
#include "feature/pools/core/pool_allocation.h"

struct pool_patch; /* in flight, without an answer, or accepted and not yet in the objects */

/* A value in a block of its size. */
struct pool_kept {
	struct arena_block *block;
	void *value; /* NULL: none */
};

/* One RayCluster, or Pods whose label names a RayCluster. */
struct pool_entry {
	struct pool_ledger *ledger;
	const char *namespace_, *key; /* the caller's; key: "namespace/name" */
	/* struct pool_member, pool_asks, pool_drains, and pool_report of its last decision. */
	struct pool_kept member, asks, drains, report;
	struct pool_patch *patches; /* the newest first */
	char *sent_uid;             /* uid for the generation; NULL: no patch yet */
	size_t index;               /* in the last allocation; SIZE_MAX: it is not there */
	uint64_t digest;  /* of its share of the last allocation; 0: a patch has used it */
	uint64_t located; /* free_version for which the Nodes of its Pods were found; 0: none */
	bool draws;       /* it holds GPUs of a pool or may ask for some */
	bool spent;       /* its grants of the last allocation are used by a patch */
	bool changed;     /* to be counted again */
	bool unreadable; /* nothing is known of it: it holds its last amount, and asks for nothing */
	struct list_item item, open;
};

struct pool_ledger {
	/* The caller's, before the first entry. */
	const struct settings *settings;
	/* NULL: the namespace is not known. */
	const struct labels *(*namespace_labels)(void *context, const char *namespace_);
	void *context;
	/* The entry's share of this allocation is another one than before. */
	void (*changed)(struct pool_entry *entry);
	const struct device_table *devices; /* now */
	/* Of pool_ledger_set_pools: */
	const struct gpu_pool *const *pools; /* by name, that of the flags last */
	size_t pool_count;
	int64_t *capacities;     /* by pool; the caller's, as in a pool_input */
	struct pool_past *pasts; /* by pool */
	__int128 *held;          /* by pool: the sum of all entries */
	struct pool_room free;   /* the caller's */
	uint64_t free_version;   /* of the Nodes in it; 0: they are not known */
	struct list entries;
	struct list open; /* entries that changed, or have patches in flight */
	struct pool_entry *
		*drawing; /* the entries that draw, sorted by key; NULL: to be listed again */
	size_t drawing_count;
	struct arena arena;                       /* of the last allocation */
	const struct pool_allocation *allocation; /* NULL: none yet */
	/* Values of its entries that were replaced since. */
	struct arena replaced_arena;
	VEC(struct arena) replaced;
};

/* After the last entry. */
void pool_ledger_done(struct pool_ledger *ledger);
/* Other pools, which live as long: all entries are open, and hold nothing until they are counted. The pasts of
 * pools with the same name stay. */
void pool_ledger_set_pools(struct pool_ledger *ledger, const struct gpu_pool *const *pools,
			   size_t count);
/* Shares the pools between all entries, none of which is `changed`. Of the input the caller sets stopped, settling,
 * empty_queues, kueue_refused, per_namespace and now. */
void pool_ledger_allocate(struct pool_ledger *ledger, const struct pool_input *input);
/* Takes over the memory of a value that the last allocation may use. context: the entry. */
void pool_entry_drop_arena(void *context, struct arena arena);

void pool_entry_add(struct pool_ledger *ledger, struct pool_entry *entry, const char *namespace_,
		    const char *key);
void pool_entry_remove(struct pool_entry *entry);

/* The objects of one RayCluster. */
struct pool_entry_objects {
	const struct ray_cluster *cluster;
	const struct pool_groups *groups; /* NULL: not known, or there is no cluster */
	const struct pod *const *pods;
	size_t pod_count;
	bool in_kueue;
};

void pool_entry_note_change(struct pool_entry *entry);
/* Its GPUs are those of these objects, and of patches that they do not show yet. unreadable: there is a
 * RayCluster, but none of its objects is given. */
void pool_entry_count(struct pool_entry *entry, const struct pool_entry_objects *objects,
		      bool unreadable);
/* Patches that were not accepted by then have no effect any more. */
void pool_entry_expire_patches(struct pool_entry *entry, int64_t now_ms);
/* 1/10000 GPU. */
int64_t pool_entry_held(const struct pool_entry *entry, size_t pool);

/* A decision was made: its report, and its asks, the first time with the places in the statuses of the pools.
 * knows_demand: false while Ray does not answer, when earlier asks keep their places. True: something differs. */
bool pool_entry_note_plan(struct pool_entry *entry, const struct plan *plan,
			  const struct ray_cluster *cluster, bool knows_demand, time_ms now);
/* It is not scaled, so it asks for nothing. */
void pool_entry_note_unscaled(struct pool_entry *entry);

/* The terms of the last allocation; of one that it does not have, or not with these groups, nothing is granted yet. */
const struct pool_terms *pool_entry_terms(const struct pool_entry *entry,
					  const struct pool_entry_objects *objects,
					  struct arena *arena);
/* The last allocation does not have it, or its grants are used and it asks for more. */
bool pool_entry_is_outdated(const struct pool_entry *entry);
/* Whether a patch to these replicas, by group, is within its grants, and within the pools with all patches in
 * flight. One that adds nothing is. */
bool pool_entry_fits(const struct pool_entry *entry, const struct pool_entry_objects *objects,
		     const int64_t *replicas);
/* A patch is sent: it uses the grants, and counts until it is refused or shown, or until_ms. */
void pool_entry_sent(struct pool_entry *entry, const struct ray_cluster *cluster,
		     const int64_t *replicas, int64_t until_ms);
/* A patch that is not counted has used the grants. */
void pool_entry_spend(struct pool_entry *entry);
/* generation: that the RayCluster has by the newest patch; INT64_MAX: not known. */
void pool_entry_accepted(struct pool_entry *entry, int64_t generation);
void pool_entry_refused(struct pool_entry *entry);
/* An accepted patch has launched so many replicas of each group, which are asked for no longer. */
void pool_entry_launched(struct pool_entry *entry, const int64_t *launched, size_t group_count);

#endif
