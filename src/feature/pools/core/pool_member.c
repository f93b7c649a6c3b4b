#include "feature/pools/core/pool_member.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/sort.h"
#include "core/model/claimed.h"
#include "core/model/reason.h"
#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"

#define SHAPE_BYTES_MAX 65536

/* ---- tables ---- */

static const struct field name_rows[] = {
	FIELD_TEXT(struct pool_pod, name, "pod"),
	FIELD_END,
};

static const struct field report_worker_fields[] = {
	FIELD_COUNT(struct pool_report_worker, pod, "pod"),
	FIELD_HOOK("state", .offset = offsetof(struct pool_report_worker, state),
		   .size = sizeof(enum share_state)),
	FIELD_BOOLEAN(struct pool_report_worker, needed, "needed"),
	FIELD_BOOLEAN(struct pool_report_worker, requested, "requested"),
	FIELD_TIME(struct pool_report_worker, since, "since"),
	FIELD_TIME(struct pool_report_worker, ends, "ends"),
	FIELD_END,
};

static const struct field minimum_rows[] = {
	{ .name = "minReplicas", .kind = FIELD_KIND_INTEGER },
	FIELD_END,
};

const struct field pool_report_fields[] = {
	FIELD_LIST(struct pool_report, workers, worker_count, report_worker_fields, "workers"),
	FIELD_LIST(struct pool_report, min_replicas, group_count, minimum_rows, "groups"),
	FIELD_END,
};

static const struct field drain_fields[] = {
	FIELD_TEXT(struct pool_release, pod, "pod"),
	FIELD_TEXT(struct pool_release, message, "message"),
	FIELD_END,
};

const struct field pool_drains_fields[] = {
	FIELD_VEC(struct pool_drains, list, drain_fields, "list"),
	FIELD_END,
};

static const struct field group_fields[] = {
	FIELD_TEXT(struct pool_group, name, "name"),
	FIELD_COUNT(struct pool_group, pool, "pool"),
	FIELD_AMOUNT(struct pool_group, replica_gpus, "replicaGpus"),
	FIELD_TEXT(struct pool_group, shape, "shape"),
	FIELD_BOOLEAN(struct pool_group, outside, "outside"),
	FIELD_END,
};

const struct field pool_member_group_fields[] = {
	FIELD_LIST(struct pool_member, groups, group_count, group_fields, "groups"),
	FIELD_END,
};

static const struct field worker_fields[] = {
	FIELD_VEC(struct pool_worker, pods, name_rows, "pods"),
	FIELD_POINTER(struct pool_worker, drain, drain_fields, "drain"),
	FIELD_END,
};

static const struct field borrowed_group_fields[] = { FIELD_END };

const struct field pool_member_fields[] = {
	FIELD_LIST(struct pool_member, groups, group_count, borrowed_group_fields, "groups"),
	FIELD_VEC(struct pool_member, workers, worker_fields, "workers"),
	FIELD_END,
};

/* ---- the last plan ---- */

static enum share_state state_of(const struct plan_worker *worker)
{
	switch (worker->state) {
	case WORKER_PENDING:
	case WORKER_STARTING:
		return SHARE_STARTING;
	case WORKER_IDLE:
		if (worker->reason == REASON_DO_NOT_DISRUPT ||
		    worker->reason == REASON_NEEDED_BY_DEMAND)
			return SHARE_BUSY;
		return SHARE_IDLE;
	case WORKER_DRAINING:
	case WORKER_GONE:
		return SHARE_LEAVING;
	case WORKER_NONE:
	case WORKER_RUNNING:
		break;
	}
	return SHARE_BUSY;
}

static int by_pod(const void *left, const void *right)
{
	const struct pool_report_worker *a = left;
	const struct pool_report_worker *b = right;

	return (a->pod > b->pod) - (a->pod < b->pod);
}

static const struct pool_report_worker *reported(const struct pool_report *report, const char *pod)
{
	const struct pool_report_worker key = { .pod = hash_text(pod) };

	return report ? SORT_FIND(&key, report->workers, report->worker_count, by_pod) : NULL;
}

static struct pool_report_worker report_worker(const struct plan_worker *worker,
					       const struct pool_report *old, time_ms now)
{
	const struct pool_report_worker *before = reported(old, worker->pod);
	struct pool_report_worker report = {
		.pod = hash_text(worker->pod),
		.state = state_of(worker),
		.needed = worker->reason == REASON_NEEDED_BY_REQUEST ||
			  worker->reason == REASON_NEEDED_BY_PLACEMENT_GROUP,
		.requested = worker->requested,
		.since = worker->node ? now - worker->node->idle_duration_ms : now,
	};

	/* The time of idle ones is rounded. */
	if (before && before->state == report.state &&
	    (report.state != SHARE_IDLE || llabs(report.since - before->since) < MS_PER_SECOND))
		report.since = before->since;
	if (worker->reason == REASON_DRAINING && worker->node)
		report.ends = worker->node->drain_deadline_ms;
	return report;
}

const struct pool_report *pool_report_make(const struct plan *plan, const struct pool_report *old,
					   time_ms now, struct arena *arena)
{
	struct pool_report *report = ARENA_NEW(arena, struct pool_report);

	report->workers = arena_array(arena, plan->workers.count, sizeof(*report->workers));
	VEC_EACH(const struct plan_worker, worker, &plan->workers)
		if (worker->pod[0] != '\0')
			report->workers[report->worker_count++] = report_worker(worker, old, now);
	qsort(report->workers, report->worker_count, sizeof(*report->workers), by_pod);
	report->group_count = plan->groups.count;
	report->min_replicas = arena_array(arena, plan->groups.count, sizeof(int64_t));
	for (size_t g = 0; g < plan->groups.count; g++)
		report->min_replicas[g] = plan->groups.at[g].min_replicas;
	return report;
}

/* ---- workers ---- */

struct making {
	const struct pool_member_input *input;
	struct pool_member *member;
	struct arena *arena, *scratch;
	struct map replicas; /* "group/replica" to the index of a worker + 1, of several hosts */
};

static bool is_outside(const struct making *m, size_t pool)
{
	return m->input->in_kueue && pool != POOL_NONE && m->input->pools[pool]->kueue_outside;
}

/* A Pod that no plan has seen yet starts; without any plan nothing is known. A protected one counts as busy:
 * do-not-disrupt holds within the guarantee, below which nothing ends. */
static void judge(const struct making *m, const struct gpu_holding *holding,
		  struct pool_worker *worker)
{
	const struct pod *pod = holding->pod;
	const struct pool_report_worker *found;

	worker->state = SHARE_STARTING;
	worker->drain =
		pod && m->input->drains ? VEC_FIND(&m->input->drains->list, pod, pod->name) : NULL;
	if (holding->leaves || worker->drain) {
		worker->state = SHARE_LEAVING;
		return;
	}
	if (!pod || holding->group >= m->member->group_count ||
	    (pod_is_protected(pod) && m->input->pools[worker->pool]->keeps_protected))
		return;
	found = reported(m->input->report, pod->name);
	if (!found && !m->input->report)
		worker->state = SHARE_BUSY;
	if (!found)
		return;
	worker->state = found->state;
	worker->needed = found->needed;
	worker->requested = found->requested && !pod_is_protected(pod);
	worker->since = found->since;
	worker->ends = found->ends;
	if (pod_is_protected(pod) && worker->state == SHARE_IDLE)
		worker->state = SHARE_BUSY;
	worker->needed |= pod_is_protected(pod);
}

/* The hosts of a replica are one worker: busy when one of them is. */
static void join_host(struct pool_worker *replica, const struct pool_worker *host)
{
	replica->gpus = resource_sum(replica->gpus, host->gpus);
	replica->requested = (replica->requested || !replica->needed) &&
			     (host->requested || !host->needed);
	replica->needed |= host->needed;
	if (host->drain)
		replica->drain = host->drain;
	if (host->ends > replica->ends)
		replica->ends = host->ends;
	if (host->since > replica->since)
		replica->since = host->since;
	if (host->state < replica->state)
		replica->state = host->state;
}

static struct pool_worker *replica_of(struct making *m, const struct gpu_holding *holding)
{
	const char *name = holding->pod ? labels_value(&holding->pod->labels, LABEL_REPLICA_NAME) :
					  NULL;
	const char *key;
	uintptr_t index;

	if (!name || holding->leaves || holding->group >= m->member->group_count ||
	    m->member->groups[holding->group].hosts <= 1)
		return NULL;
	key = arena_printf(m->scratch, "%zu/%s", holding->group, name);
	index = (uintptr_t)map_get(&m->replicas, key);
	if (index > 0)
		return &m->member->workers.at[index - 1];
	map_set(&m->replicas, key, (void *)(uintptr_t)(m->member->workers.count + 1));
	return NULL;
}

/* The pool of the Pod's Node. */
static size_t pool_of_node(const struct making *m, const struct pod *pod)
{
	const struct pool_room *free = m->input->free;
	size_t node = free ? pool_room_node_of(free, pod) : SIZE_MAX, pool = 0;

	if (node == SIZE_MAX)
		return POOL_NONE;
	while (pool < m->input->pool_count && !free->nodes[node].in[pool])
		pool++;
	return pool < m->input->pool_count ? pool : POOL_NONE;
}

static size_t pool_of_pod(const struct making *m, const struct pod *pod)
{
	const struct pool_member_input *input = m->input;
	const struct pod_claims *claims =
		pod_claims_make(pod->namespace_, &pod->spec, pod->claim_statuses,
				pod->claim_status_count, "spec", input->devices, m->scratch);
	size_t pool =
		pool_match_spec(input->pools, input->pool_count, &pod->spec, claims, m->scratch);

	if (pool == POOL_NONE || gpu_pool_is_of_flags(input->pools[pool]->name)) {
		size_t on = pool_of_node(m, pod);

		pool = on != POOL_NONE ? on : pool;
	}
	return pool;
}

/* A group that no pool matches draws from that of the Nodes where its Pods are: a template without the
 * nodeSelector of a pool must not be a way around it. */
static void note_pool(const struct making *m, const struct gpu_holding *holding, size_t pool)
{
	struct pool_group *group = holding->pod && holding->group < m->member->group_count ?
					   &m->member->groups[holding->group] :
					   NULL;

	if (!group ||
	    (group->pool != POOL_NONE && !gpu_pool_is_of_flags(m->input->pools[group->pool]->name)))
		return;
	group->pool = pool;
	group->outside = is_outside(m, pool);
}

static void add_worker(struct making *m, const struct gpu_holding *holding)
{
	const struct pool_member_input *input = m->input;
	struct pool_worker worker = { .gpus = resource_product(holding->amount, holding->pods) };
	struct pool_worker *replica;
	size_t pool;

	if (worker.gpus == 0)
		return;
	if (holding->pod)
		pool = pool_of_pod(m, holding->pod);
	else if (holding->group < m->member->group_count)
		pool = m->member->groups[holding->group].pool;
	else
		pool = input->groups->head_pool;
	if (pool == POOL_NONE)
		return;
	note_pool(m, holding, pool);
	worker.pool = (uint32_t)pool;
	worker.group = holding->group < m->member->group_count ? (uint32_t)holding->group :
								 UINT32_MAX;
	worker.outside = is_outside(m, pool);
	judge(m, holding, &worker);
	replica = replica_of(m, holding);
	if (replica) {
		join_host(replica, &worker);
	} else {
		replica = VEC_ADD(m->arena, &m->member->workers);
		*replica = worker;
	}
	if (holding->pod)
		VEC_PUSH(m->arena, &replica->pods,
			 ((struct pool_pod){ holding->pod->name, holding->pod, POOL_NODE_OTHER }));
}

/* Workers that minReplicas keeps may not be ended: of a group with more, the busy ones. */
static void keep_minimum(struct making *m, const struct gpu_holdings *holdings)
{
	const struct pool_report *report = m->input->report;
	const struct pool_member *member = m->member;
	int64_t *spare = arena_array(m->scratch, member->group_count, sizeof(*spare));

	VEC_EACH(const struct gpu_holding, holding, &holdings->list)
		if (holding->group < member->group_count && !holding->leaves)
			spare[holding->group] += holding->pods;
	for (size_t g = 0; g < member->group_count; g++) {
		int64_t minimum = m->input->cluster->groups[g].min_replicas;

		if (report && g < report->group_count && report->min_replicas[g] > minimum)
			minimum = report->min_replicas[g];
		spare[g] = spare[g] / member->groups[g].hosts - minimum;
	}
	for (int busy = 0; busy < 2; busy++)
		VEC_EACH(struct pool_worker, worker, &m->member->workers)
			if (worker->state == (busy ? SHARE_BUSY : SHARE_IDLE) &&
			    spare[worker->group]-- <= 0)
				worker->state = SHARE_STARTING;
}

/* ---- groups ---- */

/* All that pool_places reads of a Pod: requests, what matches a Node, and its claimed devices. */
static const char *shape_of(const struct pool_group *group, const struct pod_spec *spec,
			    const struct pod_claims *claims, struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	const struct resources request = pod_request_with_parts(spec, &scratch);
	struct node_match_text match = { .arena = &scratch };

	buf_init(&text, SHAPE_BYTES_MAX);
	(void)buf_printf(&text, "%lld/%lld\n", (long long)group->replica_gpus,
			 (long long)group->hosts);
	VEC_EACH(const struct resource, one, &request)
		(void)buf_printf(&text, "%s=%lld\n", one->name, (long long)one->amount);
	if (claims)
		VEC_EACH(const struct quantity, one, &claims->charge)
			(void)buf_printf(&text, "claim %s=%lld\n", one->name,
					 (long long)one->amount);
	node_match_write(&match, spec);
	(void)buf_add(&text, match.at, match.count);
	return arena_strdup(arena, buf_string(&text));
}

const struct pool_groups *pool_groups_make(const struct pool_member_input *input,
					   struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct ray_cluster *cluster = input->cluster;
	struct pool_groups *groups = ARENA_NEW(arena, struct pool_groups);
	struct gpu_templates *templates = &groups->templates;

	groups->list = arena_array(arena, cluster->group_count, sizeof(*groups->list));
	groups->count = cluster->group_count;
	groups->claims = claimed_by_cluster(cluster);
	gpu_templates_make(cluster, input->settings, input->devices, &scratch, arena, templates);
	for (size_t g = 0; g < groups->count; g++) {
		const struct worker_group *group = &cluster->groups[g];
		const struct pod_spec *spec = &group->template.spec;
		const struct pod_claims *claims = steal(&templates->groups[g].claims);
		struct pool_group *own = &groups->list[g];

		*own = (struct pool_group){ .name = arena_strdup(arena, group->name),
					    .pool = POOL_NONE,
					    .hosts = group->num_of_hosts > 0 ? group->num_of_hosts :
									       1 };
		own->replica_gpus = resource_product(templates->groups[g].cost.amount, own->hosts) +
				    templates->groups[g].cost.shared;
		own->shape = shape_of(own, spec, claims, arena);
		if (own->replica_gpus > 0)
			own->pool = pool_match_spec(input->pools, input->pool_count, spec, claims,
						    &scratch);
	}
	groups->head_pool = pool_match_spec(input->pools, input->pool_count,
					    &cluster->head_template.spec,
					    steal(&templates->head.claims), &scratch);
	return groups;
}

static void borrow_groups(struct making *m)
{
	const struct pool_groups *groups = m->input->groups;

	CHECK(groups->count == m->input->cluster->group_count);
	m->member->group_count = groups->count;
	m->member->groups = ARENA_COPY(m->arena, groups->list, groups->count);
	for (size_t g = 0; g < groups->count; g++) {
		m->member->groups[g].spec = &m->input->cluster->groups[g].template.spec;
		m->member->groups[g].outside = is_outside(m, groups->list[g].pool);
	}
}

const struct pool_member *pool_member_make(const struct pool_member_input *input,
					   struct arena *arena)
{
	struct pool_member *member = ARENA_NEW(arena, struct pool_member);
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct making m = { .input = input, .member = member, .arena = arena, .scratch = &scratch };
	struct gpu_holdings holdings;

	member->namespace_ = input->namespace_;
	member->key = input->key;
	if (input->cluster)
		borrow_groups(&m);
	gpu_count(input->cluster, input->cluster ? &input->groups->templates : NULL, input->pods,
		  input->pod_count, input->replicas, input->settings, input->devices, &scratch,
		  &holdings);
	VEC_RESERVE(arena, &member->workers, holdings.list.count);
	VEC_EACH(const struct gpu_holding, holding, &holdings.list)
		add_worker(&m, holding);
	if (input->cluster)
		keep_minimum(&m, &holdings);
	for (size_t g = 0; g < member->group_count; g++)
		member->strays |= member->groups[g].pool == POOL_NONE &&
				  member->groups[g].replica_gpus > 0;
	map_done(&m.replicas);
	return member;
}

void pool_member_locate(struct pool_member *member, const struct pool_room *free)
{
	VEC_EACH(struct pool_worker, worker, &member->workers)
		VEC_EACH(struct pool_pod, pod, &worker->pods)
			pod->node = !pod->pod ? POOL_NODE_OTHER :
				    pod->pod->spec.node_name[0] == '\0' ?
						POOL_NODE_UNBOUND :
						pool_room_node_of(free, pod->pod);
}

bool pool_member_draws(const struct pool_member *member)
{
	for (size_t g = 0; g < member->group_count; g++)
		if (member->groups[g].pool != POOL_NONE)
			return true;
	return member->workers.count > 0;
}
