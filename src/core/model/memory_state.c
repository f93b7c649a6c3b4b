#include "core/model/memory_state.h"

#include "base/check.h"

const struct mark_rule mark_rules[MARK_KIND_COUNT] = {
	[MARK_RAYLET_GONE] = { .list = "rayletGone",
			       .kept = MARK_KEPT_WITHOUT_RAY,
			       .is_applied = true },
	[MARK_NOT_REGISTERED] = { .list = "unjoined",
				  .kept = MARK_KEPT_WITHOUT_RAY,
				  .is_applied = true },
	[MARK_START_GRACE] = { .list = "settling",
			       .kept = MARK_KEPT_WITHOUT_RAY,
			       .is_applied = true },
	[MARK_STARVED_DEMAND] = { .list = "stuckDemand", .kept = MARK_KEPT_WITHOUT_PACKING },
	[MARK_REPLICA_CONFLICT] = { .list = "replicaFights", .kept = MARK_KEPT_NEVER },
	[MARK_REPLICA_RAISE] = { .list = "replicaRaises", .kept = MARK_KEPT_NEVER },
	[MARK_LOWERED] = { .list = "lowered", .kept = MARK_KEPT_NEVER },
	[MARK_DISRUPTED] = { .list = "leaving", .kept = MARK_KEPT_WITHOUT_TERMINATION },
	[MARK_GATES] = { .list = "gates", .kept = MARK_KEPT_NEVER, .is_applied = true },
	[MARK_GANG_PART] = { .list = "gangParts",
			     .kept = MARK_KEPT_WITHOUT_TERMINATION,
			     .is_applied = true },
	[MARK_NEEDED_BY_GANG] = { .list = "neededByGangs",
				  .kept = MARK_KEPT_WITHOUT_TERMINATION,
				  .is_applied = true },
	[MARK_NO_POD] = { .list = "noPods", .kept = MARK_KEPT_NEVER, .is_applied = true },
	[MARK_REFUSAL_ENDED] = { .list = "refusalsEnded",
				 .kept = MARK_KEPT_NEVER,
				 .is_applied = true },
	[MARK_NOTIFIED] = { .list = "notified", .kept = MARK_KEPT_NEVER },
	[MARK_IDLE_SINCE] = { .list = "idleSince",
			      .kept = MARK_KEPT_WITHOUT_RAY,
			      .is_applied = true },
	[MARK_RAY_SESSION] = { .list = "raySessions", .kept = MARK_KEPT_WITHOUT_RAY },
	[MARK_CLUSTER_IDLE] = { .list = "clusterIdle", .kept = MARK_KEPT_NEVER },
	[MARK_DELETE_DENIED] = { .list = "deleteDenied", .kept = MARK_KEPT_NEVER },
	[MARK_REPAIR] = { .list = "repairs", .kept = MARK_KEPT_NEVER },
	[MARK_REPAIR_ENDED] = { .list = "repairsEnded", .kept = MARK_KEPT_NEVER },
	[MARK_REQUEST_ASKED] = { .list = "requestsAsked", .kept = MARK_KEPT_WITHOUT_RAY },
	[MARK_REQUEST_UNUSED] = { .list = "requestsUnused", .kept = MARK_KEPT_WITHOUT_RAY },
};

const struct memory_mark *memory_next_mark(const struct memory_state *memory, enum mark_kind kind,
					   const struct memory_mark *mark)
{
	size_t i = mark ? (size_t)(mark - memory->marks.at) + 1 : 0;

	CHECK(kind < MARK_KIND_COUNT);
	CHECK(i <= memory->marks.count);

	for (; i < memory->marks.count; i++)
		if (memory->marks.at[i].kind == kind)
			return &memory->marks.at[i];
	return NULL;
}

/* ---- members, with their names in JSON ---- */

#define COUNT_MAX INT32_MAX /* a forged one must not cause overflow */
#define SECONDS_MAX 31536000

#define NAME(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_REQUIRED)
#define TEXT(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS)
#define SINCE(T, m, n) FIELD_TIME(T, m, n, .flags = FIELD_REQUIRED)
#define COUNT(T, m, n, maximum, f) FIELD_INTEGER(T, m, n, .most = (maximum), .flags = (f))
#define BACKOFF struct memory_backoff
#define LAUNCH struct memory_launch
#define MARK struct memory_mark
#define TEMPLATE struct memory_template
#define MEMORY struct memory_state

static const struct field backoff_fields[] = {
	NAME(BACKOFF, group, "group"),
	SINCE(BACKOFF, until, "until"),
	COUNT(BACKOFF, seconds, "seconds", SECONDS_MAX, FIELD_ALWAYS | FIELD_GIVEN),
	FIELD_REASON(BACKOFF, cause, REASONS_OF_BACK_OFFS, "cause"),
	TEXT(BACKOFF, message, "message"),
	FIELD_END,
};

static const struct field launch_fields[] = {
	NAME(LAUNCH, group, "group"),
	COUNT(LAUNCH, replicas, "replicas", COUNT_MAX, FIELD_ALWAYS | FIELD_GIVEN),
	COUNT(LAUNCH, base_replicas, "baseReplicas", COUNT_MAX, FIELD_ALWAYS | FIELD_GIVEN),
	COUNT(LAUNCH, not_registered, "unjoined", COUNT_MAX, FIELD_ALWAYS),
	COUNT(LAUNCH, unneeded, "unneeded", COUNT_MAX, FIELD_ALWAYS),
	FIELD_TIME(LAUNCH, unneeded_since, "unneededSince", .flags = FIELD_ALWAYS),
	FIELD_TIME(LAUNCH, round, "round"),
	FIELD_END,
};

static const struct field mark_fields[] = {
	NAME(MARK, key, "key"),
	SINCE(MARK, since, "since"),
	COUNT(MARK, count, "count", INT64_C(1) << 53, 0),
	FIELD_TEXT(MARK, who, "who", .flags = FIELD_NULLABLE),
	/* In JSON the name of its list. */
	FIELD_HOOK("kind", .offset = offsetof(MARK, kind), .size = sizeof(enum mark_kind)),
	FIELD_END,
};

#define TEMPLATE_ROWS                                                                              \
	FIELD_TEXT(TEMPLATE, fingerprint, "template", .flags = FIELD_ALWAYS,                       \
		   .description = "Hash of what the template gives a worker in Ray."),             \
		FIELD_TIME(TEMPLATE, since, "since",                                               \
			   .description =                                                          \
				   "When the template was last edited; older Pods have another "   \
				   "one."),                                                        \
		FIELD_TEXT(TEMPLATE, pod, "pod",                                                   \
			   .description = "A worker that lacks a resource of the template."),      \
		FIELD_RESOURCES(TEMPLATE, resources, "resources",                                  \
				.description =                                                     \
					"Resources in Ray that differ from the template's; 0: "    \
					"absent."),                                                \
		FIELD_LABELS(TEMPLATE, labels, "labels",                                           \
			     .description = "Labels in Ray of all workers of the template.")

const struct field memory_template_fields[] = { TEMPLATE_ROWS, FIELD_END };

static const struct field template_fields[] = {
	NAME(TEMPLATE, group, "group"),
	TEMPLATE_ROWS,
	FIELD_END,
};

const struct field memory_fields[MEMORY_LISTS + 1] = {
	FIELD_VEC(MEMORY, backoffs, backoff_fields, "backoffs", .flags = FIELD_LINE),
	FIELD_VEC(MEMORY, launches, launch_fields, "launches", .flags = FIELD_LINE),
	FIELD_VEC(MEMORY, marks, mark_fields, MEMORY_MARKS, .flags = FIELD_LINE),
	FIELD_VEC(MEMORY, templates, template_fields, MEMORY_TEMPLATES, .flags = FIELD_LINE),
	FIELD_END,
};

const struct memory_state *memory_state_keep(const struct memory_state *memory, struct arena *arena)
{
	return field_keep(memory_fields, memory, sizeof(*memory), MEMORY_KEPT_BYTES_MAX, arena);
}

const struct memory_state *memory_state_copy(const struct memory_state *memory, struct arena *arena)
{
	return FIELD_COPY(memory_fields, memory, arena);
}

const struct memory_state *memory_state_drained(const struct memory_state *old,
						const struct memory_state *made,
						struct arena *arena)
{
	struct memory_state drained = old ? *old : *made;

	if (!old)
		drained.launches.count = 0;
	drained.backoffs.at = NULL;
	drained.backoffs.count = drained.backoffs.capacity = 0;
	VEC_EACH(const struct memory_backoff, backoff, &made->backoffs)
		if (backoff->cause == REASON_GANG_INCOMPLETE)
			VEC_PUSH(arena, &drained.backoffs, *backoff);
	if (drained.backoffs.count == 0)
		return old;
	VEC_EACH(const struct memory_backoff, backoff, &(old ? old : made)->backoffs)
		if (!VEC_FIND(&drained.backoffs, group, backoff->group))
			VEC_PUSH(arena, &drained.backoffs, *backoff);
	drained.marks.at = NULL;
	drained.marks.count = drained.marks.capacity = 0;
	VEC_EACH(const struct memory_mark, mark, &(old ? old : made)->marks)
		if (mark->kind != MARK_GANG_PART)
			VEC_PUSH(arena, &drained.marks, *mark);
	VEC_EACH(const struct memory_mark, mark, &made->marks)
		if (mark->kind == MARK_GANG_PART)
			VEC_PUSH(arena, &drained.marks, *mark);
	return memory_state_copy(&drained, arena);
}

static struct memory_state unapplied(const struct memory_state *memory, struct arena *arena)
{
	struct memory_state rest = *memory;

	rest.marks.at = NULL;
	rest.marks.count = rest.marks.capacity = 0;
	VEC_EACH(const struct memory_mark, mark, &memory->marks)
		if (!mark_rules[mark->kind].is_applied)
			VEC_PUSH(arena, &rest.marks, *mark);
	return rest;
}

bool memory_state_reads_equal(const struct memory_state *memory, const struct memory_state *old,
			      struct arena *arena)
{
	static const struct memory_state none = { .marks.count = 0 };
	struct memory_state a = unapplied(memory, arena);
	struct memory_state b = unapplied(old ? old : &none, arena);

	return field_equal(memory_fields, &a, &b);
}
