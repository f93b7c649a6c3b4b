/* Leader election on a Lease: of several processes with the same Lease one holds it, renews it, and
 * may act. The semantics are those of client-go's tools/leaderelection:
 *  - times in the Lease were written by other clocks and are only compared: a Lease is taken over when
 *    its record has not changed for its leaseDurationSeconds by our own clock, since we saw it;
 *  - every write carries the resourceVersion that was seen, so of two that take over one gets 409;
 *  - a holder that has not renewed for renew_deadline_ms, counted from before the last renewal was sent,
 *    has lost the Lease, before anybody else can have it. It never comes back: end the process;
 *  - released means: no holder, leaseDurationSeconds 1.
 * Unlike there, a holder that sees another one in the Lease has lost it at once, a follower looks
 * again when the Lease runs out even if this is sooner than its retry period, and jitter shortens the
 * period instead of lengthening it: a takeover takes at most lease duration + retry period, after a
 * release at most the retry period.
 *
 * A Lease that is deleted is not released: a follower that saw another holder in it waits until that record
 * has run out, makes the Lease again, and leads when its own record has lasted for renew_deadline_ms. By then
 * the other holder has seen it or lost its time. A process that starts while there is no Lease at all
 * leads at once; if the Lease was deleted just then, its holder learns of it with its next renewal, within
 * the retry period. Until then there are two, which is why every patch tests the values that it changes.
 *
 * Retry-After is obeyed up to half of renew_deadline_ms, so that a second try is left.
 *
 * A stopped process (SIGSTOP, a frozen machine) cannot hear that it lost: ask kube_lease_held before
 * everything that must not be done by two. What was sent before it was stopped may still take effect;
 * guard it by other means (`test` operations).
 *
 * The caller owns struct kube_lease; it owns its one request. Give it a kube_client of its own: its
 * requests must not wait behind others. Must not log. */
#ifndef KUBE_KUBE_LEASE_H
#define KUBE_KUBE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/kube_client.h"

struct kube_lease;

/* Ours may be no longer. Another holder's leaseDurationSeconds above it was written by none of us and
 * counts as not given. */
#define KUBE_LEASE_DURATION_MAX_MS (INT64_C(3600) * 1000)
/* An answer: a Lease is small, whoever labels it. */
#define KUBE_LEASE_BODY_MAX ((size_t)256 << 10)

struct kube_lease_options {
	const char *namespace_, *name;
	const char *identity; /* of this process; not "" */
	/* retry period < renew deadline < lease duration <= KUBE_LEASE_DURATION_MAX_MS; the last in whole
	 * seconds */
	int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;
	/* None of them may free the kube_lease. */
	void (*on_leading)(void *context); /* once: from now on kube_lease_held */
	/* Once, and the end: `why` is one sentence. Nothing more is asked. */
	void (*on_lost)(void *context, const char *why);
	/* The Lease shows another holder than the last time; "" is nobody, as in the beginning. */
	void (*on_holder)(void *context, const char *holder);
	void (*on_error)(void *context, const struct err *err); /* one try failed */
	void (*on_good)(void *context);                         /* one try ended well */
	void *context;
};

/* Tries from the next turn of the loop on. Copies the options. */
struct kube_lease *kube_lease_new(struct kube_client *client,
				  const struct kube_lease_options *options);
/* Gives nothing back: kube_lease_release. NULL is fine. */
void kube_lease_free(struct kube_lease *lease);

/* May we act? Reads the clock, so that a process that was stopped gets the right answer. */
bool kube_lease_held(const struct kube_lease *lease);
/* Until when it is held unless it is renewed, of loop_boot_ms; 0: it is not held. Changes only before one of the
 * callbacks is called, or by kube_lease_release. */
int64_t kube_lease_held_until_ms(const struct kube_lease *lease);
/* Who holds it as far as was seen, "" for nobody or not seen yet. Valid until the loop turns. */
const char *kube_lease_holder(const struct kube_lease *lease);

/* Gives the Lease back, so that the next one need not wait; from now on it is not held, and no other
 * callback comes. False when there is nothing to give back: then `done` is not called. Else it is
 * called once, within renew_deadline_ms, with NULL or why it may have to run out. */
bool kube_lease_release(struct kube_lease *lease,
			void (*done)(void *context, const struct err *err), void *context);

#endif
