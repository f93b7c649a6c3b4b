/* Leader election on a Lease: of several processes with the same Lease one holds it, renews it,
 * and may act. The semantics are those of client-go's tools/leaderelection:
 *  - times in the Lease were written by other clocks and are only compared: a Lease is taken over
 *    when its record has not changed for its leaseDurationSeconds by our own clock, since we saw
 *    it;
 *  - every write carries the resourceVersion that was seen, so of two that take over one gets
 *    409;
 *  - a holder that has not renewed for renew_deadline_ms, counted from before the last renewal
 *    was sent, has lost the Lease, before any other process can take it. It never regains it: end
 *    the process;
 *  - released means: no holder, leaseDurationSeconds 1.
 * Unlike there, a holder that sees another one in the Lease has lost it at once, a follower reads
 * again when the Lease expires even if this is before its retry period, and jitter shortens the
 * period instead of lengthening it: a takeover takes at most lease duration + retry period, after
 * a release at most the retry period.
 *
 * A Lease that is deleted is not released: a follower that saw another holder in it waits until
 * that record has expired, creates the Lease again, and leads when its own record has lasted for
 * renew_deadline_ms. By then the other holder has seen it or lost its time. A process that starts
 * while there is no Lease at all leads at once; if the Lease was deleted just then, its holder
 * notices with its next renewal, within the retry period. Until then there are two, which is why
 * every patch tests the values that it changes.
 *
 * Retry-After is obeyed up to half of renew_deadline_ms, so that time for a second try is left.
 *
 * A stopped process (SIGSTOP, a frozen machine) cannot notice that it lost the Lease: call
 * kube_lease_held before every action that two processes must not do. A request sent before the
 * stop may still take effect; guard it by other means (`test` operations).
 *
 * The caller owns struct kube_lease; it owns its one request. Give it a kube_client of its own:
 * its requests must not wait behind others. Must not log. */
#ifndef KUBE_KUBE_LEASE_H
#define KUBE_KUBE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/kube_client.h"

struct kube_lease;

/* Maximum of our option. Another holder's leaseDurationSeconds above it was not written by this
 * program and counts as not given. */
#define KUBE_LEASE_DURATION_MAX_MS (INT64_C(3600) * 1000)
/* An answer: a Lease is small, whoever labels it. */
#define KUBE_LEASE_BODY_MAX ((size_t)256 << 10)

struct kube_lease_options {
	const char *namespace_, *name;
	const char *identity; /* of this process; not "" */
	/* retry period < renew deadline < lease duration <= KUBE_LEASE_DURATION_MAX_MS; the last in
	 * whole seconds */
	int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;
	/* None of them may free the kube_lease. */
	void (*on_leading)(void *context); /* once: from now on kube_lease_held */
	/* Once, as the last callback: `why` is one sentence. No request follows. */
	void (*on_lost)(void *context, const char *why);
	/* The Lease shows another holder than the last time; "" without a holder, as in the
	 * beginning. */
	void (*on_holder)(void *context, const char *holder);
	void (*on_error)(void *context, const struct err *err); /* one try failed */
	void (*on_good)(void *context);                         /* one try ended well */
	void *context;
};

/* Tries from the next turn of the loop on. Copies the options. */
struct kube_lease *kube_lease_new(struct kube_client *client,
				  const struct kube_lease_options *options);
/* Does not release the Lease: kube_lease_release does. NULL is fine. */
void kube_lease_free(struct kube_lease *lease);

/* May we act? Reads the clock, so that a process that was stopped gets the right answer. */
bool kube_lease_held(const struct kube_lease *lease);
/* The time until which it is held unless it is renewed, of loop_boot_ms; 0: it is not held. Changes
 * only before one of the callbacks is called, or by kube_lease_release. */
int64_t kube_lease_held_until_ms(const struct kube_lease *lease);
/* The last known holder, "" without one or before the first read. Valid until the loop turns. */
const char *kube_lease_holder(const struct kube_lease *lease);

/* Releases the Lease, so that the next leader need not wait; from now on it is not held, and no
 * other callback is called. False when there is nothing to release: then `done` is not called. Else
 * it is called once, within renew_deadline_ms, with NULL or why the Lease may have to expire. */
bool kube_lease_release(struct kube_lease *lease,
			void (*done)(void *context, const struct err *err), void *context);

#endif
