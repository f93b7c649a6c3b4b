/* Ends the wait of a part of a gang for the rest. A gang is a placement group on several workers, or the hosts of a
 * replica. Its part is idle and registered, and would be terminated without it; its rest starts, waits for a Node or
 * in a queue, or is launched again and again.
 *
 * A part that has waited for gang-hold-seconds is given back, with all other parts of its gang. The groups of the rest are
 * in back-off for the longest time, and hold gangs for longer (backoff.h), since each further try costs as much again;
 * the gang is packed without them and without its parts, so another group or slice is tried. Where other groups hold
 * only its rest, or a part would be launched again in its group, the parts stay, for a new time. Parts that minReplicas or other demand keeps do not go back, and where none does, the gang waits on. A part
 * of a replica stays while another bundle fits one of its hosts.
 *
 * The time is a mark for each part. Without one, as after a restart, it runs since the first Pod of the rest was
 * created, and never since before the part was idle. */
#ifndef CORE_DECIDE_GANG_WAIT_H
#define CORE_DECIDE_GANG_WAIT_H

#include "core/decide/packing.h"

/* After the packing. Sets `returned` of workers, MARK_GANG_PART and back-offs of the new memory, gang_ends; packs
 * again where a wait ends. O(workers + placements). */
void gang_wait(struct packing *packing);

#endif
