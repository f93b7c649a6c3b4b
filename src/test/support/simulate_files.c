#include "test/support/simulate_files.h"

#include "base/memory.h"
#include "test/support/temp_files.h"

const char simulate_cluster[] =
	"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: demo}\n"
	"spec:\n"
	"  enableInTreeAutoscaling: true\n"
	"  headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers: [{name: h}]}}}\n"
	"  workerGroupSpecs:\n"
	"  - groupName: gpu\n"
	"    minReplicas: 0\n"
	"    maxReplicas: 4\n"
	"    template: {spec: {containers: [{name: w, resources: {limits: {cpu: 4,\n"
	"      nvidia.com/gpu: 1}}}]}}\n";

static const char workload[] =
	"apiVersion: rayscaler.dev/v1alpha1\nkind: Workload\nitems:\n"
	"- {submit: 0, duration: 5m, resources: {GPU: 1}, count: 2, job: train}\n"
	"- {submit: 8m, duration: 5m, resources: {GPU: 1}, job: eval}\n"
	"- {submit: 9m, duration: 5m, resources: {GPU: 8}, job: large}\n";

static const char trace[] = "at,minutes,gpu\n0,5,1\n480,5,1\n";

int simulate_files_setup(void **state)
{
	struct simulate_files *files = memory_alloc(sizeof(*files));

	files->directory = temp_directory();
	temp_write(files->directory, "cluster.yaml", simulate_cluster);
	temp_write(files->directory, "workload.yaml", workload);
	temp_write(files->directory, "trace.csv", trace);
	files->cluster = temp_path(files->directory, "cluster.yaml");
	files->workload = temp_path(files->directory, "workload.yaml");
	files->trace = temp_path(files->directory, "trace.csv");
	*state = files;
	return 0;
}

int simulate_files_teardown(void **state)
{
	struct simulate_files *files = *state;

	memory_free(files->cluster);
	memory_free(files->workload);
	memory_free(files->trace);
	temp_done(files->directory);
	memory_free(files);
	return 0;
}
