/* Pods and Ray nodes of a random snapshot: see laws_random.h. */
#include <stdio.h>

#include "laws_maker.h"

/* How often each is drawn. */
static const int WEIGHTS[KIND_COUNT] = {
	[KIND_BUSY] = 20,          [KIND_FREE] = 8,        [KIND_IDLE] = 22,
	[KIND_DRAINED] = 4,        [KIND_DRAINING] = 4,    [KIND_DEAD_RAYLET] = 4,
	[KIND_RESTARTED] = 2,      [KIND_STARTING] = 8,    [KIND_LATE] = 2,
	[KIND_PENDING] = 8,        [KIND_GATED] = 3,       [KIND_UNSCHEDULABLE] = 5,
	[KIND_FAILED] = 3,         [KIND_DELETING] = 3,    [KIND_NO_POD] = 1,
	[KIND_UNKNOWN_STATUS] = 1, [KIND_BAD_FIGURES] = 1,
};

/* ---- workers ---- */

static enum kind draw_kind(struct maker *m)
{
	int sum = 0, at;

	for (int i = 0; i < KIND_COUNT; i++)
		sum += WEIGHTS[i];
	at = laws_maker_below(m, sum);
	for (int i = 0; i < KIND_COUNT; i++)
		if ((at -= WEIGHTS[i]) < 0)
			return (enum kind)i;
	return KIND_BUSY;
}

static void draw_replica(struct maker *m, int group, int replica, enum kind usual)
{
	struct shape *s = &m->groups[group];
	enum kind kind = laws_maker_one_in(m, 3) ? draw_kind(m) : usual;

	for (int host = 0; host < s->hosts && m->worker_count < WORKERS_MAX; host++) {
		struct worker *worker = &m->workers[m->worker_count];

		if (s->hosts > 1 && laws_maker_one_in(m, 20))
			continue; /* the host is lost */
		*worker = (struct worker){ .group = group, .replica = replica, .kind = kind };
		if (s->hosts > 1 && laws_maker_one_in(m, 6))
			worker->kind = draw_kind(m);
		snprintf(worker->name, sizeof(worker->name), "%s-%c%02d", s->name,
			 'a' + laws_maker_below(m, 26), m->worker_count);
		m->listed[m->worker_count] = laws_maker_one_in(m, 40);
		m->worker_count++;
		s->pods += worker->kind != KIND_NO_POD;
	}
}

void laws_maker_draw_workers(struct maker *m)
{
	for (int g = 0; g <= m->group_count; g++) {
		struct shape *s = &m->groups[g];
		enum kind usual = draw_kind(m);
		int replicas = laws_maker_below(m, (s->max < 5 ? s->max : 5) + 1), count;

		if (g == m->group_count)
			replicas = laws_maker_one_in(m, 15);
		else if (s->max < 5 && laws_maker_one_in(m, 25))
			replicas = s->max + 1 + laws_maker_below(m, 2); /* above the maximum */
		for (int i = 0; i < replicas && m->worker_count < WORKERS_MAX; i++)
			draw_replica(m, g, i, usual);
		count = (s->pods + s->hosts - 1) / s->hosts;
		s->replicas = count < s->min ? s->min : count;
		if (laws_maker_one_in(m, 8))
			s->replicas = laws_maker_below(m, s->max + 2);
	}
}

/* Seconds since its Ray container started; -1: it has not. */
static int started_ago(struct maker *m, enum kind kind)
{
	switch (kind) {
	case KIND_STARTING:
		return 5 + laws_maker_below(m, 600);
	case KIND_LATE:
		return 1300 + laws_maker_below(m, 900);
	case KIND_PENDING:
	case KIND_UNSCHEDULABLE:
	case KIND_GATED:
		return -1;
	default:
		return laws_maker_below(m, 5000);
	}
}

static void add_status(struct maker *m, const struct worker *worker)
{
	int ago = started_ago(m, worker->kind);

	if (worker->kind == KIND_FAILED) {
		ADD(m, "\"status\":{\"phase\":\"%s\",\"message\":\"ended\"}",
		    laws_maker_one_in(m, 4) ? "Succeeded" : "Failed");
	} else if (ago >= 0) {
		ADD(m, "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"ray\","
		       "\"state\":{\"running\":{");
		laws_maker_add_time(m, "startedAt", ago);
		ADD(m, "}}}]}");
	} else if (worker->kind == KIND_PENDING && laws_maker_one_in(m, 2)) {
		ADD(m,
		    "\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"ray\","
		    "\"state\":{\"waiting\":{\"reason\":\"%s\"}}}]}",
		    PICK_WORD(m, "ContainerCreating", "ErrImagePull", "CrashLoopBackOff"));
	} else if (worker->kind == KIND_PENDING) {
		ADD(m, "\"status\":{\"phase\":\"Pending\"}");
	} else {
		ADD(m,
		    "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\""
		    ",\"status\":\"False\",\"reason\":\"%s\",\"message\":\"no room\",",
		    worker->kind == KIND_GATED ? "SchedulingGated" : "Unschedulable");
		laws_maker_add_time(m, "lastTransitionTime", laws_maker_below(m, 1200));
		ADD(m, "}]}");
	}
}

static void add_pod(struct maker *m, int index)
{
	const struct worker *worker = &m->workers[index];
	const struct shape *s = &m->groups[worker->group];
	enum kind kind = worker->kind;

	ADD(m,
	    ",{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"labels\":{"
	    "\"ray.io/cluster\":\"demo\",\"ray.io/node-type\":\"worker\",\"ray.io/group\":\"%s\"",
	    worker->name, s->name);
	if (s->hosts > 1)
		ADD(m, ",\"ray.io/worker-group-replica-name\":\"%s-%d\"", s->name, worker->replica);
	ADD(m, "},");
	laws_maker_add_time(m, "creationTimestamp", 5000 + laws_maker_below(m, 1000));
	if (kind == KIND_DELETING) {
		ADD(m, ",");
		laws_maker_add_time(m, "deletionTimestamp", laws_maker_below(m, 30));
	}
	ADD(m, "},\"spec\":{\"containers\":[{\"name\":\"ray\"}]");
	if (kind == KIND_GATED && laws_maker_one_in(m, 2))
		ADD(m, ",\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/%s\"}]",
		    PICK_WORD(m, "admission", "elastic-job"));
	if (kind != KIND_GATED && kind != KIND_UNSCHEDULABLE && !laws_maker_one_in(m, 4))
		ADD(m, ",\"nodeName\":\"machine-%d\"", laws_maker_below(m, 4));
	ADD(m, "},");
	add_status(m, worker);
	ADD(m, "}");
}

void laws_maker_add_pods(struct maker *m)
{
	ADD(m,
	    "\"pods\":[{\"metadata\":{\"namespace\":\"default\",\"name\":\"demo-head\",\"labels\":{"
	    "\"ray.io/cluster\":\"demo\",\"ray.io/node-type\":\"head\",\"ray.io/group\":"
	    "\"headgroup\"}},\"spec\":{\"containers\":[{\"name\":\"ray\"}]},\"status\":{"
	    "\"phase\":\"Running\"}}");
	for (int i = 0; i < m->worker_count; i++)
		if (m->workers[i].kind != KIND_NO_POD)
			add_pod(m, i);
	ADD(m, "],");
}

void laws_maker_add_events(struct maker *m)
{
	const char *between = "";

	ADD(m, "\"events\":[");
	for (int i = 0; i < m->worker_count; i++) {
		if (m->workers[i].kind != KIND_UNSCHEDULABLE || laws_maker_one_in(m, 2))
			continue;
		ADD(m,
		    "%s{\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":"
		    "\"%s\"},\"reason\":\"%s\",\"message\":\"told so\",",
		    between, m->workers[i].name,
		    PICK_WORD(m, "NotTriggerScaleUp", "TriggeredScaleUp", "FailedScheduling"));
		laws_maker_add_time(m, "lastTimestamp", laws_maker_below(m, 300));
		ADD(m, "}");
		between = ",";
	}
	ADD(m, "],");
}

/* ---- Ray's nodes ---- */

static void add_amounts(struct maker *m, const char *member, const struct shape *s, bool used,
			bool head)
{
	int cpu = s->cpu, gpu = s->gpu * 10, extra = s->extra_count, memory = s->memory_gib;

	if (used) {
		cpu = laws_maker_below(m, s->cpu + 1);
		gpu = laws_maker_one_in(m, 4) ? laws_maker_below(m, s->gpu * 10 + 1) :
						laws_maker_below(m, s->gpu + 1) * 10;
		extra = laws_maker_below(m, s->extra_count + 1);
		memory = laws_maker_below(m, s->memory_gib + 1);
	}
	ADD(m, "\"%s\":{\"CPU\":%d,\"object_store_memory\":1000000", member, cpu);
	if (s->gpu)
		ADD(m, ",\"GPU\":%d.%d", gpu / 10, gpu % 10);
	if (s->memory_gib)
		ADD(m, ",\"memory\":%lld", (long long)memory << 30);
	if (s->extra)
		ADD(m, ",\"%s\":%d", s->extra, extra);
	if (head)
		ADD(m, ",\"node:__internal_head__\":1");
	ADD(m, "}");
}

static const char *status_of(enum kind kind)
{
	switch (kind) {
	case KIND_IDLE:
		return "IDLE";
	case KIND_DRAINED:
	case KIND_DRAINING:
		return "DRAINING";
	case KIND_DEAD_RAYLET:
		return "DEAD";
	case KIND_UNKNOWN_STATUS:
		return "UNSPECIFIED";
	default:
		return "RUNNING";
	}
}

static void add_node(struct maker *m, const char *instance, const struct shape *s, enum kind kind)
{
	bool head = s == &m->groups[HEAD_SHAPE];
	bool used = kind == KIND_BUSY || kind == KIND_DRAINING || kind == KIND_RESTARTED;
	int number = m->node_count++;

	ADD(m,
	    "%s{\"nodeId\":\"A%c%cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==\",\"instanceId\":\"%s\","
	    "\"rayNodeTypeName\":\"%s\",\"status\":\"%s\"",
	    number ? "," : "", 'A' + number / 26, 'a' + number % 26, instance, s->name,
	    status_of(kind));
	if (kind == KIND_DEAD_RAYLET) {
		ADD(m, "}");
		return;
	}
	if (kind == KIND_IDLE)
		ADD(m, ",\"idleDurationMs\":\"%d\"",
		    PICK(m, 1000, 59000, 60000, 60001, 90000, 700000, 5000000));
	ADD(m, ",");
	add_amounts(m, "totalResources", s, false, head);
	ADD(m, ",");
	if (kind == KIND_BAD_FIGURES)
		ADD(m, "\"availableResources\":{\"CPU\":\"NaN\"}");
	else
		add_amounts(m, "availableResources", s, used, head);
	ADD(m, ",");
	laws_maker_add_labels_of(m, s);
	if (m->gang_count && laws_maker_one_in(m, 6))
		ADD(m, ",\"dynamicLabels\":{\"_PG_%02d\":\"\"}",
		    laws_maker_below(m, m->gang_count));
	if (used && laws_maker_one_in(m, 3))
		ADD(m, ",\"nodeActivity\":[\"Resource: CPU currently in use.\"]");
	ADD(m, "}");
}

void laws_maker_add_nodes(struct maker *m)
{
	enum kind head = m->strange && laws_maker_one_in(m, 20) ?
				 (enum kind)PICK(m, KIND_DEAD_RAYLET, KIND_DRAINING) :
				 (enum kind)PICK(m, KIND_BUSY, KIND_FREE);

	ADD(m, "\"clusterSessionName\":\"session_a\",\"nodeStates\":[");
	add_node(m, "demo-head", &m->groups[HEAD_SHAPE], head);
	for (int i = 0; i < m->worker_count; i++) {
		const struct worker *worker = &m->workers[i];

		if (worker->kind >= KIND_STARTING && worker->kind <= KIND_FAILED &&
		    !(worker->kind == KIND_FAILED && laws_maker_one_in(m, 4)))
			continue;
		if (worker->kind == KIND_RESTARTED)
			add_node(m, worker->name, &m->groups[worker->group], KIND_DEAD_RAYLET);
		add_node(m, worker->name, &m->groups[worker->group], worker->kind);
	}
	if (laws_maker_one_in(m, 20))
		add_node(m, "long-gone", &m->groups[0], KIND_DEAD_RAYLET);
	ADD(m, "],");
}
