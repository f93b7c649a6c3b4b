/* The invariants at the end of each step of decide.c, for every snapshot. A violation is an
 * error of this program: the CHECK ends it before a patch is sent, and prints the snapshot
 * (base/check.h). Must not judge input: decoders and limits do. */
#ifndef CORE_DECIDE_INVARIANTS_H
#define CORE_DECIDE_INVARIANTS_H

#include "core/decide/choice.h"

void invariants_of_facts(const struct facts *facts);
void invariants_of_health(const struct health *health);
void invariants_of_offer(const struct offer *offer);
void invariants_of_packing(const struct packing *packing);
void invariants_of_choice(const struct choice *choice);
/* Of a plan made from a choice. */
void invariants_of_plan(const struct choice *choice, const struct plan *plan);
/* Of a plan that changes nothing, before the features write. */
void invariants_of_gated_plan(const struct facts *facts, const struct plan *plan);
/* Of the finished patch. */
void invariants_of_patch(const struct plan *plan);

#endif
