/* Pods that run while their raylet is dead for the GCS: since when (memory), and whether their time has
 * run out; it begins anew when the Ray of the Pod or of the head starts. Sets expired of such workers and raylet_gone of the new memory. */
#ifndef CORE_DECIDE_GONE_H
#define CORE_DECIDE_GONE_H

#include "core/decide/situation.h"

void gone_update(struct situation *situation);

#endif
