#include "kube/kube_lease.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/lease_json.h"
#include "codec/text/json.h"
#include "codec/text/rfc3339.h"
#include "net/backoff.h"
#include "net/loop.h"

#define KUBE_LEASE_JITTER_PARTS 5 /* a follower's period is up to a fifth shorter */
#define KUBE_LEASE_WHY_SIZE 512

enum kube_lease_state {
	KUBE_LEASE_FOLLOWING = 1,
	KUBE_LEASE_LEADING,
	KUBE_LEASE_LOST,
	KUBE_LEASE_RELEASING,
	KUBE_LEASE_RELEASED,
};

struct kube_lease {
	struct kube_client *client;
	struct kube_lease_options options;
	char *namespace_, *name, *identity;
	enum kube_lease_state state;
	struct kube_call *call; /* NULL: waiting for the timer */
	struct loop_timer *retry, *deadline;
	/* The Lease as last seen or written; its texts are in the arena. Times are loop_boot_ms. */
	struct arena arena;
	struct lease seen;
	bool known; /* `seen` was read or written */
	int64_t seen_ms;
	/* The record of another holder was deleted from the API server. */
	bool vanished;
	int64_t created_ms; /* then: when we sent our own record */
	bool writing;       /* the call is a write */
	int64_t sent_ms;    /* when it was sent */
	int64_t renewed_ms; /* when the last write that succeeded was sent */
	struct err last_err;
	void (*released)(void *context, const struct err *err);
	void *released_context;
};

static void kube_lease_read(struct kube_lease *lease);

/* --- time --- */

static bool kube_lease_in_time(const struct kube_lease *lease)
{
	return loop_boot_ms() - lease->renewed_ms < lease->options.renew_deadline_ms;
}

bool kube_lease_held(const struct kube_lease *lease)
{
	return lease->state == KUBE_LEASE_LEADING && kube_lease_in_time(lease);
}

int64_t kube_lease_held_until_ms(const struct kube_lease *lease)
{
	if (lease->state != KUBE_LEASE_LEADING)
		return 0;
	return lease->renewed_ms + lease->options.renew_deadline_ms;
}

const char *kube_lease_holder(const struct kube_lease *lease)
{
	return lease->seen.holder;
}

static bool kube_lease_is_ours(const struct kube_lease *lease)
{
	return !strcmp(lease->seen.holder, lease->identity);
}

/* Time until the record that was seen expires; 0 and below: it has expired. A holder without a
 * duration, or with one above our maximum, is assumed to have our options. */
static int64_t kube_lease_left_ms(const struct kube_lease *lease)
{
	int64_t duration_ms = lease->seen.duration_seconds * MS_PER_SECOND;

	if (duration_ms <= 0 || duration_ms > KUBE_LEASE_DURATION_MAX_MS)
		duration_ms = lease->options.lease_duration_ms;
	return lease->seen_ms + duration_ms - loop_boot_ms();
}

/* at_least_ms: Retry-After of the server. */
static void kube_lease_wait(struct kube_lease *lease, int64_t at_least_ms)
{
	int64_t rest_ms = lease->options.renew_deadline_ms / 2;
	int64_t wait_ms = lease->options.retry_period_ms, left_ms;

	if (lease->state == KUBE_LEASE_FOLLOWING) {
		/* Spreads several followers, so that they do not read and take over in step. */
		wait_ms -= backoff_jitter_ms(wait_ms / KUBE_LEASE_JITTER_PARTS);
		left_ms = kube_lease_left_ms(lease);
		/* A record that has expired could not be taken over: wait the whole period. */
		if (lease->known && lease->seen.holder[0] && left_ms > 0 && left_ms < wait_ms)
			wait_ms = left_ms;
	}
	if (at_least_ms < rest_ms)
		rest_ms = at_least_ms;
	loop_timer_start(lease->retry, wait_ms > rest_ms ? wait_ms : rest_ms);
}

/* --- ends --- */

static void kube_lease_quiet(struct kube_lease *lease)
{
	kube_client_cancel(steal(&lease->call));
	loop_timer_stop(lease->retry);
	loop_timer_stop(lease->deadline);
}

static void kube_lease_lose(struct kube_lease *lease, const char *why)
{
	kube_lease_quiet(lease);
	lease->state = KUBE_LEASE_LOST;
	lease->options.on_lost(lease->options.context, why);
}

static void kube_lease_end_release(struct kube_lease *lease, const struct err *err)
{
	kube_lease_quiet(lease);
	lease->state = KUBE_LEASE_RELEASED;
	lease->released(lease->released_context, err);
}

static void kube_lease_on_deadline(void *context)
{
	struct kube_lease *lease = context;
	char why[KUBE_LEASE_WHY_SIZE];
	struct err err;

	if (lease->state == KUBE_LEASE_RELEASING) {
		err_set(&err, ERR_TIMEOUT, "no answer within %lld ms",
			(long long)lease->options.renew_deadline_ms);
		kube_lease_end_release(lease, &err);
		return;
	}
	snprintf(why, sizeof(why), "it was not renewed for %lld ms: %.400s",
		 (long long)(loop_boot_ms() - lease->renewed_ms),
		 lease->last_err.kind ? lease->last_err.text : "this process was stopped");
	kube_lease_lose(lease, why);
}

/* A try failed. */
static void kube_lease_fail(struct kube_lease *lease, const struct err *err, int64_t retry_after_ms)
{
	if (lease->state == KUBE_LEASE_RELEASING) {
		kube_lease_end_release(lease, err);
		return;
	}
	lease->last_err = *err;
	lease->options.on_error(lease->options.context, err);
	kube_lease_wait(lease, retry_after_ms);
}

/* --- the record that was read --- */

static int kube_lease_decode(const struct kube_answer *answer, struct arena *arena,
			     struct lease *ret_seen, struct err *err)
{
	static const struct json_limits limits = {
		.bytes = KUBE_LEASE_BODY_MAX, .depth = 50, .elements = 20000, .foreign = true
	};
	AUTO(json_done) struct cJSON *json = NULL;

	if (json_parse(answer->body, answer->body_size, &limits, &json, err) < 0)
		return -1;
	return lease_decode(json, "", arena, ret_seen, err);
}

/* Takes ownership of `seen` and its arena. The time is updated only when the record has changed:
 * the record of a dead holder does not change. */
static void kube_lease_note(struct kube_lease *lease, struct arena *arena, const struct lease *seen)
{
	bool same = lease->known && lease_same(&lease->seen, seen);
	bool new_holder = strcmp(lease->seen.holder, seen->holder) != 0;

	arena_done(&lease->arena);
	lease->arena = *arena;
	*arena = ARENA_INIT;
	lease->seen = *seen;
	lease->known = true;
	if (!same)
		lease->seen_ms = loop_boot_ms();
	if (new_holder && lease->state != KUBE_LEASE_RELEASING)
		lease->options.on_holder(lease->options.context, lease->seen.holder);
}

/* --- writing --- */

static void kube_lease_leads(struct kube_lease *lease)
{
	bool new_leader = lease->state == KUBE_LEASE_FOLLOWING;
	int64_t left_ms = lease->renewed_ms + lease->options.renew_deadline_ms - loop_boot_ms();

	lease->last_err.kind = ERR_NONE;
	lease->state = KUBE_LEASE_LEADING;
	loop_timer_start(lease->deadline, left_ms);
	kube_lease_wait(lease, 0);
	if (new_leader)
		lease->options.on_leading(lease->options.context);
	lease->options.on_good(lease->options.context);
}

static void kube_lease_follow(struct kube_lease *lease)
{
	lease->options.on_good(lease->options.context);
	kube_lease_wait(lease, 0);
}

/* The lead of a holder does not end with a Lease that vanished: it creates the Lease again, or sees
 * ours, or its time has expired. So ours has to last that long before we lead. */
static bool kube_lease_is_proven(const struct kube_lease *lease)
{
	return lease->state == KUBE_LEASE_LEADING || !lease->vanished ||
	       loop_boot_ms() - lease->created_ms > lease->options.renew_deadline_ms;
}

static void kube_lease_wrote(struct kube_lease *lease, struct arena *arena,
			     const struct lease *seen)
{
	int64_t previous_ms = lease->renewed_ms;
	struct err err;

	kube_lease_note(lease, arena, seen);
	if (lease->state == KUBE_LEASE_RELEASING) {
		kube_lease_end_release(lease, NULL);
		return;
	}
	lease->renewed_ms = lease->sent_ms;
	if (kube_lease_in_time(lease)) {
		if (kube_lease_is_proven(lease))
			kube_lease_leads(lease);
		else
			kube_lease_follow(lease);
		return;
	}
	/* The answer took longer than we may act on it: another process may hold the Lease by
	 * now. */
	lease->renewed_ms = previous_ms;
	err_set(&err, ERR_TIMEOUT, "the answer of the API server was too late");
	kube_lease_fail(lease, &err, 0);
}

static void kube_lease_on_written(void *context, const struct kube_answer *answer,
				  const struct err *err)
{
	struct kube_lease *lease = context;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err decode_err;
	struct lease seen;

	lease->call = NULL;
	lease->writing = false;
	if (err && err->kind == ERR_CONFLICT && lease->state == KUBE_LEASE_FOLLOWING)
		kube_lease_wait(lease, 0); /* another follower was faster */
	else if (err && err->kind == ERR_CONFLICT)
		kube_lease_read(lease); /* it may be our own write whose answer was lost */
	else if (err)
		kube_lease_fail(lease, err, answer->retry_after_ms);
	else if (kube_lease_decode(answer, &arena, &seen, &decode_err) < 0)
		kube_lease_fail(lease, &decode_err, 0);
	else
		kube_lease_wrote(lease, &arena, &seen);
}

/* The next record, based on the one that was seen. */
static struct lease kube_lease_next(const struct kube_lease *lease, struct arena *arena)
{
	bool releasing = lease->state == KUBE_LEASE_RELEASING;
	bool ours = kube_lease_is_ours(lease);
	struct lease next = lease->seen;
	char now[RFC3339_SIZE];

	rfc3339_print_micro(loop_wall(kube_client_loop(lease->client)), now);
	next.namespace_ = lease->namespace_;
	next.name = lease->name;
	next.renew_time = arena_strdup(arena, now);
	if (!ours || releasing)
		next.acquire_time = next.renew_time;
	if (lease->known && !ours && next.transitions < LEASE_TRANSITIONS_MAX)
		next.transitions++;
	next.holder = releasing ? "" : lease->identity;
	next.duration_seconds = releasing ? 1 : lease->options.lease_duration_ms / MS_PER_SECOND;
	return next;
}

/* Writes the next record: updates the one that was seen, or creates a Lease. */
static void kube_lease_put(struct kube_lease *lease)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf body;
	struct lease next = kube_lease_next(lease, &scratch);
	struct err err;

	buf_init(&body, KUBE_LEASE_BODY_MAX);
	if (lease_write(&next, &body) < 0) {
		err_set(&err, ERR_LIMIT, "Lease %s/%s: its labels and annotations are too long",
			lease->namespace_, lease->name);
		kube_lease_fail(lease, &err, 0);
		return;
	}
	const char *path = kube_path(&scratch, LEASE_API_VERSION, lease->namespace_, "leases",
				     lease->known ? lease->name : NULL, NULL);
	lease->writing = true;
	lease->sent_ms = loop_boot_ms();
	if (!lease->known)
		lease->created_ms = lease->sent_ms;
	lease->call = kube_client_send(lease->client, lease->known ? KUBE_UPDATE : KUBE_CREATE,
				       path, buf_string(&body), body.size, kube_lease_on_written,
				       lease);
}

/* --- reading --- */

/* Acts on the Lease that was read: follow, take over or renew. */
static void kube_lease_judge(struct kube_lease *lease)
{
	bool ours = kube_lease_is_ours(lease);
	char why[KUBE_LEASE_WHY_SIZE];

	if (lease->state == KUBE_LEASE_RELEASING) {
		if (ours)
			kube_lease_put(lease);
		else
			kube_lease_end_release(lease, NULL);
		return;
	}
	if (ours || lease->seen.holder[0] == '\0' || !lease->known) {
		kube_lease_put(lease);
		return;
	}
	if (lease->state == KUBE_LEASE_LEADING) {
		snprintf(why, sizeof(why), "\"%.256s\" has taken it", lease->seen.holder);
		kube_lease_lose(lease, why);
		return;
	}
	if (kube_lease_left_ms(lease) <= 0) {
		kube_lease_put(lease);
		return;
	}
	kube_lease_follow(lease);
}

/* True: the record of another holder was deleted from the API server and has not expired. */
static bool kube_lease_note_vanished(struct kube_lease *lease)
{
	if (!lease->known || !lease->seen.holder[0] || kube_lease_is_ours(lease))
		return false;
	lease->vanished = true;
	return lease->state == KUBE_LEASE_FOLLOWING && kube_lease_left_ms(lease) > 0;
}

static void kube_lease_on_read(void *context, const struct kube_answer *answer,
			       const struct err *err)
{
	struct kube_lease *lease = context;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lease seen = LEASE_INIT;
	struct err decode_err;

	lease->call = NULL;
	if (err && err->kind == ERR_NOT_FOUND && kube_lease_note_vanished(lease)) {
		kube_lease_follow(lease);
	} else if (err && err->kind == ERR_NOT_FOUND) {
		kube_lease_note(lease, &arena, &seen);
		lease->known = false;
		kube_lease_judge(lease);
	} else if (err) {
		kube_lease_fail(lease, err, answer->retry_after_ms);
	} else if (kube_lease_decode(answer, &arena, &seen, &decode_err) < 0) {
		err_prefix(&decode_err, "Lease %s/%s (fix: delete it)", lease->namespace_,
			   lease->name);
		kube_lease_fail(lease, &decode_err, 0);
	} else {
		kube_lease_note(lease, &arena, &seen);
		lease->vanished &= kube_lease_is_ours(lease);
		kube_lease_judge(lease);
	}
}

static void kube_lease_read(struct kube_lease *lease)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	lease->call = kube_client_send(lease->client, KUBE_GET,
				       kube_path(&scratch, LEASE_API_VERSION, lease->namespace_,
						 "leases", lease->name, NULL),
				       NULL, 0, kube_lease_on_read, lease);
}

/* A holder updates its last record without a read, all others read first; so does a holder whose
 * last write failed, because it may have been carried out. */
static void kube_lease_try(void *context)
{
	struct kube_lease *lease = context;

	if (lease->state == KUBE_LEASE_LEADING && !kube_lease_in_time(lease))
		kube_lease_on_deadline(lease);
	else if (lease->state == KUBE_LEASE_LEADING && lease->known && !lease->last_err.kind)
		kube_lease_put(lease);
	else
		kube_lease_read(lease);
}

/* --- life --- */

struct kube_lease *kube_lease_new(struct kube_client *client,
				  const struct kube_lease_options *options)
{
	struct kube_lease *lease = memory_alloc(sizeof(*lease));

	CHECK(options->identity[0] != '\0');
	CHECK(options->retry_period_ms > 0 &&
	      options->retry_period_ms < options->renew_deadline_ms &&
	      options->renew_deadline_ms < options->lease_duration_ms &&
	      options->lease_duration_ms <= KUBE_LEASE_DURATION_MAX_MS);
	lease->client = client;
	lease->options = *options;
	lease->namespace_ = memory_strdup(options->namespace_);
	lease->name = memory_strdup(options->name);
	lease->identity = memory_strdup(options->identity);
	lease->state = KUBE_LEASE_FOLLOWING;
	lease->seen = LEASE_INIT;
	lease->retry = loop_timer_new(kube_client_loop(client), kube_lease_try, lease);
	lease->deadline = loop_timer_new(kube_client_loop(client), kube_lease_on_deadline, lease);
	loop_timer_start(lease->retry, 0);
	return lease;
}

void kube_lease_free(struct kube_lease *lease)
{
	if (!lease)
		return;
	kube_client_cancel(lease->call);
	loop_timer_free(lease->retry);
	loop_timer_free(lease->deadline);
	arena_done(&lease->arena);
	memory_free(lease->namespace_);
	memory_free(lease->name);
	memory_free(lease->identity);
	memory_free(lease);
}

bool kube_lease_release(struct kube_lease *lease,
			void (*done)(void *context, const struct err *err), void *context)
{
	bool held = kube_lease_held(lease);
	/* A takeover in flight may still succeed. */
	bool taking = lease->state == KUBE_LEASE_FOLLOWING && lease->writing;

	kube_lease_quiet(lease);
	lease->writing = false;
	lease->state = held || taking ? KUBE_LEASE_RELEASING : KUBE_LEASE_RELEASED;
	if (!held && !taking)
		return false;
	lease->released = done;
	lease->released_context = context;
	loop_timer_start(lease->deadline, lease->options.renew_deadline_ms);
	if (held)
		kube_lease_put(lease);
	else
		kube_lease_read(lease);
	return true;
}
