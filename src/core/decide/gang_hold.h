/* Keeps idle workers for a waiting placement group. A gang that the packing cannot place launches
 * nothing until it fits as a whole. Without this rule the workers that become idle meanwhile are
 * terminated, and launched again as soon as the last worker that it needs is free.
 *
 * The first gang, in the order of the packing, that would fit if all running work ended keeps the
 * workers that it would use: those on which its bundles fit now, and those on which the packing would
 * place them then. It launches nothing, and workers above maxReplicas do not count. A gang that a
 * backoff, a GPU quota or maxReplicas itself prevents keeps nothing. All of them end when one was kept
 * for gang-hold-seconds beyond its idle timeout.
 *
 * A placement group that Ray is placing is in no list of its reply, while its nodes are still reported as idle
 * (docs/internals/ray.md). So a worker that a gang needed until now stays for some seconds more. */
#ifndef CORE_DECIDE_GANG_HOLD_H
#define CORE_DECIDE_GANG_HOLD_H

#include "core/decide/packing.h"

/* Sets kept_reason of the workers and MARK_NEEDED_BY_GANG of the new memory. No packing unless a gang waits and an
 * idle worker would be terminated, then at most five. */
void gang_hold(struct packing *packing);

#endif
