#include "cli/simulate_variant.h"

#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "cli/shared/simulate_objects.h"
#include "codec/text/duration.h"
#include "codec/text/number.h"
#include "ctl/shared/time_zones.h"
#include "feature_cli.h"

#define SIMULATE_POLICIES 5
#define RECORDED_MAX 100000

/* ---- the models ---- */

static int set_policy(struct sim_input *input, const char *value, struct err *err)
{
	for (int i = 0; i < SIMULATE_POLICIES; i++) {
		if (strcmp(sim_policy_name((enum sim_policy)i), value) == 0) {
			input->policy = (enum sim_policy)i;
			return 0;
		}
	}
	return err_set(err, ERR_INPUT,
		       "must be rayscaler, ray, always-on, first-come or static, is \"%.40s\"",
		       value);
}

static int set_seed(struct sim_input *input, const char *value, struct err *err)
{
	int64_t seed;

	if (number_parse_integer(value, &seed) || seed < 0)
		return err_set(err, ERR_INPUT, "must be an integer of at least 0, is \"%.40s\"",
			       value);
	input->seed = (uint64_t)seed;
	return 0;
}

static int set_duration(int64_t *ret_ms, const char *value, struct err *err)
{
	const char *problem;

	return duration_parse(value, ret_ms, &problem) ?
		       err_set(err, ERR_INPUT, "\"%.40s\" %s", value, problem) :
		       0;
}

/* One time, or several from which the simulation draws. */
static int set_pod_start(struct sim_input *input, struct arena *arena, const char *value,
			 struct err *err)
{
	char *rest = arena_strdup(arena, value), *word;
	VEC(int64_t) times = { .at = NULL };

	while ((word = strsep(&rest, ","))) {
		if (times.count >= RECORDED_MAX)
			return err_set(err, ERR_INPUT, "has more than %d times", RECORDED_MAX);
		if (set_duration(VEC_ADD(arena, &times), word, err))
			return -1;
	}
	if (times.count == 1)
		input->models.pod_start_ms = *times.at;
	input->models.group_starts = (struct pod_starts_list){ .count = 0 };
	input->models.recorded_start_ms = times.at;
	input->models.recorded_start_count = times.count > 1 ? times.count : 0;
	return 0;
}

int simulate_change(struct sim_input *input, struct cluster_set *set, struct arena *arena,
		    const char *path, const char *value, struct err *err)
{
	const struct {
		const char *name;
		int64_t *ms;
	} times[] = {
		{ "pod-register", &input->models.register_ms },
		{ "pod-terminate", &input->models.terminate_ms },
		{ "pod-resize", &input->models.resize_ms },
		{ "process-start", &input->models.process_start_ms },
		{ "ray-pass", &input->models.ray_pass_ms },
		{ "scan-interval", &input->models.scan_interval_ms },
	};
	struct nearest nearest = nearest_start(path);
	char hint[NEAREST_HINT_SIZE];

	if (*value == '\0')
		return err_set(err, ERR_INPUT, "%.80s has no value; write it after \"=\"", path);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (strcmp(path, times[i].name) == 0)
			return set_duration(times[i].ms, value, err) ? err_prefix(err, "%s", path) :
								       0;
	}
	if (strcmp(path, "pod-start") == 0)
		return set_pod_start(input, arena, value, err) ? err_prefix(err, "%s", path) : 0;
	if (strcmp(path, "policy") == 0)
		return set_policy(input, value, err) ? err_prefix(err, "%s", path) : 0;
	if (strcmp(path, "seed") == 0)
		return set_seed(input, value, err) ? err_prefix(err, "%s", path) : 0;
	if (cluster_set_change(set, path, value, err) == 0)
		return 0;
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		nearest_offer(&nearest, times[i].name);
	nearest_offer(&nearest, "pod-start");
	return nearest.word ? err_set(err, ERR_NOT_FOUND, "%.80s is not known%s", path,
				      nearest_hint(&nearest, hint)) :
			      -1;
}

/* ---- combinations ---- */

static int parse_axis(struct simulate_plan *plan, const char *text, struct err *err)
{
	struct simulate_axis *axis = &plan->axes[plan->axis_count];
	const char *equals = strchr(text, '=');
	VEC(const char *) values = { .at = NULL };
	char *rest, *word;

	if (!equals || equals == text)
		return err_set(err, ERR_INPUT, "--vary takes PATH=VALUE,VALUE, not %.80s", text);
	if (plan->axis_count++ >= SIMULATE_AXES_MAX)
		return err_set(err, ERR_INPUT, "--vary may be given %d times", SIMULATE_AXES_MAX);
	axis->path = arena_strndup(plan->arena, text, (size_t)(equals - text));
	rest = arena_strdup(plan->arena, equals + 1);
	if (strchr(rest, ';') && !strpbrk(rest, ",{["))
		return err_set(err, ERR_INPUT,
			       "--vary %.80s: write \",\" between values, not \";\"", text);
	while ((word = strsep(&rest, ",")))
		VEC_PUSH(plan->arena, &values, word);
	axis->values = values.at;
	axis->count = values.count;
	return 0;
}

int simulate_axes_parse(struct simulate_plan *plan, const struct flag_values *vary, struct err *err)
{
	size_t combinations = 1;

	for (size_t i = 0; i < vary->count; i++) {
		if (parse_axis(plan, vary->at[i], err))
			return -1;
		combinations *= plan->axes[i].count;
		if (combinations > SIMULATE_VARIANTS_MAX)
			return err_set(err, ERR_INPUT,
				       "--vary makes more than %d combinations; give fewer values",
				       SIMULATE_VARIANTS_MAX);
	}
	return 0;
}

static int decode_set(struct simulate_plan *plan, const struct cluster_set *set,
		      struct sim_input *input, struct err *err)
{
	static const struct simulate_objects *const objects[] = { FEATURE_SIMULATE_OBJECTS NULL };
	struct settings *settings = ARENA_NEW(plan->arena, struct settings);
	const struct cluster_setup *setups;
	struct sim_cluster *clusters;
	size_t count;

	if (cluster_set_decode(set, plan->arena, &setups, &count, settings, err))
		return -1;
	clusters = arena_array(plan->arena, count, sizeof(*clusters));
	for (size_t i = 0; i < count; i++) {
		clusters[i].name = setups[i].name;
		clusters[i].cluster = &setups[i].cluster;
		clusters[i].autoscaler = setups[i].has_autoscaler ? &setups[i].autoscaler : NULL;
		clusters[i].time_zones = time_zones_of(plan->time_zones, clusters[i].autoscaler,
						       SIM_EPOCH_MS, plan->arena,
						       &clusters[i].time_zone_count);
		clusters[i].settings = settings;
		clusters[i].namespace_labels = setups[i].namespace_labels;
	}
	input->clusters = clusters;
	input->cluster_count = count;
	input->devices = plan->input.devices;
	for (size_t i = 0; objects[i]; i++)
		if (objects[i]->decode(set, plan->arena, input, err))
			return -1;
	return cluster_set_decode_pools(set, plan->arena, &input->models.pools, err) ||
			       cluster_set_decode_prices(set, plan->arena, &input->prices, err) ?
		       -1 :
		       0;
}

/* "[gpu].maxReplicas" of a worker group: rows are wide. */
static const char *short_path(const char *path)
{
	static const char groups[] = "workerGroupSpecs[";

	return strncmp(path, groups, strlen(groups)) == 0 ? path + strlen(groups) - 1 : path;
}

/* The values of combination `number`, and their text. */
static void set_values(const struct simulate_plan *plan, size_t number,
		       struct simulate_variant *variant)
{
	const char **values = arena_array(plan->arena, plan->axis_count, sizeof(*values));
	const char *name = "";

	for (size_t i = plan->axis_count; i-- > 0;) {
		values[i] = plan->axes[i].values[number % plan->axes[i].count];
		number /= plan->axes[i].count;
		name = arena_printf(plan->arena, "%s=%s%s%s", short_path(plan->axes[i].path),
				    values[i], *name ? ", " : "", name);
	}
	variant->values = values;
	variant->name = plan->axis_count > 0 ? name : "as given";
}

static int make_combination(struct simulate_plan *plan, size_t number, struct err *err)
{
	struct simulate_variant *variant = VEC_ADD(plan->arena, &plan->variants);
	struct cluster_set *set = cluster_set_copy(plan->set);
	int failed = 0;

	set_values(plan, number, variant);
	variant->input = plan->input;
	for (size_t i = 0; i < plan->axis_count; i++) {
		failed = simulate_change(&variant->input, set, plan->arena, plan->axes[i].path,
					 variant->values[i], err);
		if (failed)
			break;
	}
	if (failed)
		err_prefix(err, "--vary");
	else if (decode_set(plan, set, &variant->input, err))
		failed = plan->axis_count > 0 ? err_prefix(err, "%.200s", variant->name) : -1;
	cluster_set_free(set);
	return failed;
}

static int make_baseline(struct simulate_plan *plan, const char *name, struct err *err)
{
	static const char *const names[] = {
		[SIM_POLICY_RAY_AUTOSCALER] = "baseline: Ray's autoscaler",
		[SIM_POLICY_ALWAYS_ON] = "baseline: always on",
		[SIM_POLICY_FIRST_COME] = "baseline: first come, first served",
		[SIM_POLICY_STATIC] = "baseline: static partition",
	};
	struct simulate_variant *variant = VEC_ADD(plan->arena, &plan->variants);

	variant->input = plan->input;
	if (set_policy(&variant->input, name, err) || variant->input.policy == SIM_POLICY_RAYSCALER)
		return err_set(err, ERR_INPUT,
			       "--baseline takes ray, always-on, first-come or static, not %.40s",
			       name);
	variant->name = names[variant->input.policy];
	return decode_set(plan, plan->set, &variant->input, err);
}

int simulate_variants_make(struct simulate_plan *plan, const struct flag_values *baselines,
			   struct err *err)
{
	size_t combinations = 1;

	for (size_t i = 0; i < plan->axis_count; i++)
		combinations *= plan->axes[i].count;
	for (size_t i = 0; i < combinations; i++) {
		if (make_combination(plan, i, err))
			return -1;
	}
	for (size_t i = 0; i < baselines->count; i++) {
		if (make_baseline(plan, baselines->at[i], err))
			return -1;
	}
	return 0;
}
