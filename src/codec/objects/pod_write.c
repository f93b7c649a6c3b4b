#include "codec/objects/pod_write.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/object_json.h"
#include "codec/objects/object_write.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/redact.h"

static void write_ports(struct json_writer *writer, const struct container *container)
{
	if (container->port_count == 0)
		return;
	json_write_array(writer, "ports");
	for (size_t i = 0; i < container->port_count; i++) {
		json_write_object_line(writer, NULL);
		object_write_text(writer, "name", container->ports[i].name);
		json_write_integer(writer, "containerPort", container->ports[i].port);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_env_names(struct json_writer *writer, const struct container *container)
{
	if (container->env_count == 0)
		return;
	json_write_array(writer, "env");
	for (size_t i = 0; i < container->env_count; i++) {
		json_write_object_line(writer, NULL);
		object_write_text(writer, "name", container->env[i].name);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_words(struct json_writer *writer, const char *name, const struct strings *words,
			bool *next_is_secret)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	if (words->count == 0)
		return;
	json_write_array_line(writer, name);
	for (size_t i = 0; i < words->count; i++)
		json_write_text(writer, NULL, redact_command(words->at[i], next_is_secret, &arena));
	json_write_array_end(writer);
}

static void write_container(struct json_writer *writer, const struct container *container)
{
	json_write_object(writer, NULL);
	object_write_text(writer, "name", container->name);
	object_write_text(writer, "image", container->image);
	/* Only the words of this container are used (to find a second autoscaler). */
	if (strcmp(container->name, "autoscaler") == 0) {
		bool next_is_secret = false;

		write_words(writer, "command", &container->command, &next_is_secret);
		write_words(writer, "args", &container->args, &next_is_secret);
	}
	write_ports(writer, container);
	write_env_names(writer, container);
	json_write_object(writer, "resources");
	object_write_quantities(writer, "limits", &container->limits);
	object_write_quantities(writer, "requests", &container->requests);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_expressions(struct json_writer *writer, const char *name,
			      const struct node_term *term, bool fields)
{
	json_write_array(writer, name);
	for (size_t i = 0; i < term->count; i++) {
		const struct node_expression *expression = &term->expressions[i];

		if (expression->is_field != fields)
			continue;
		json_write_object_line(writer, NULL);
		object_write_text(writer, "key", expression->key);
		object_write_text(writer, "operator", expression->operation);
		object_write_strings(writer, "values", &expression->values);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_affinity(struct json_writer *writer, const struct pod_spec *spec)
{
	if (spec->required_node_term_count == 0)
		return;
	json_write_object(writer, "affinity");
	json_write_object(writer, "nodeAffinity");
	json_write_object(writer, "requiredDuringSchedulingIgnoredDuringExecution");
	json_write_array(writer, "nodeSelectorTerms");
	for (size_t i = 0; i < spec->required_node_term_count; i++) {
		json_write_object(writer, NULL);
		write_expressions(writer, "matchExpressions", &spec->required_node_terms[i], false);
		write_expressions(writer, "matchFields", &spec->required_node_terms[i], true);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_tolerations(struct json_writer *writer, const struct pod_spec *spec)
{
	if (spec->toleration_count == 0)
		return;
	json_write_array(writer, "tolerations");
	for (size_t i = 0; i < spec->toleration_count; i++) {
		const struct toleration *toleration = &spec->tolerations[i];

		json_write_object_line(writer, NULL);
		object_write_text(writer, "key", toleration->key);
		object_write_text(writer, "operator", toleration->operation);
		object_write_text(writer, "value", toleration->value);
		object_write_text(writer, "effect", toleration->effect);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

void pod_write_spec(struct json_writer *writer, const char *name, const struct pod_spec *spec)
{
	json_write_object(writer, name);
	json_write_array(writer, "containers");
	for (size_t i = 0; i < spec->container_count; i++)
		write_container(writer, &spec->containers[i]);
	json_write_array_end(writer);
	object_write_labels(writer, "nodeSelector", &spec->node_selector);
	write_affinity(writer, spec);
	write_tolerations(writer, spec);
	if (spec->scheduling_gates.count > 0) {
		json_write_array(writer, "schedulingGates");
		for (size_t i = 0; i < spec->scheduling_gates.count; i++) {
			json_write_object_line(writer, NULL);
			object_write_text(writer, "name", spec->scheduling_gates.at[i]);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
	}
	object_write_text(writer, "nodeName", spec->node_name);
	object_write_text(writer, "restartPolicy", spec->restart_policy);
	object_write_text(writer, "schedulerName", spec->scheduler_name);
	json_write_object_end(writer);
}

static void write_state(struct json_writer *writer, const struct container_status *status)
{
	static const char *const names[] = {
		[CONTAINER_UNKNOWN] = NULL,
		[CONTAINER_WAITING] = "waiting",
		[CONTAINER_RUNNING] = "running",
		[CONTAINER_TERMINATED] = "terminated",
	};

	if (!names[status->state])
		return;
	json_write_object_line(writer, "state");
	json_write_object_line(writer, names[status->state]);
	object_write_text(writer, "reason", status->reason);
	object_write_text(writer, "message", status->message);
	if (status->started_at != TIME_NONE)
		json_write_time(writer, "startedAt", status->started_at);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_status(struct json_writer *writer, const struct container_status *status)
{
	json_write_object(writer, NULL);
	object_write_text(writer, "name", status->name);
	write_state(writer, status);
	json_write_integer(writer, "restartCount", status->restart_count);
	if (status->started_before && status->restart_count == 0) {
		json_write_object_line(writer, "lastState");
		json_write_object_line(writer, "terminated");
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
	json_write_object_end(writer);
}

static void write_pod(struct json_writer *writer, const char *name, const struct pod *pod,
		      bool owners_known)
{
	const struct object_write_metadata metadata = {
		.namespace_ = pod->namespace_,
		.name = pod->name,
		.uid = pod->uid,
		.resource_version = pod->resource_version,
		.created = pod->created,
		.deleted = pod->deletion_time,
		.deleting = pod->deleting,
		.labels = &pod->labels,
		.annotations = &pod->annotations,
		.owner = pod->owner,
		.owners_known = owners_known,
	};

	json_write_object(writer, name);
	if (pod->unreadable)
		json_write_text(writer, OBJECT_UNREADABLE, pod->unreadable);
	object_write_metadata(writer, &metadata);
	pod_write_spec(writer, "spec", &pod->spec);
	json_write_object(writer, "status");
	object_write_text(writer, "phase", pod->phase);
	object_write_text(writer, "podIP", pod->pod_ip);
	object_write_text(writer, "reason", pod->reason);
	object_write_text(writer, "message", pod->message);
	object_write_conditions(writer, pod->conditions, pod->condition_count);
	json_write_array(writer, "containerStatuses");
	for (size_t i = 0; i < pod->container_status_count; i++)
		write_status(writer, &pod->container_statuses[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

void pod_write(struct json_writer *writer, const char *name, const struct pod *pod)
{
	write_pod(writer, name, pod, false);
}

void pod_write_foreign(struct json_writer *writer, const char *name, const struct pod *pod)
{
	write_pod(writer, name, pod, true);
}
