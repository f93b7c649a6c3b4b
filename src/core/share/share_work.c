#include "core/share/share_work.h"

int64_t share_unlent(const struct share_account *account)
{
	return account->unlent_part > account->usage ? account->unlent_part - account->usage : 0;
}

int64_t share_kept(const struct share_account *account)
{
	int64_t unlent = share_unlent(account);

	return account->claim > unlent ? account->claim : unlent;
}

void share_charge(struct share_work *work, struct share_account *account, int64_t usage,
		  int64_t claim)
{
	work->unlent -= share_unlent(account);
	work->kept -= share_kept(account);
	account->usage += usage;
	account->claim += claim;
	work->soon -= usage;
	work->unlent += share_unlent(account);
	work->kept += share_kept(account);
}

/* The reservation is kept from it. */
static bool is_after_reserved(const struct share_work *work, const struct share_account *account)
{
	const struct share_account *owner =
		share_account_of(work, work->pool->units[work->reserved].cluster);

	return owner != account && owner->claim == 0 &&
	       account->queue->priority <= owner->queue->priority &&
	       (account->queue->priority < owner->queue->priority ||
		share_compare(share_here(account), share_here(owner)) >= 0);
}

bool share_may_use_reserved(const struct share_work *work, const struct share_account *account)
{
	int64_t notice = account->queue->drain_after_ms, most = work->pool->reserve_at_most_ms;

	return !work->pool->units[work->reserved].unlent && is_after_reserved(work, account) &&
	       notice >= 0 && (most == 0 || notice < most);
}

/* Without what is kept for its queue anyway, in `kept`: a claim, or a part of the guarantee that it will use. */
int64_t share_reserved_from(const struct share_work *work, const struct share_account *account)
{
	const struct share_unit *unit;

	if (work->reserved == SHARE_NONE || work->lends || !is_after_reserved(work, account))
		return 0;
	unit = &work->pool->units[work->reserved];
	return unit->amount - share_unlent(share_account_of(work, unit->cluster));
}

int64_t share_room(const struct share_work *work, const struct share_account *account,
		   bool guaranteed, int64_t free)
{
	if (guaranteed)
		return free - (work->unlent - share_unlent(account));
	return free - (work->kept - share_kept(account)) - share_reserved_from(work, account);
}

bool share_waits_long(const struct share_pool *pool, size_t unit)
{
	return pool->reserve_after_ms >= 0 &&
	       pool->now_ms - pool->units[unit].since_ms >= pool->reserve_after_ms;
}
