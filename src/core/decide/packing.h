/* The fourth value of a decision: the solved packing, and what it means for workers and groups.
 * Made by packing_run.h, with the replacements of disrupted workers (disruption_replace.h). Must not choose
 * workers to terminate: that is terminate. */
#ifndef CORE_DECIDE_PACKING_H
#define CORE_DECIDE_PACKING_H

#include "base/map.h"
#include "core/decide/offer.h"

struct worker_packing {
	bool needed_by_demand, needed_by_request;
	bool by_sdk; /* of needed_by_request: by request_resources of Ray's SDK alone */
	/* Of needed_by_request: whose bundles alone need it; NULL: others do. */
	const struct plan_schedule *schedule;
	enum reason
		kept_reason; /* why it stays although nothing is placed on it; NONE: it is not kept */
	const char *kept_message;
	bool replaces_disrupted; /* kept for work of a disrupted worker, and for no other use */
	const char *returned;    /* gang_wait: why it is given back; NULL: it is not */
	bool chosen;             /* selected for termination, for `cause` */
	enum schedule_cause cause;
};

/* It stays for this reason, instead of one that kept it before. */
static inline void worker_keep(struct worker_packing *worker, enum reason reason,
			       const char *message)
{
	worker->kept_reason = reason;
	worker->kept_message = message;
}

static inline bool worker_is_needed(const struct worker_packing *worker)
{
	return worker->needed_by_demand || worker->needed_by_request ||
	       worker->kept_reason != REASON_NONE;
}

struct group_packing {
	int64_t launches;  /* Pods, by the packing */
	int64_t whole;     /* Pods of them for placement groups, request_resources and a schedule */
	int64_t requested; /* Pods of them for request_resources of Ray's SDK alone */
	int64_t later;     /* features: Pods of them that are asked for when others have Nodes */
	bool launches_for_min, launches_for_request, launches_for_demand;
	/* Set by disruption_replace(), in replicas. */
	int64_t launches_for_disruption; /* beside `launches` */
	int64_t replacements_waiting;    /* that wait for disrupted ones to be deleted */
	bool replacements_at_max;        /* maxReplicas is the reason for that */
	bool replacements_ready;         /* all that can come have registered */
	/* Set by feature/warm_workers, in replicas. */
	int64_t warm, launches_for_warm;           /* wanted; beside `launches` */
	const struct plan_schedule *warm_schedule; /* that wants most; NULL: spec.warmWorkers */
};

struct type_resource {
	int64_t most;      /* on a new node of any type */
	VEC(size_t) types; /* of the problem that have it, ascending */
};

struct packing {
	const struct facts *facts;
	const struct health *health;
	const struct offer *offer;
	const struct snapshot *snapshot;
	struct arena *arena;
	struct schedule_problem problem; /* of the offer, with starved demand split off */
	const struct schedule_result *result;
	bool gang_ends;                  /* gang_wait: a part of one has waited for too long */
	bool termination_forbidden;      /* of facts, or the result is cut: a need may be missing */
	struct resources most_of_living; /* of each resource, on any one living node */
	/* By the name of each resource that a type has, in the order of the types: struct type_resource. Filled as
	 * most_of_living, where demand is left. */
	struct map type_resources;
	struct packed_list packed_demands; /* of `problem` */
	bool *starved_demands,
		*starved_gangs;  /* per demand and gang of facts: some of it is starved */
	int64_t starved_bundles; /* starved bundles, packed on new workers only */
	time_ms starved_since;   /* of the one starved the longest; only with starved_bundles > 0 */
	struct worker_packing *workers;
	struct group_packing *groups;
	struct memory_state
		memory; /* MARK_STARVED_DEMAND, MARK_DISRUPTED, marks of gangs; back-offs */
};

/* Notes for each worker whether it is chosen for termination, and its need. The last step. */
void packing_note_workers(struct packing *packing);
/* All that is placed on it are bundles of request_resources of Ray's SDK, or nothing is. */
bool packing_is_requested(const struct packing *packing, const struct schedule_node_result *node);
/* The longest time that a starved bundle has been starved; 0 without one. */
int64_t packing_starved_seconds(const struct packing *packing);
/* Whose bundle it is, of a placement in the phase CONSTRAINT; NULL: not that of a schedule. */
const struct plan_schedule *packing_schedule_of(const struct packing *packing,
						const struct schedule_placement *placement);

#endif
