#include "codec/objects/pod_spec_json.h"

#include "codec/objects/object_json.h"
#include "codec/text/quantity.h"

#define PORT_MAX 65535

static int ports_decode(const struct json_at *at, struct container *ret)
{
	VEC(struct container_port) ports = { .at = NULL };
	struct json_at array;

	if (json_array(at, "ports", &array))
		return -1;
	VEC_RESERVE(at->reader->arena, &ports, json_count(&array));
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct container_port *port = VEC_ADD(at->reader->arena, &ports);
		int64_t number = 0;

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "name", &port->name) ||
		    json_integer(&e, "containerPort", NULL, &number))
			return -1;
		if (number < 1 || number > PORT_MAX) {
			json_problem(&e, "containerPort must be 1 to %d", PORT_MAX);
			number = 0;
		}
		port->port = (int32_t)number;
	}
	ret->ports = ports.at;
	ret->port_count = ports.count;
	return 0;
}

static int env_decode(const struct json_at *at, struct container *ret)
{
	VEC(struct env_variable) env = { .at = NULL };
	struct json_at array;

	if (json_array(at, "env", &array))
		return -1;
	VEC_RESERVE(at->reader->arena, &env, json_count(&array));
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct env_variable *variable = VEC_ADD(at->reader->arena, &env);

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "name", &variable->name) ||
		    json_shown(&e, "value", &variable->value))
			return -1;
	}
	ret->env = env.at;
	ret->env_count = env.count;
	return 0;
}

static int container_decode(const struct json_at *at, struct container *ret)
{
	struct json_at resources;

	return json_expect(at, JSON_OBJECT) || json_text(at, "name", &ret->name) ||
	       json_shown(at, "image", &ret->image) ||
	       object_strings_decode(at, "command", &ret->command) ||
	       object_strings_decode(at, "args", &ret->args) ||
	       json_object(at, "resources", &resources) ||
	       quantities_decode(&resources, "limits", &ret->limits) ||
	       quantities_decode(&resources, "requests", &ret->requests) || ports_decode(at, ret) ||
	       env_decode(at, ret);
}

static int containers_decode(const struct json_at *spec, struct pod_spec *ret)
{
	VEC(struct container) containers = { .at = NULL };
	struct json_at array;

	if (json_array(spec, "containers", &array))
		return -1;
	VEC_RESERVE(spec->reader->arena, &containers, json_count(&array));
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (container_decode(&e, VEC_ADD(spec->reader->arena, &containers)))
			return -1;
	}
	ret->containers = containers.at;
	ret->container_count = containers.count;
	return 0;
}

static int tolerations_decode(const struct json_at *spec, struct pod_spec *ret)
{
	VEC(struct toleration) tolerations = { .at = NULL };
	struct json_at array;

	if (json_array(spec, "tolerations", &array))
		return -1;
	VEC_RESERVE(spec->reader->arena, &tolerations, json_count(&array));
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct toleration *toleration = VEC_ADD(spec->reader->arena, &tolerations);

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "key", &toleration->key) ||
		    json_text(&e, "operator", &toleration->operation) ||
		    json_text(&e, "value", &toleration->value) ||
		    json_text(&e, "effect", &toleration->effect))
			return -1;
	}
	ret->tolerations = tolerations.at;
	ret->toleration_count = tolerations.count;
	return 0;
}

struct expressions {
	VEC(struct node_expression) list;
};

/* matchExpressions or matchFields of one term, appended. */
static int expressions_decode(const struct json_at *term, const char *name, bool is_field,
			      struct expressions *expressions)
{
	struct json_at array;

	if (json_array(term, name, &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct node_expression *expression =
			VEC_ADD(term->reader->arena, &expressions->list);

		expression->is_field = is_field;
		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "key", &expression->key) ||
		    json_text(&e, "operator", &expression->operation) ||
		    object_strings_decode(&e, "values", &expression->values))
			return -1;
	}
	return 0;
}

static int node_terms_decode(const struct json_at *spec, struct pod_spec *ret)
{
	VEC(struct node_term) terms = { .at = NULL };
	struct json_at affinity, node, required, array;

	if (json_object(spec, "affinity", &affinity) ||
	    json_object(&affinity, "nodeAffinity", &node) ||
	    json_object(&node, "requiredDuringSchedulingIgnoredDuringExecution", &required) ||
	    json_array(&required, "nodeSelectorTerms", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct expressions expressions = { .list = { .at = NULL } };

		if (json_expect(&e, JSON_OBJECT) ||
		    expressions_decode(&e, "matchExpressions", false, &expressions) ||
		    expressions_decode(&e, "matchFields", true, &expressions))
			return -1;
		VEC_PUSH(spec->reader->arena, &terms,
			 ((struct node_term){ .expressions = expressions.list.at,
					      .count = expressions.list.count }));
	}
	ret->required_node_terms = terms.at;
	ret->required_node_term_count = terms.count;
	return 0;
}

static int scheduling_gates_decode(const struct json_at *spec, struct pod_spec *ret)
{
	VEC(const char *) names = { .at = NULL };
	struct json_at array;

	if (json_array(spec, "schedulingGates", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		const char *name;

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "name", &name))
			return -1;
		VEC_PUSH(spec->reader->arena, &names, name);
	}
	ret->scheduling_gates = (struct strings){ .at = names.at, .count = names.count };
	return 0;
}

int pod_spec_decode(const struct json_at *at, const char *name, struct pod_spec *ret_spec)
{
	struct pod_spec spec = { .containers = NULL };
	struct json_at object;

	if (json_object(at, name, &object) || containers_decode(&object, &spec) ||
	    object_labels_decode(&object, "nodeSelector", &spec.node_selector) ||
	    node_terms_decode(&object, &spec) || tolerations_decode(&object, &spec) ||
	    scheduling_gates_decode(&object, &spec) ||
	    json_text(&object, "nodeName", &spec.node_name) ||
	    json_text(&object, "restartPolicy", &spec.restart_policy) ||
	    json_text(&object, "schedulerName", &spec.scheduler_name))
		return -1;
	*ret_spec = spec;
	return 0;
}

int pod_template_decode(const struct json_at *at, const char *name,
			struct pod_template *ret_template)
{
	struct pod_template template = { .labels = { .count = 0 } };
	struct json_at object, metadata;

	if (json_object(at, name, &object) || json_object(&object, "metadata", &metadata) ||
	    object_labels_decode(&metadata, "labels", &template.labels) ||
	    object_annotations_decode(&metadata, &template.annotations) ||
	    pod_spec_decode(&object, "spec", &template.spec))
		return -1;
	*ret_template = template;
	return 0;
}
