/* The state of one pool while it is shared: inside core/share only. Built by share.c; share_fill.c
 * and share_release.c change its sums by share_charge alone. */
#ifndef CORE_SHARE_SHARE_WORK_H
#define CORE_SHARE_SHARE_WORK_H

#include "core/share/share_pool.h"

/* A queue with its sums. */
struct share_account {
	const struct share_queue *queue;
	size_t rank;  /* of its name in the pool */
	bool fell;    /* its usage, by a release; share_fill resets it */
	bool borrows; /* work waits that is larger than the rest of the guarantee */
	int64_t guaranteed, unlent_part; /* in proportion; of it, not lendable */
	int64_t usage;     /* of workers that stay, and of units that are granted or coming */
	int64_t coming;    /* of it, of units that are coming */
	int64_t leaving;   /* of workers that leave, or end in this call */
	int64_t asked;     /* of all units */
	int64_t lasting;   /* of workers with work older than reserve_at_most_ms */
	int64_t elsewhere; /* what it borrows in other pools, scaled to this one; 0: nothing */
	int64_t claim;     /* of its units within the guarantee that do not fit yet */
	const size_t *units;
	size_t unit_count, next_unit;
	const size_t *workers; /* that may end: idle ones, then busy ones */
	size_t worker_count;
	size_t first_worker; /* those before it end already, or can end no more */
	size_t next_worker;  /* of the present trial */
	size_t in_vain;      /* workers that were looked at for units that still do not fit */
	int64_t hopeless;    /* no release helps a unit of this amount, in this step */
};

struct share_work {
	const struct share_pool *pool;
	struct share_result *result;
	struct share_account *accounts; /* parallel to the queues */
	int64_t free;                   /* now; below 0 when the pool became smaller */
	int64_t soon;                   /* when those that leave have left, less what is coming */
	int64_t unlent;                 /* sum of share_unlent */
	int64_t kept;                   /* sum of share_kept */
	int64_t endable[2];             /* sums of the idle and of the busy workers that may end */
	size_t reserved; /* the unit with the reservation, until it is granted or coming */
	bool lends;      /* step 3 */
	bool *wins;      /* clusters with a unit that is granted or coming */
	size_t *picked;  /* has room for all workers */
	bool usage_fell; /* of any account, by a release; share_fill resets it */
};

/* An amount for each unit of weight. */
struct share_fraction {
	int64_t amount, weight;
};

static inline struct share_account *share_account_of(const struct share_work *work, size_t cluster)
{
	return &work->accounts[work->pool->clusters[cluster].queue];
}

/* Exact: an amount times an amount fits 128 bits. */
static inline int share_compare(struct share_fraction a, struct share_fraction b)
{
	__int128 left = (__int128)a.amount * b.weight, right = (__int128)b.amount * a.weight;

	return left < right ? -1 : left > right;
}

/* Its usage beyond the guarantee if it were larger by `more`. */
static inline int64_t share_borrowed(const struct share_account *account, int64_t more)
{
	int64_t borrowed = account->usage + more - account->guaranteed;

	return borrowed > 0 ? borrowed : 0;
}

/* Its share in this pool. */
static inline struct share_fraction share_here(const struct share_account *account)
{
	return (struct share_fraction){ share_borrowed(account, 0), account->queue->weight };
}

/* The largest one of those in all pools if its usage in this one were larger by `more`. */
static inline struct share_fraction share_dominant(const struct share_account *account,
						   int64_t more)
{
	int64_t borrowed = share_borrowed(account, more);

	return (struct share_fraction){
		borrowed > account->elsewhere ? borrowed : account->elsewhere,
		account->queue->weight,
	};
}

/* The part of its guarantee that it keeps unasked, and all that it keeps from borrowers. */
int64_t share_unlent(const struct share_account *account);
int64_t share_kept(const struct share_account *account);
/* Adds to the usage and to the claim of an account. */
void share_charge(struct share_work *work, struct share_account *account, int64_t usage,
		  int64_t claim);
/* The reservation is kept from it, and its workers can be given back sooner than the longest one takes. */
bool share_may_use_reserved(const struct share_work *work, const struct share_account *account);
/* The amount that the reservation keeps from it. */
int64_t share_reserved_from(const struct share_work *work, const struct share_account *account);
/* The part of `free`, now or soon, that a unit of the account may use. */
int64_t share_room(const struct share_work *work, const struct share_account *account,
		   bool guaranteed, int64_t free);

/* For at least reserve_after_ms. */
bool share_waits_long(const struct share_pool *pool, size_t unit);

/* share_fill.c: the steps of the order. */
void share_fill(struct share_work *work, struct arena *arena);

/* share_release.c */
/* Ends workers so that the unit fits soon, takes its place and returns true; or changes nothing. */
bool share_make_room(struct share_work *work, size_t unit, bool guaranteed);
/* Ends idle workers above guarantees while the pool is smaller than the workers that stay. */
void share_shrink(struct share_work *work);

#endif
