/* schedule() for programs of other languages: one problem per line of standard input as JSON, one
 * line of JSON per answer. The requests are a ClusterResourceState in proto3 JSON
 * (rayState), types, nodes and limits in the members of core/schedule/schedule.h. Made for the conformance
 * run (e2e/conformance), which feeds the same problems to Ray's own scheduler. With "runs" in the
 * problem the answer has "milliseconds": the CPU time of schedule() alone, by run. */

#include "codec/objects/ray_state_json.h"
#include "codec/schema/field.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/number.h"
#include "core/schedule/schedule.h"
#include "test/support/bench_usage.h"
#include "test/support/ray_state_text.h"
#include "test/tools/json_lines.h"

#define LINE_BYTES_MAX ((size_t)64 << 20)

struct input {
	struct json_reader reader;
	struct schedule_problem problem;
	struct ray_state state;
	struct strings accelerators;
};

static int read_resources(const struct json_at *at, const char *name, struct resources *ret_map)
{
	VEC(struct resource) items = { .at = NULL };
	struct json_at map;

	if (json_object(at, name, &map))
		return -1;
	for (struct json_at e = json_first(&map); e.json; json_next(&e)) {
		struct resource *item = VEC_ADD(at->reader->arena, &items);
		const char *problem;

		item->name = arena_strdup(at->reader->arena, e.name);
		item->amount = amount_from_double(json_number_value(&e), &problem);
	}
	*ret_map = resources_sort(items.at, items.count);
	return 0;
}

static int read_labels(const struct json_at *at, struct labels *ret_labels)
{
	VEC(struct label) items = { .at = NULL };
	struct json_at map;

	if (json_object(at, "labels", &map))
		return -1;
	for (struct json_at e = json_first(&map); e.json; json_next(&e)) {
		struct label *item = VEC_ADD(at->reader->arena, &items);

		item->key = arena_strdup(at->reader->arena, e.name);
		item->value = arena_strdup(at->reader->arena, json_text_value(&e));
	}
	*ret_labels = labels_sort(items.at, items.count);
	return 0;
}

static int read_number(const struct json_at *at, const char *name, double *ret_value)
{
	struct json_at member = json_member(at, name);

	if (json_optional(&member, JSON_NUMBER))
		return -1;
	if (json_is_given(&member))
		*ret_value = json_number_value(&member);
	return 0;
}

/* NULL: not given. */
static int read_size(const struct json_at *at, const char *name,
		     const struct schedule_size **ret_size)
{
	struct schedule_size *size;
	struct json_at member;
	double cpu = 0, memory = 0;
	const char *problem;

	if (json_object(at, name, &member))
		return -1;
	if (!json_is_given(&member))
		return 0;
	if (read_number(&member, "cpu", &cpu) || read_number(&member, "memory", &memory))
		return -1;
	*ret_size = size = ARENA_NEW(at->reader->arena, struct schedule_size);
	size->cpu = amount_from_double(cpu, &problem);
	size->memory = amount_from_double(memory, &problem);
	return 0;
}

static int read_type(const struct json_at *at, struct schedule_type *type)
{
	*type = (struct schedule_type){ .hosts = 1,
					.recoverable_availability = 1,
					.failure_recency = 1 };
	if (json_text(at, "name", &type->name) ||
	    read_resources(at, "resources", &type->resources) || read_labels(at, &type->labels) ||
	    json_integer(at, "min", NULL, &type->min_nodes) ||
	    json_integer(at, "max", NULL, &type->max_nodes) ||
	    json_integer(at, "hosts", NULL, &type->hosts) ||
	    json_integer(at, "priority", NULL, &type->priority) ||
	    read_number(at, "recoverable", &type->recoverable_availability) ||
	    read_number(at, "recency", &type->failure_recency) ||
	    json_boolean(at, "held", &type->launch_held) ||
	    read_size(at, "resizable", &type->resizable))
		return -1;
	type->cost = type->gpu_amount = resources_amount(&type->resources, "GPU", 0);
	return 0;
}

static int read_index(const struct json_at *at, const char *name, size_t *ret_index)
{
	int64_t value = -1;

	if (json_integer(at, name, NULL, &value))
		return -1;
	*ret_index = value < 0 ? SCHEDULE_NO_INDEX : (size_t)value;
	return 0;
}

static int read_node(const struct json_at *at, size_t index, struct schedule_node *node)
{
	*node = (struct schedule_node){ .worker = index };
	return read_index(at, "type", &node->type) || read_index(at, "replica", &node->replica) ||
	       json_boolean(at, "head", &node->head) ||
	       json_boolean(at, "running", &node->running) ||
	       json_boolean(at, "joined", &node->registered) ||
	       json_boolean(at, "leaving", &node->disrupted) ||
	       json_boolean(at, "mayTerminate", &node->may_terminate) ||
	       read_resources(at, "total", &node->total) ||
	       read_resources(at, "available", &node->available) ||
	       read_labels(at, &node->labels) || json_integer(at, "idleMs", NULL, &node->idle_ms) ||
	       read_size(at, "resizing", &node->resizing) ||
	       read_size(at, "resizable", &node->resizable) ||
	       json_integer(at, "idleTimeoutMs", NULL, &node->idle_timeout_ms);
}

static int read_types_and_nodes(struct input *input, const struct json_at *root)
{
	struct arena *arena = input->reader.arena;
	struct schedule_problem *problem = &input->problem;
	struct schedule_type *types;
	struct schedule_node *nodes;
	struct json_at list;

	if (json_array(root, "types", &list))
		return -1;
	problem->types = types = arena_array(arena, json_count(&list) + 1, sizeof(*types));
	for (struct json_at e = json_first(&list); e.json; json_next(&e))
		if (read_type(&e, &types[problem->type_count++]))
			return -1;
	if (json_array(root, "nodes", &list))
		return -1;
	problem->nodes = nodes = arena_array(arena, json_count(&list) + 1, sizeof(*nodes));
	for (struct json_at e = json_first(&list); e.json; json_next(&e)) {
		if (read_node(&e, problem->node_count, &nodes[problem->node_count]))
			return -1;
		problem->node_count++;
	}
	return 0;
}

static const struct schedule_demand *
demands_of(struct arena *arena, const struct ray_request_count *requests, size_t count)
{
	struct schedule_demand *demands = arena_array(arena, count + 1, sizeof(*demands));

	for (size_t i = 0; i < count; i++)
		demands[i] = (struct schedule_demand){ .request = &requests[i].request,
						       .count = requests[i].count };
	return demands;
}

static int read_requests(struct input *input, const struct json_at *root)
{
	struct arena *arena = input->reader.arena;
	struct schedule_problem *problem = &input->problem;
	struct json_at state = json_member(root, "rayState");
	struct schedule_constraint *constraints;
	bool atomic;

	if (json_boolean(root, "atomic", &atomic) ||
	    ray_state_decode(state.json, "rayState", arena, &input->state, input->reader.err))
		return -1;
	problem->gangs = input->state.gangs;
	problem->gang_count = input->state.gang_count;
	problem->demands = demands_of(arena, input->state.requests, input->state.request_count);
	problem->demand_count = input->state.request_count;
	constraints = arena_array(arena, input->state.constraint_count + 1, sizeof(*constraints));
	for (size_t i = 0; i < input->state.constraint_count; i++)
		constraints[i] = (struct schedule_constraint){
			.demands = demands_of(arena, input->state.constraints[i].requests,
					      input->state.constraints[i].count),
			.count = input->state.constraints[i].count,
			.atomic = atomic,
		};
	problem->constraints = constraints;
	problem->constraint_count = input->state.constraint_count;
	return 0;
}

static int read_problem(struct input *input, const struct json_at *root)
{
	struct schedule_problem *problem = &input->problem;
	static const struct field accelerators =
		FIELD_TEXTS(struct input, accelerators, "accelerators");
	struct json_at member = json_member(root, accelerators.name);
	double budget = -1;
	const char *wrong;

	problem->accelerators = &input->accelerators;
	if (read_types_and_nodes(input, root) || read_requests(input, root) ||
	    field_decode(&member, &accelerators, input) ||
	    json_integer(root, "maxNodes", &problem->has_max_nodes, &problem->max_nodes) ||
	    read_number(root, "gpuBudget", &budget) ||
	    json_boolean(root, "conserveAccelerators", &problem->conserve_accelerators) ||
	    json_boolean(root, "fewestGpus", &problem->cheapest) ||
	    json_boolean(root, "terminateOverMax", &problem->terminate_over_max))
		return -1;
	problem->has_gpu_budget = budget >= 0;
	problem->gpu_budget = amount_from_double(budget, &wrong);
	return 0;
}

static void write_leftovers(struct json_writer *writer, const char *name,
			    const struct schedule_leftover *leftovers, size_t count)
{
	json_write_array(writer, name);
	for (size_t i = 0; i < count; i++)
		json_write_integer(writer, NULL, leftovers[i].count);
	json_write_array_end(writer);
}

static void write_placements(struct json_writer *writer, const struct schedule_node_result *node)
{
	json_write_array(writer, "placements");
	for (size_t i = 0; i < node->placement_count; i++) {
		const struct schedule_placement *placement = &node->placements[i];

		json_write_array(writer, NULL);
		json_write_integer(writer, NULL, placement->phase);
		json_write_integer(writer, NULL, (int64_t)placement->list);
		json_write_integer(writer, NULL, (int64_t)placement->index);
		json_write_integer(writer, NULL, placement->count);
		json_write_array_end(writer);
	}
	json_write_array_end(writer);
}

static void write_result(struct json_writer *writer, const struct schedule_problem *problem,
			 const struct schedule_result *result)
{
	json_write_array(writer, "launches");
	for (size_t i = 0; i < problem->type_count; i++)
		json_write_integer(writer, NULL, result->launches[i]);
	json_write_array_end(writer);
	json_write_array(writer, "nodes");
	for (size_t i = 0; i < result->node_count; i++) {
		const struct schedule_node_result *node = &result->nodes[i];

		json_write_object(writer, NULL);
		json_write_integer(writer, "type",
				   node->type == SCHEDULE_NO_INDEX ? -1 : (int64_t)node->type);
		json_write_integer(writer, "status", node->status);
		json_write_integer(writer, "cause", node->cause);
		json_write_boolean(writer, "resized", node->resized);
		write_placements(writer, node);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	write_leftovers(writer, "demands", result->demands, problem->demand_count);
	write_leftovers(writer, "gangs", result->gangs, problem->gang_count);
	json_write_array(writer, "constraints");
	for (size_t i = 0; i < problem->constraint_count; i++)
		write_leftovers(writer, NULL, result->constraints[i],
				problem->constraints[i].count);
	json_write_array_end(writer);
}

static void write_times(struct json_writer *writer, const struct schedule_problem *problem,
			int64_t runs)
{
	json_write_array(writer, "milliseconds");
	for (int64_t i = 0; i < runs; i++) {
		struct arena arena = ARENA_INIT;
		double began = bench_usage_ms();

		schedule(problem, &arena);
		arena_done(&arena);
		json_write_double(writer, NULL, bench_usage_ms() - began);
	}
	json_write_array_end(writer);
}

static int answer(const char *line, size_t size, struct arena *arena, struct buf *buf,
		  struct err *err)
{
	const struct json_limits limits = { .bytes = LINE_BYTES_MAX,
					    .depth = 64,
					    .elements = 1000000 };
	struct input input = { .reader = { .arena = arena, .err = err } };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_at root;
	struct json_writer writer;
	int64_t runs = 0;

	if (json_parse(line, size, &limits, &json, err))
		return -1;
	root = json_root(json, "", &input.reader);
	if (read_problem(&input, &root) || json_integer(&root, "runs", NULL, &runs))
		return -1;
	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object_line(&writer, NULL);
	write_result(&writer, &input.problem, schedule(&input.problem, arena));
	if (runs > 0)
		write_times(&writer, &input.problem, runs);
	json_write_object_end(&writer);
	return 0;
}

int main(void)
{
	return json_lines_run(answer, LINE_BYTES_MAX);
}
