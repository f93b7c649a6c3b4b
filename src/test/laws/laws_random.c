#include "laws_random.h"

#include <stdio.h>

#include "codec/text/rfc3339.h"
#include "laws_maker.h"

/* ---- drawing ---- */

void laws_random_init(struct laws_random *random, uint64_t seed)
{
	random->state = seed * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x2545f4914f6cdd1d);
}

int laws_random_below(struct laws_random *random, int limit)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (int)((z ^ (z >> 31)) % (uint64_t)limit);
}

int laws_maker_below(struct maker *m, int limit)
{
	return laws_random_below(&m->random, limit);
}

bool laws_maker_one_in(struct maker *m, int chances)
{
	return laws_maker_below(m, chances) == 0;
}

/* A JSON string with the moment `seconds` before now. */
void laws_maker_add_time(struct maker *m, const char *name, int seconds)
{
	char text[RFC3339_SIZE];

	rfc3339_print(NOW_MS - (int64_t)seconds * 1000, text);
	ADD(m, "\"%s\":\"%s\"", name, text);
}

/* ---- groups ---- */

static void draw_shape(struct maker *m, struct shape *shape, int index)
{
	snprintf(shape->name, sizeof(shape->name), "%s-%d", PICK_WORD(m, "cpu", "gpu", "mix"),
		 index);
	shape->cpu = PICK(m, 1, 2, 4, 4, 8, 8, 16, 32);
	shape->gpu = PICK(m, 0, 0, 0, 1, 1, 2, 4, 8);
	shape->memory_gib = PICK(m, 0, 0, 4, 16, 64);
	shape->extra = PICK_WORD(m, NULL, NULL, NULL, NULL, NULL, "slice", "TPU", "neuron_cores");
	shape->extra_count = shape->extra ? PICK(m, 1, 2, 4) : 0;
	shape->zone = PICK_WORD(m, NULL, "a", "a", "b", "c");
	shape->market = PICK_WORD(m, NULL, NULL, NULL, "spot", "on-demand");
	shape->hosts = PICK(m, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4);
	shape->max = PICK(m, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12, 40);
	shape->min = laws_maker_one_in(m, 3) ?
			     laws_maker_below(m, shape->max > 2 ? 3 : shape->max + 1) :
			     0;
	shape->seconds_idle = laws_maker_one_in(m, 6) ? PICK(m, 0, 30, 600) : -1;
	if (m->strange && laws_maker_one_in(m, 6))
		shape->odd = (enum oddity)(1 + laws_maker_below(m, ODD_COUNT - 1));
}

static void add_resources(struct maker *m, const struct shape *s)
{
	switch (s->odd == ODD_CPU ? 0 : laws_maker_below(m, 3)) {
	case 0:
		ADD(m, "\"resources\":{\"CPU\":\"%d%s\"", s->cpu, s->odd == ODD_CPU ? " lots" : "");
		if (s->gpu)
			ADD(m, ",\"GPU\":\"%d\"", s->gpu);
		if (s->memory_gib)
			ADD(m, ",\"memory\":\"%dGi\"", s->memory_gib);
		if (s->extra)
			ADD(m, ",\"%s\":\"%d\"", s->extra, s->extra_count);
		ADD(m, "},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\"}]}}");
		return;
	case 1:
		ADD(m, "\"rayStartParams\":{\"num-cpus\":\"%d\",\"num-gpus\":\"%d\"", s->cpu,
		    s->gpu);
		if (s->memory_gib)
			ADD(m, ",\"memory\":\"%lld\"", (long long)s->memory_gib << 30);
		if (s->extra)
			ADD(m, ",\"resources\":\"'{\\\"%s\\\": %d}'\"", s->extra, s->extra_count);
		ADD(m, "},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\"}]}}");
		return;
	default:
		ADD(m,
		    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"resources\":"
		    "{\"limits\":{\"cpu\":\"%d\"",
		    s->cpu);
		if (s->gpu)
			ADD(m, ",\"nvidia.com/gpu\":\"%d\"", s->gpu);
		if (s->memory_gib)
			ADD(m, ",\"memory\":\"%dGi\"", s->memory_gib);
		ADD(m, "}}}]}}");
		if (s->extra)
			ADD(m, ",\"rayStartParams\":{\"resources\":\"'{\\\"%s\\\": %d}'\"}",
			    s->extra, s->extra_count);
	}
}

void laws_maker_add_labels_of(struct maker *m, const struct shape *s)
{
	ADD(m, "\"labels\":{");
	if (s->zone)
		ADD(m, "\"zone\":\"%s\"", s->zone);
	if (s->market)
		ADD(m, "%s\"market\":\"%s\"", s->zone ? "," : "", s->market);
	if (s->odd == ODD_LABELS)
		ADD(m, "%s\"not a key\":\"x\"", s->zone || s->market ? "," : "");
	ADD(m, "}");
}

static void add_strategy(struct maker *m, int group)
{
	const char *between = "";

	ADD(m, ",\"scaleStrategy\":{\"workersToDelete\":[");
	for (int i = 0; i < m->worker_count; i++)
		if (m->listed[i] && m->workers[i].group == group) {
			ADD(m, "%s\"%s\"", between, m->workers[i].name);
			between = ",";
		}
	ADD(m, "]%s}", m->strange && laws_maker_one_in(m, 12) ? ",\"scaleGate\":true" : "");
}

static void add_group(struct maker *m, int index)
{
	struct shape *s = &m->groups[index];

	ADD(m, "%s{\"groupName\":\"%s\",\"replicas\":%d,\"maxReplicas\":%d", index ? "," : "",
	    s->odd && index && laws_maker_one_in(m, 5) ? m->groups[0].name : s->name, s->replicas,
	    s->max);
	if (s->hosts > 1)
		ADD(m, ",\"numOfHosts\":%d", s->hosts);
	if (s->odd == ODD_MINIMUM || s->min)
		ADD(m, ",\"minReplicas\":%d", s->odd == ODD_MINIMUM ? s->max + 1 : s->min);
	if (s->odd == ODD_SUSPENDED)
		ADD(m, ",\"suspend\":true");
	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"priority\":%d", 1 + laws_maker_below(m, 3));
	if (s->seconds_idle >= 0 || s->odd == ODD_TIMEOUT)
		ADD(m, ",\"idleTimeoutSeconds\":%d", s->odd == ODD_TIMEOUT ? -5 : s->seconds_idle);
	if (laws_maker_one_in(m, 3))
		add_strategy(m, index);
	ADD(m, ",");
	laws_maker_add_labels_of(m, s);
	ADD(m, ",");
	add_resources(m, s);
	ADD(m, "}");
}

static void add_ray_state(struct maker *m)
{
	ADD(m, "\"rayState\":{");
	laws_maker_add_nodes(m);
	ADD(m, "\"pendingResourceRequests\":");
	laws_maker_add_request_list(m, laws_maker_below(m, 7));
	ADD(m, ",\"pendingGangResourceRequests\":[");
	for (int i = 0; i < m->gang_count; i++)
		laws_maker_add_gang(m, i);
	ADD(m, "]");
	if (laws_maker_one_in(m, 3)) {
		ADD(m, ",\"clusterResourceConstraints\":[{\"resourceRequests\":");
		laws_maker_add_request_list(m, laws_maker_below(m, 4));
		ADD(m, "}]");
	}
	ADD(m, "},");
}

/* ---- the whole ---- */

static void add_annotations(struct maker *m)
{
	ADD(m, "\"annotations\":{");
	if (m->strange && laws_maker_one_in(m, 8)) {
		ADD(m, "\"rayscaler.dev/request-resources\":\"[{\\\"CPU\\\": lots}]\"");
	} else if (laws_maker_one_in(m, 5)) {
		const struct shape *s = &m->groups[laws_maker_below(m, m->group_count)];
		int count = laws_maker_below(m, 4);

		ADD(m, "\"rayscaler.dev/request-resources\":\"[");
		for (int i = 0; i < count; i++) {
			bool gpu = s->gpu && laws_maker_one_in(m, 2);
			int cpus = 1 + laws_maker_below(m, s->cpu);

			ADD(m, "%s{\\\"CPU\\\": %d%s}", i ? "," : "", cpus,
			    gpu ? ", \\\"GPU\\\": 1" : "");
		}
		ADD(m, "]\"");
	}
	ADD(m, "}");
}

static void add_ray_cluster(struct maker *m)
{
	ADD(m, "\"rayCluster\":{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{"
	       "\"namespace\":\"default\",\"name\":\"demo\",");
	add_annotations(m);
	ADD(m, "},\"spec\":{\"enableInTreeAutoscaling\":%s,",
	    m->strange && laws_maker_one_in(m, 30) ? "false" : "true");
	if (m->strange && laws_maker_one_in(m, 30))
		ADD(m, "\"suspend\":true,");
	ADD(m, "\"autoscalerOptions\":{");
	if (laws_maker_one_in(m, 4))
		ADD(m, "\"upscalingMode\":\"%s\"",
		    PICK_WORD(m, "Conservative", "Default", "Aggressive"));
	ADD(m,
	    "},\"headGroupSpec\":{\"rayStartParams\":{\"num-cpus\":\"%d\"},\"template\":{\"spec\":"
	    "{\"containers\":[{\"name\":\"ray\"}]}}},\"workerGroupSpecs\":[",
	    m->groups[HEAD_SHAPE].cpu);
	for (int g = 0; g < m->group_count; g++)
		add_group(m, g);
	ADD(m, "]}},");
}

static void add_settings(struct maker *m)
{
	ADD(m, "\"settings\":{\"packing\":\"%s\"",
	    laws_maker_one_in(m, 40) ? "fewest-gpus" : "ray");
	if (laws_maker_one_in(m, 8))
		ADD(m, ",\"enforce-max\":\"now\"");
	if (laws_maker_one_in(m, 8))
		ADD(m, ",\"conserve-accelerators\":false");
	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"max-starting-workers\":%d", 1 + laws_maker_below(m, 6));
	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"max-gpus-per-cluster\":%d", laws_maker_below(m, 30));
	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"accelerators\":[\"slice\"]");
	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"idle-timeout-seconds\":%d", laws_maker_below(m, 120));
	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"stuck-demand-seconds\":%d", laws_maker_below(m, 40));
	ADD(m, "}");
}

/* One draw after the other: the order of arguments is the compiler's. */
static void add_max_gpus(struct maker *m)
{
	bool paused = m->strange && laws_maker_one_in(m, 8);
	int gpus = laws_maker_below(m, 30);

	ADD(m, ",\"autoscaler\":{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"maxGPUs\":%d%s}}",
	    gpus, paused ? ",\"paused\":true" : "");
}

static void add_warm_workers(struct maker *m)
{
	int amount = PICK(m, 1, 2, 60);
	bool counted = laws_maker_one_in(m, 2);
	const char *group = m->groups[laws_maker_below(m, m->group_count)].name;

	ADD(m,
	    ",\"autoscaler\":{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"warmWorkers\":"
	    "[{\"group\":\"%s\",\"%s\":%d}]}}",
	    group, counted ? "count" : "percentOfBusy", amount);
}

/* Whether its window is open at NOW_MS, see laws_is_active(). */
static void add_window(struct maker *m, int index)
{
	const char *start = PICK_WORD(m, "0 8 * * *", "0 8 * * *", "0 12 * * *");

	ADD(m, "%s{\"name\":\"s%d\",\"start\":\"%s\",\"duration\":\"3h\"", index > 0 ? "," : "",
	    index, start);
	if (m->strange && laws_maker_one_in(m, 6))
		ADD(m, ",\"timeZone\":\"Mars/Phobos\"");
}

static void add_schedule_bundles(struct maker *m, const struct shape *s)
{
	int count = 1 + laws_maker_below(m, 3);

	ADD(m, ",\"bundles\":[");
	for (int i = 0; i < count; i++) {
		int cpus = 1 + laws_maker_below(m, s->cpu);
		bool gpu = s->gpu > 0 && laws_maker_one_in(m, 2);

		ADD(m, "%s{\"CPU\":%d%s}", i > 0 ? "," : "", cpus, gpu ? ",\"GPU\":1" : "");
	}
	ADD(m, "]");
}

/* One schedule with a minimum, one with bundles, one with warm workers, or two or all of them. */
static void add_schedules(struct maker *m)
{
	int kinds = 1 + laws_maker_below(m, 7), index = 0;

	ADD(m, ",\"autoscaler\":{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"schedules\":[");
	for (int kind = 0; kind < 3; kind++) {
		const struct shape *s = &m->groups[laws_maker_below(m, m->group_count)];
		int count = PICK(m, 1, 1, 2, 3, 7);

		if ((kinds >> kind & 1) == 0)
			continue;
		add_window(m, index++);
		if (kind == 0)
			ADD(m, ",\"groups\":[{\"name\":\"%s\",\"minReplicas\":%d}]", s->name,
			    count);
		else if (kind == 1)
			add_schedule_bundles(m, s);
		else
			ADD(m, ",\"warmWorkers\":[{\"group\":\"%s\",\"count\":%d}]", s->name,
			    count);
		ADD(m, "}");
	}
	ADD(m, "]}}");
}

static void add_rest(struct maker *m)
{
	bool has_object = true;

	if (laws_maker_one_in(m, 12))
		ADD(m, ",\"gpuBudget\":%d", laws_maker_below(m, 20));
	if (laws_maker_one_in(m, 12))
		add_max_gpus(m);
	else if (laws_maker_one_in(m, 12) && m->group_count)
		add_warm_workers(m);
	else
		has_object = false;
	if (laws_maker_one_in(m, 6) && m->group_count) {
		ADD(m, ",\"memory\":{\"backoffs\":[{\"group\":\"%s\",",
		    m->groups[laws_maker_below(m, m->group_count)].name);
		laws_maker_add_time(m, "until", PICK(m, -5, -30, -300, 20));
		ADD(m,
		    ",\"seconds\":%d,\"cause\":\"NodeProvisionTimeout\",\"message\":\"waited\"}]}",
		    PICK(m, 10, 40, 320));
	}
	if (!has_object && laws_maker_one_in(m, 6) && m->group_count)
		add_schedules(m);
}

/* Draws everything from one random sequence in a fixed order, so that a seed always gives the same
 * snapshot. One in five is `strange`: with malformed members and missing parts. */
void laws_random_snapshot(uint64_t seed, struct buf *out)
{
	struct maker m = { .out = out };

	laws_random_init(&m.random, seed);
	m.strange = laws_maker_one_in(&m, 5);
	m.group_count = 1 + laws_maker_below(&m, laws_maker_one_in(&m, 2) ? 3 : GROUPS_MAX);
	for (int g = 0; g <= m.group_count; g++)
		draw_shape(&m, &m.groups[g], g);
	m.groups[HEAD_SHAPE] = (struct shape){ .name = "headgroup", .cpu = PICK(&m, 0, 0, 2, 4) };
	laws_maker_draw_workers(&m);
	m.gang_count = laws_maker_one_in(&m, 2) ? laws_maker_below(&m, 4) : 0;
	ADD(&m, "{\"apiVersion\":\"rayscaler.dev/v1alpha1\",\"kind\":\"Snapshot\",");
	laws_maker_add_time(&m, "now", 0);
	ADD(&m, ",");
	add_ray_cluster(&m);
	laws_maker_add_pods(&m);
	laws_maker_add_events(&m);
	if (!(m.strange && laws_maker_one_in(&m, 12)))
		add_ray_state(&m);
	if (m.strange && laws_maker_one_in(&m, 12)) {
		laws_maker_add_time(&m, "rayStateTime", 2 + laws_maker_below(&m, 4));
		ADD(&m, ",");
	}
	add_settings(&m);
	add_rest(&m);
	ADD(&m, "}");
}
