#include "feature/pools/core/pool_asks.h"

#include <string.h>

#include "base/int64.h"
#include "base/map.h"
#include "base/sort.h"

const struct pool_asks pool_asks_unknown;

static const struct field part_fields[] = {
	FIELD_COUNT(struct pool_ask_part, group, "group"),
	FIELD_INTEGER(struct pool_ask_part, replicas, "replicas"),
	FIELD_END,
};

static const struct field waiting_fields[] = {
	FIELD_LIST(struct pool_waiting, parts, part_count, part_fields, "parts"),
	FIELD_TEXT(struct pool_waiting, groups, "groups"),
	FIELD_INTEGER(struct pool_waiting, count, "count"),
	FIELD_TIME(struct pool_waiting, since, "since"),
	FIELD_BOOLEAN(struct pool_waiting, requested, "requested"),
	FIELD_END,
};

const struct field pool_asks_fields[] = {
	FIELD_VEC(struct pool_asks, list, waiting_fields, "list"),
	FIELD_INTEGER(struct pool_asks, unconfirmed_since, "unconfirmedSince"),
	FIELD_INTEGER(struct pool_asks, rests_until, "restsUntil"),
	FIELD_END,
};

/* Of a gang with the replicas that it has: it keeps its place when they end while it waits. */
static const char *groups_text(const struct pool_ask *ask, const struct ray_cluster *cluster,
			       struct arena *arena)
{
	const char *text = "";

	VEC_EACH(const struct pool_ask_part, part, &ask->parts)
		text = arena_printf(arena, "%s%s%s*%lld", text, text[0] ? "," : "",
				    cluster->groups[part->group].name,
				    (long long)(part->replicas + part->there));
	return text;
}

/* The times of the equal asks before, oldest first. */
struct times {
	VEC(struct pool_waiting) at;
	size_t next;
	int64_t used; /* of the next one */
};

static int by_age(const void *left, const void *right)
{
	const struct pool_waiting *a = left;
	const struct pool_waiting *b = right;

	return (a->since > b->since) - (a->since < b->since);
}

static struct times times_of(const char *groups, const struct pool_asks *old, struct arena *arena)
{
	struct times times = { .next = 0 };

	if (!old)
		return times;
	for (size_t i = 0; i < old->list.count; i++)
		if (strcmp(old->list.at[i].groups, groups) == 0)
			VEC_PUSH(arena, &times.at, old->list.at[i]);
	sort_stable(times.at.at, times.at.count, sizeof(*times.at.at), by_age);
	return times;
}

static void add_ask(struct pool_asks *asks, const struct pool_ask *ask, const char *groups,
		    struct times *times, time_ms now, struct arena *arena)
{
	int64_t left = ask->count;

	while (left > 0 && asks->list.count < POOL_ASKS_MAX) {
		struct pool_waiting entry = { .parts = ask->parts.at,
					      .part_count = ask->parts.count,
					      .groups = groups,
					      .count = left,
					      .since = now,
					      .granted_since = TIME_NONE,
					      .gang = ask->gang,
					      .requested = ask->requested };

		if (times->next < times->at.count) {
			const struct pool_waiting *time = &times->at.at[times->next];
			int64_t there = time->count - times->used;

			entry.since = time->since < now ? time->since : now;
			entry.granted_since = time->granted_since;
			entry.gpus = time->gpus;
			if (there <= left) {
				entry.count = there;
				times->next++;
				times->used = 0;
			} else {
				times->used += left;
			}
		}
		if (entry.count > 0)
			VEC_PUSH(arena, &asks->list, entry);
		left -= entry.count;
	}
}

static void keep_use(struct pool_asks *asks, const struct pool_asks *old)
{
	asks->held_since = old->held_since;
	asks->wasted_until = old->wasted_until;
	asks->wasted = old->wasted;
}

const struct pool_asks *pool_asks_update(const struct pool_asks *old, const struct pool_ask *asks,
					 size_t ask_count, const struct ray_cluster *cluster,
					 time_ms now, struct arena *arena)
{
	struct pool_asks *ret = ARENA_NEW(arena, struct pool_asks);
	struct map seen = MAP_INIT; /* groups to struct times */

	for (size_t i = 0; i < ask_count; i++) {
		const char *groups = groups_text(&asks[i], cluster, arena);
		struct times *times = map_get(&seen, groups);

		if (!times) {
			const struct times found = times_of(groups, old, arena);

			times = ARENA_COPY(arena, &found, 1);
			map_set(&seen, groups, times);
		}
		add_ask(ret, &asks[i], groups, times, now, arena);
	}
	map_done(&seen);
	if (old) {
		ret->rests_until = old->rests_until;
		ret->unused = old->unused;
		keep_use(ret, old);
	}
	return ret;
}

#define REST_DOUBLINGS_MAX 8

struct pool_asks pool_asks_unconfirmed(const struct pool_asks *asks, time_ms now)
{
	struct pool_asks ret = *asks;

	if (ret.unconfirmed_since == 0)
		ret.unconfirmed_since = now;
	return ret;
}

/* The end of a rest that is twice as long after each time. */
static time_ms rest_until(time_ms now, int64_t rest_ms, int64_t times)
{
	return now + (rest_ms << (times < REST_DOUBLINGS_MAX ? times : REST_DOUBLINGS_MAX));
}

void pool_asks_unused(struct pool_asks *asks, time_ms now)
{
	asks->rests_until = rest_until(now, POOL_ASK_REST_MS, asks->unused++);
}

void pool_asks_use(struct pool_asks *asks, bool held, bool busy, bool others, time_ms now)
{
	if (busy) {
		asks->held_since = POOL_ASK_USED;
		asks->wasted = 0;
	} else if (held && asks->held_since == 0 && others) {
		asks->held_since = now;
	} else if (!held) {
		if (asks->held_since > 0)
			asks->wasted_until = int64_min(
				rest_until(now, POOL_ASK_WASTE_TIMES * (now - asks->held_since),
					   asks->wasted++),
				now + POOL_ASK_WASTE_MAX_MS);
		asks->held_since = 0;
	}
}

static time_ms unconfirmed_after(const struct pool_asks *asks)
{
	return asks->unconfirmed_since > 0 ? asks->unconfirmed_since + POOL_ASK_CONFIRM_MS :
					     INT64_MAX;
}

bool pool_asks_rest(const struct pool_asks *asks, time_ms now)
{
	return now < asks->rests_until || now >= unconfirmed_after(asks);
}

time_ms pool_asks_next(const struct pool_asks *asks, time_ms now)
{
	time_ms next = INT64_MAX;

	VEC_EACH(const struct pool_waiting, ask, &asks->list)
		if (ask->granted_since != TIME_NONE &&
		    ask->granted_since + POOL_ASK_UNUSED_MS < next)
			next = ask->granted_since + POOL_ASK_UNUSED_MS;
	if (asks->list.count == 0)
		return next;
	if (asks->rests_until > now && asks->rests_until < next)
		next = asks->rests_until;
	if (asks->wasted_until > now && asks->wasted_until < next)
		next = asks->wasted_until;
	if (unconfirmed_after(asks) > now && unconfirmed_after(asks) < next)
		next = unconfirmed_after(asks);
	return next;
}

static bool take(const struct pool_waiting *entry, int64_t *left, size_t group_count)
{
	for (size_t p = 0; p < entry->part_count; p++)
		if (entry->parts[p].group >= group_count ||
		    left[entry->parts[p].group] < entry->parts[p].replicas)
			return false;
	for (size_t p = 0; p < entry->part_count; p++)
		left[entry->parts[p].group] -= entry->parts[p].replicas;
	return entry->part_count > 0;
}

const struct pool_asks *pool_asks_launched(const struct pool_asks *asks, const int64_t *launched,
					   size_t group_count, struct arena *arena)
{
	struct pool_asks *ret = ARENA_NEW(arena, struct pool_asks);
	int64_t *left = ARENA_COPY(arena, launched, group_count);
	bool launched_any = false;

	ret->unconfirmed_since = asks->unconfirmed_since;
	keep_use(ret, asks);
	VEC_EACH(const struct pool_waiting, old, &asks->list) {
		struct pool_waiting entry = *old;

		while (entry.count > 0 && take(&entry, left, group_count))
			entry.count--;
		launched_any |= entry.count < old->count;
		if (entry.count > 0)
			VEC_PUSH(arena, &ret->list, entry);
	}
	if (!launched_any) {
		ret->rests_until = asks->rests_until;
		ret->unused = asks->unused;
		return ret;
	}
	VEC_EACH(struct pool_waiting, entry, &ret->list)
		entry->granted_since = TIME_NONE;
	return ret;
}
