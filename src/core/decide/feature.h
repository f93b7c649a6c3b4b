/* A feature that takes part in decisions: one const struct that a header of the part `core` of its
 * folder declares (mk/features.awk); src/core/decide.c calls the hooks, in the order of the features' names. Nothing
 * below that table knows a feature by name. Each hook may be NULL. A feature reads what others find in facts, never another
 * feature; what it keeps between its own hooks is in a slot (core/decide/feature_slot). */
#ifndef CORE_DECIDE_FEATURE_H
#define CORE_DECIDE_FEATURE_H

#include "core/decide/choice.h"

struct decision_feature {
	/* Before the workers are joined: problems of its settings, and whether terminations are
	 * forbidden. */
	void (*find)(struct facts *facts);
	/* With the workers: the minimums of the groups. */
	void (*apply)(struct facts *facts);
	/* The end of facts, with the demand. With facts->gate nothing is scaled, and there is demand only
	 * if the work of the cluster was read; it may set the gate's message. */
	void (*judge)(struct facts *facts);
	/* After the obstacles of Pods, before back-offs: messages, and what ends the wait at a gate. */
	void (*assess)(struct health *health);
	/* The end of the offer: changes of the problem for the packing. */
	void (*offer)(struct offer *offer);
	/* Workers that stay or start although nothing is placed on them; after the packing, gangs and
	 * replacements of disrupted workers. */
	void (*keep)(struct packing *packing);
	/* Its members of the plan, an earlier next_change, and changes of patch and memory, after all of
	 * core/decide and core/report. Ends with its own invariants. */
	void (*write)(const struct choice *choice, struct plan *plan);
	/* The same for a cluster that is not scaled. */
	void (*write_gated)(const struct facts *facts, struct plan *plan);
};

#endif
