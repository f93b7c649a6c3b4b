/* Variants of RayClusters: a path changes the objects of files before they are decoded. */

#include "codec/objects/cluster_set.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/claimed.h"
#include "core/model/device.h"
#include "test/support/support.h"

static const char files[] =
	"kind: ConfigMap\n"
	"---\n"
	"kind: RayCluster\nmetadata: {name: a, namespace: x}\n"
	"spec: {workerGroupSpecs: [{groupName: cpu, maxReplicas: 1}, {groupName: gpu,\n"
	"  maxReplicas: 2, rayStartParams: {}, template: {spec: {containers: [{name: w,\n"
	"  resources: {limits: {}}}]}}}]}\n"
	"---\n"
	"{kind: List, items: [{kind: RayClusterAutoscaler, metadata: {name: a, namespace: x},\n"
	"  spec: {idleTimeoutSeconds: 7, schedules: [{name: night, start: 0 22 * * *,\n"
	"  duration: 8h}]}},\n"
	"  {kind: RayService, metadata: {name: b}, spec: {rayClusterConfig: {workerGroupSpecs:\n"
	"  [{groupName: gpu, maxReplicas: 3}]}}},\n"
	"  {kind: RayJob, metadata: {name: c}, spec: {rayClusterSpec: {}}}]}\n";

struct fixture {
	struct cluster_set *set;
	struct arena arena;
	const struct cluster_setup *setups;
	size_t count;
	struct settings settings;
};

static void fixture_done(struct fixture *fixture)
{
	cluster_set_free(fixture->set);
	arena_done(&fixture->arena);
}

static void add(struct fixture *fixture, const char *text)
{
	struct err err;

	if (cluster_set_add(fixture->set, text, strlen(text), &err))
		fail_msg("%s", err.text);
}

static void change(struct fixture *fixture, const char *path, const char *value)
{
	struct err err;

	if (cluster_set_change(fixture->set, path, value, &err))
		fail_msg("%s", err.text);
}

static void decode(struct fixture *fixture)
{
	struct err err;

	if (cluster_set_decode(fixture->set, &fixture->arena, &fixture->setups, &fixture->count,
			       &fixture->settings, &err))
		fail_msg("%s", err.text);
}

static void objects_of_files_are_found(void **state)
{
	AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };

	(void)state;
	add(&fixture, files);
	decode(&fixture);
	assert_int_equal(fixture.count, 3);
	assert_string_equal(fixture.setups[0].cluster.name, "a");
	assert_true(fixture.setups[0].has_autoscaler);
	assert_int_equal(fixture.setups[0].autoscaler.idle_timeout_seconds, 7);
	assert_string_equal(fixture.setups[1].cluster.name, "b");
	assert_int_equal(fixture.setups[1].cluster.groups[0].max_replicas, 3);
	assert_false(fixture.setups[1].has_autoscaler);
	assert_string_equal(fixture.setups[2].cluster.name, "c");
}

static void a_cron_job_has_a_raycluster(void **state)
{
	AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };

	(void)state;
	add(&fixture,
	    "{kind: RayCronJob, metadata: {name: d}, spec: {jobTemplate:\n"
	    "  {rayClusterSpec: {workerGroupSpecs: [{groupName: gpu, maxReplicas: 4}]}}}}\n");
	decode(&fixture);
	assert_int_equal(fixture.count, 1);
	assert_string_equal(fixture.setups[0].cluster.name, "d");
	assert_int_equal(fixture.setups[0].cluster.groups[0].max_replicas, 4);
}

/* The API server makes these names; claims of the files count as devices. */
/* labels_value searches a sorted list. */
static void a_namespace_has_all_of_its_labels(void **state)
{
	AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };
	static const char *const wanted[][2] = { { "a", "1" },
						 { "team", "research" },
						 { "kubernetes.io/metadata.name", "x" } };

	(void)state;
	add(&fixture, files);
	add(&fixture, "{kind: Namespace, metadata: {name: x, labels: {team: research, a: \"1\",\n"
		      "  kubernetes.io/metadata.name: y}}}\n");
	decode(&fixture);
	for (size_t i = 0; i < SUPPORT_COUNT(wanted); i++) {
		const char *value = labels_value(&fixture.setups[0].namespace_labels, wanted[i][0]);

		if (!value)
			fail_msg("no label %s", wanted[i][0]);
		assert_string_equal(value, wanted[i][1]);
	}
}

static void generated_names_and_claims(void **state)
{
	static const char text[] =
		"apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {generateName: train-}\n"
		"spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: a}]}}}}}\n"
		"---\n"
		"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {generateName: train-}\n"
		"spec: {headGroupSpec: {template: {spec: {containers: [{name: a}]}}}}\n"
		"---\n"
		"apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
		"spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: "
		"gpu.nvidia.com}}]}}}\n";
	AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };

	(void)state;
	add(&fixture, text);
	decode(&fixture);
	assert_int_equal(fixture.count, 2);
	assert_string_equal(fixture.setups[0].cluster.name, "train-1");
	assert_string_equal(fixture.setups[1].cluster.name, "train-2");
	assert_int_equal(cluster_set_trees(fixture.set, "ResourceClaimTemplate").count, 1);
	assert_int_equal(cluster_set_trees(fixture.set, "ResourceClaim").count, 0);
}

static void a_path_changes_every_object_that_has_it(void **state)
{
	AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };
	const struct autoscaler_schedule *night;
	struct cluster_set *original;

	(void)state;
	add(&fixture, files);
	original = fixture.set;
	fixture.set = cluster_set_copy(original);
	cluster_set_free(original);
	change(&fixture, "workerGroupSpecs[gpu].maxReplicas", "9");
	change(&fixture, "workerGroupSpecs[cpu].minReplicas", "1");
	change(&fixture,
	       "workerGroupSpecs[gpu].template.spec.containers[0].resources.limits[nvidia.com/gpu]",
	       "2");
	change(&fixture, "workerGroupSpecs[gpu].rayStartParams[num-gpus]", "\"4\"");
	change(&fixture, "idleTimeoutSeconds", "300");
	change(&fixture, "groups[gpu].idleTimeoutSeconds", "30");
	change(&fixture, "warmWorkers[gpu].count", "2");
	change(&fixture, "schedules[night].groups[gpu].minReplicas", "4");
	change(&fixture, "schedules[night].warmWorkers[gpu].count", "3");
	change(&fixture, "schedules[0].duration", "2h");
	change(&fixture, "packing", "fewest-gpus");
	change(&fixture, "max-starting-workers", "5");
	decode(&fixture);
	assert_int_equal(fixture.setups[0].cluster.groups[1].max_replicas, 9);
	assert_int_equal(fixture.setups[1].cluster.groups[0].max_replicas, 9);
	assert_int_equal(fixture.setups[0].cluster.groups[0].max_replicas, 1);
	assert_int_equal(fixture.setups[0].cluster.groups[0].min_replicas, 1);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(fixture.setups[i].autoscaler.idle_timeout_seconds, 300);
		assert_string_equal(fixture.setups[i].autoscaler.groups[0].name, "gpu");
		assert_int_equal(fixture.setups[i].autoscaler.groups[0].idle_timeout_seconds, 30);
		assert_string_equal(fixture.setups[i].autoscaler.warm_workers[0].group, "gpu");
		assert_int_equal(fixture.setups[i].autoscaler.warm_workers[0].count, 2);
	}
	night = &fixture.setups[0].autoscaler.schedules[0];
	assert_string_equal(night->groups[0].name, "gpu");
	assert_int_equal(night->groups[0].min_replicas, 4);
	assert_string_equal(night->warm_workers[0].group, "gpu");
	assert_int_equal(night->warm_workers[0].count, 3);
	assert_string_equal(night->duration, "2h");
	assert_int_equal(fixture.setups[1].autoscaler.schedule_count, 0);
	assert_int_equal(fixture.settings.packing, PACKING_FEWEST_GPUS);
	assert_int_equal(fixture.settings.max_starting_workers, 5);
}

static void paths_that_change_nothing_are_refused(void **state)
{
	static const struct {
		const char *path, *error;
	} bad[] = {
		{ "", ": is not a path like" },
		{ ".a", ".a: is not a path like" },
		{ "a.", "a.: is not a path like" },
		{ "a[", "a[: is not a path like" },
		{ "a[]", "a[]: is not a path like" },
		{ "a]", "a]: is not a path like" },
		{ "a[b]c", "a[b]c: a dot must follow the bracket" },
		{ "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q",
		  "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q: has more than 16 parts" },
		{ "nothing", "nothing is not known; give a member of spec of a RayCluster, as " },
		{ "packing.ray", "packing.ray is not known" },
		{ "gpuPools.gpus", "gpuPools.gpus: write a path like gpuPools[NAME]." },
		{ "gpuPools[a].gpus",
		  "gpuPools[a].gpus: the files have no GPUPool a; give one of them with -f" },
		{ "idleTimeoutSecond",
		  "idleTimeoutSecond is not known; did you mean idleTimeoutSeconds?" },
		{ "workerGroupSpecs[tpu].maxReplicas",
		  "workerGroupSpecs[tpu].maxReplicas: workerGroupSpecs has no element tpu; it has " },
		{ "workerGroupSpecs[gpu].maxReplica",
		  "workerGroupSpecs[gpu].maxReplica: maxReplica is not a member that a decision "
		  "reads; did you mean maxReplicas?" },
		{ "workerGroupSpecs.maxReplicas",
		  "workerGroupSpecs.maxReplicas: maxReplicas: there is no object with this member" },
		{ "groups[gpu].idle", "groups[gpu].idle: idle is not a member that a decision" },
		{ "warmWorkers[gpu].cout",
		  "warmWorkers[gpu].cout: cout is not a member that a decision reads; "
		  "did you mean count?" },
		{ "warmWorkers[tpu].count",
		  "warmWorkers[tpu].count: no RayCluster has a worker group \"tpu\"; they have " },
		{ "warmWorkers[0].count",
		  "warmWorkers[0].count: warmWorkers has no element 0; it has none" },
		{ "schedules[office].groups[gpu].minReplicas",
		  "schedules[office].groups[gpu].minReplicas: schedules has no element office; it "
		  "has night" },
		{ "schedules[1].duration", "schedules[1].duration: schedules has no element 1" },
		{ "schedules[night]", "schedules[night]: [night]: name a member of this element" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };
		struct err err = { .kind = ERR_NONE };

		add(&fixture, files);
		if (cluster_set_change(fixture.set, bad[i].path, "1", &err) == 0)
			fail_msg("no error for: %s", bad[i].path);
		if (strncmp(err.text, bad[i].error, strlen(bad[i].error)) != 0)
			fail_msg("%s\n  gives  %s\n  not    %s", bad[i].path, err.text,
				 bad[i].error);
	}
}

static void without_a_cluster_a_path_changes_nothing(void **state)
{
	AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };
	struct err err;

	(void)state;
	add(&fixture, "kind: ConfigMap\n");
	change(&fixture, "workerGroupSpecs[gpu].maxReplicas", "1");
	assert_int_equal(cluster_set_decode(fixture.set, &fixture.arena, &fixture.setups,
					    &fixture.count, &fixture.settings, &err),
			 -1);
	assert_string_equal(err.text, "there is no RayCluster in the files; give one with -f");
}

static void invalid_objects_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{ "kind: ConfigMap\n", "there is no RayCluster in the files; give one with -f" },
		{ "kind: RayCluster\n", "RayCluster: metadata.name: " },
		{ "kind: RayCluster\nmetadata: {name: a}\nspec: {workerGroupSpecs: [{groupName: g,\n"
		  "  maxReplicas: -1}]}\n",
		  "RayCluster a: spec.workerGroupSpecs[0].maxReplicas: must be 0 to" },
		{ "kind: RayCluster\nmetadata: {name: a}\n---\n"
		  "kind: RayCluster\nmetadata: {name: a}\n",
		  "RayCluster a is there twice; rename or remove one" },
		{ "kind: RayCluster\nmetadata: {name: a}\n---\n"
		  "kind: RayClusterAutoscaler\nmetadata: {name: b}\n",
		  "RayClusterAutoscaler b: the files have no RayCluster of this name" },
		{ "kind: RayCluster\nmetadata: {name: a}\n---\n"
		  "kind: RayClusterAutoscaler\nmetadata: {name: a}\nspec: {maxGPUs: many}\n",
		  "RayClusterAutoscaler a: spec.maxGPUs: " },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(fixture_done) struct fixture fixture = { .set = cluster_set_new() };
		struct err err = { .kind = ERR_NONE };

		add(&fixture, bad[i].text);
		if (cluster_set_decode(fixture.set, &fixture.arena, &fixture.setups, &fixture.count,
				       &fixture.settings, &err) == 0)
			fail_msg("no error for: %s", bad[i].text);
		if (strncmp(err.text, bad[i].error, strlen(bad[i].error)) != 0)
			fail_msg("%s\n  gives  %s\n  not    %s", bad[i].text, err.text,
				 bad[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_of_files_are_found),
		cmocka_unit_test(a_cron_job_has_a_raycluster),
		cmocka_unit_test(a_namespace_has_all_of_its_labels),
		cmocka_unit_test(generated_names_and_claims),
		cmocka_unit_test(a_path_changes_every_object_that_has_it),
		cmocka_unit_test(paths_that_change_nothing_are_refused),
		cmocka_unit_test(without_a_cluster_a_path_changes_nothing),
		cmocka_unit_test(invalid_objects_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
