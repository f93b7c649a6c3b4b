#include "core/decide/facts.h"

#include <string.h>

#include "core/model/autoscaler_problem.h"
#include "core/model/identity.h"

static const struct ray_node *find_head_node(const struct ray_state *state)
{
	const struct ray_node *found = NULL;
	ARRAY_EACH(const struct ray_node, node, state->nodes, state->node_count) {
		if (!ray_node_is_head(node) || !ray_node_is_alive(node))
			continue;
		if (!found || strcmp(node->id, found->id) < 0)
			found = node;
	}
	return found;
}

/* A stale or absent reply, or one without a head, counts as no reply: it must never look like an
 * empty cluster. */
static void judge_ray(struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	int64_t age_ms = snapshot->now - snapshot->ray_state_time;
	if (!snapshot->ray_state) {
		facts->ray_problem = snapshot->ray_problem && snapshot->ray_problem[0] != '\0' ?
					     snapshot->ray_problem :
					     "there is no reply of its GCS";
	} else if (age_ms > snapshot->settings.state_max_age_seconds * MS_PER_SECOND) {
		facts->ray_problem = arena_printf(facts->arena, "its last reply is %lld s old",
						  (long long)(age_ms / MS_PER_SECOND));
	} else {
		facts->head_node = find_head_node(snapshot->ray_state);
		if (!facts->head_node)
			facts->ray_problem = "its reply has no living head node";
	}
	facts->ray_reachable = facts->head_node != NULL;
}

/* Whether two problems concern the same field. Codec writes the path from the root of its
 * document. */
static bool same_field(const char *ours, const char *theirs)
{
	const char *end = strstr(ours, ": "), *their_end = strstr(theirs, ": ");
	if (!end || !their_end)
		return strcmp(ours, theirs) == 0;
	size_t size = (size_t)(end - ours), their_size = (size_t)(their_end - theirs);
	return their_size >= size && strncmp(their_end - size, ours, size) == 0;
}

static void note_problem(struct facts *facts, const char *problem)
{
	for (size_t i = 0; i < facts->problems.count; i++)
		if (same_field(facts->problems.at[i], problem))
			return;
	VEC_PUSH(facts->arena, &facts->problems, problem);
}

bool facts_note_unknown_group(struct facts *facts, const char *list, const char *name)
{
	const struct ray_cluster *cluster = &facts->snapshot->cluster;

	if (name[0] == '\0' || autoscaler_problem_group(cluster, name))
		return false;
	note_problem(facts, autoscaler_problem_no_group(
				    cluster, arena_printf(facts->arena, "autoscaler.spec.%s", list),
				    name, facts->arena));
	return true;
}

/* Of the annotation that requests resources; NULL: none. */
static const char *request_problem(const struct snapshot *snapshot)
{
	return snapshot->cluster.request ? snapshot->cluster.request->problem : NULL;
}

void facts_note_problems(struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	if (request_problem(snapshot))
		VEC_PUSH(facts->arena, &facts->problems, request_problem(snapshot));
	for (size_t i = 0; i < snapshot->cluster.problems.count; i++)
		note_problem(facts, snapshot->cluster.problems.at[i]);
	if (!snapshot->autoscaler)
		return;
	for (size_t i = 0; i < snapshot->autoscaler->problems.count; i++)
		note_problem(facts, snapshot->autoscaler->problems.at[i]);
	for (size_t i = 0; i < snapshot->autoscaler->group_count; i++)
		if (facts_note_unknown_group(facts, "groups", snapshot->autoscaler->groups[i].name))
			break;
}

/* A head Pod that is being deleted is used only while it is the only one, and does not prove a
 * restart. */
static void find_head(struct facts *facts)
{
	facts->head_pod = identity_head_in(facts->snapshot, facts->arena, &facts->head_problem);
	if (!facts->head_pod || !facts->head_pod->deleting)
		return;
	if (due_passed(facts->due, pod_deletion_asked(facts->head_pod), WORKER_DELETION_MS))
		facts->head_overdue = facts->head_pod;
	facts->head_pod = NULL;
}

struct facts *facts_new(const struct snapshot *snapshot, const struct gate *gate,
			struct arena *arena)
{
	struct facts *facts = ARENA_PUT(arena, (struct facts){
						       .snapshot = snapshot,
						       .arena = arena,
						       .gate = *gate,
						       .due = ARENA_NEW(arena, struct due),
						       .launch = in_force_launch(snapshot, NULL),
						       .ray_problem = "",
					       });

	*facts->due = (struct due){ snapshot->now, PLAN_NEVER_CHANGES };
	judge_ray(facts);
	if (snapshot->view_problem && snapshot->view_problem[0] != '\0')
		facts->view_problem = snapshot->view_problem;
	find_head(facts);
	facts->accelerators =
		capacity_accelerators(&snapshot->settings, snapshot->device_table, arena);
	capacity_of_head(&snapshot->cluster, &snapshot->settings, snapshot->device_table, arena,
			 &facts->head_capacity);
	if (facts->head_capacity.problem)
		VEC_PUSH(arena, &facts->problems, facts->head_capacity.problem);
	return facts;
}

void facts_judge_terminations(struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;

	facts->termination_forbidden = !facts->ray_reachable || facts->view_problem ||
				       facts->head_problem || request_problem(snapshot);
}
