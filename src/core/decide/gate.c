#include "core/decide/gate.h"

#include <string.h>

#include "core/model/reason.h"

#define AUTOSCALER_CONTAINER "autoscaler"
#define KUBERAY_MANAGER "ray.io/kuberay-operator"

/* The next word of a shell-like text from *text, without quotes; its length in *ret_size. */
static const char *next_word(const char **text, size_t *ret_size)
{
	static const char separators[] = " \t\r\n\"'`;&|()";
	const char *word = *text + strspn(*text, separators);
	*ret_size = strcspn(word, separators);
	*text = word + *ret_size;
	return *ret_size > 0 ? word : NULL;
}

static bool is_program(const char *word, size_t size)
{
	static const char program[] = "rayscaler";
	size_t length = sizeof(program) - 1;
	if (size < length || strncmp(word + size - length, program, length) != 0)
		return false;
	return size == length || word[size - length - 1] == '/';
}

/* True when `rayscaler <command>` occurs among the words of command and args. */
static bool runs_command(const struct container *container, const char *command)
{
	const struct strings *lists[] = { &container->command, &container->args };
	bool after_program = false;
	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < lists[l]->count; i++) {
			const char *text = lists[l]->at[i];
			const char *word;
			size_t size;
			while ((word = next_word(&text, &size)) != NULL) {
				if (after_program && size == strlen(command) &&
				    strncmp(word, command, size) == 0)
					return true;
				after_program = is_program(word, size);
			}
		}
	}
	return false;
}

static bool second_autoscaler(const struct snapshot *snapshot)
{
	const char *command = snapshot->settings.mode == MODE_SIDECAR ? "run" : "park";
	for (size_t p = 0; p < snapshot->pod_count; p++) {
		const struct pod *pod = &snapshot->pods[p];
		if (!pod_is_head(pod))
			continue;
		for (size_t c = 0; c < pod->spec.container_count; c++) {
			const struct container *container = &pod->spec.containers[c];
			if (strcmp(container->name, AUTOSCALER_CONTAINER) == 0 &&
			    !runs_command(container, command))
				return true;
		}
	}
	return false;
}

static const char *second_autoscaler_cure(const struct snapshot *snapshot)
{
	if (snapshot->settings.mode == MODE_SIDECAR)
		return "container autoscaler of the head Pod does not run `rayscaler run`: set "
		       "spec.autoscalerOptions.command and args";
	return "container autoscaler of the head Pod does not run `rayscaler "
	       "park`: set spec.autoscalerOptions.command and args, or two "
	       "autoscalers change the same fields";
}

struct gate gate_check(const struct snapshot *snapshot)
{
	const struct ray_cluster *cluster = &snapshot->cluster;
	const char *managed = labels_value(&cluster->annotations, ANNOTATION_MANAGED);
	if (!cluster->enable_in_tree_autoscaling)
		return (struct gate){ REASON_AUTOSCALING_DISABLED,
				      "spec.enableInTreeAutoscaling is not true" };
	if (managed != NULL && strcmp(managed, "false") == 0)
		return (struct gate){ REASON_UNMANAGED,
				      "annotation " ANNOTATION_MANAGED " is \"false\"" };
	if (cluster->managed_by[0] != '\0' && strcmp(cluster->managed_by, KUBERAY_MANAGER) != 0)
		return (struct gate){ REASON_MANAGED_ELSEWHERE,
				      "spec.managedBy names another manager than " KUBERAY_MANAGER };
	if (cluster->unreadable != NULL)
		return (struct gate){ REASON_CLUSTER_UNREADABLE, cluster->unreadable };
	if (cluster->suspend)
		return (struct gate){ REASON_SUSPENDED, "spec.suspend is true" };
	if (cluster->deleting)
		return (struct gate){ REASON_DELETING, "the RayCluster has a deletionTimestamp" };
	if (snapshot->autoscaler != NULL && snapshot->autoscaler->paused)
		return (struct gate){ REASON_PAUSED,
				      "spec.paused of the RayClusterAutoscaler is true" };
	if (second_autoscaler(snapshot))
		return (struct gate){ REASON_SECOND_AUTOSCALER, second_autoscaler_cure(snapshot) };
	return (struct gate){ NULL, "" };
}
