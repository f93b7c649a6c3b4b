#include "sim/place_policy.h"

#include <string.h>

#define SPREAD_THRESHOLD 0.5 /* scheduler_spread_threshold */
#define TOP_K 5              /* one of so many: scheduler_top_k_fraction is 0.2 */

static bool is_usable(const struct sim_worker *worker)
{
	return worker->state == SIM_WORKER_REGISTERED && !worker->draining;
}

static bool has_devices(const struct sim_worker *worker, int64_t amount)
{
	size_t count = worker->ray->types[worker->type].devices;
	int64_t whole = 0;

	if (amount == 0)
		return true;
	for (size_t d = 0; d < count; d++) {
		if (amount < RESOURCE_UNIT && worker->device_free[d] >= amount)
			return true;
		whole += worker->device_free[d] == RESOURCE_UNIT;
	}
	return amount >= RESOURCE_UNIT && whole >= amount / RESOURCE_UNIT;
}

bool policy_fits_amounts(const struct sim_bundle *bundle, const struct sim_worker *worker)
{
	const struct sim_fit *fit = &bundle->fits[worker->type];

	if (!fit->possible)
		return false;
	for (size_t i = 0; i < fit->need_count; i++)
		if (worker->available[fit->needs[i].index].amount < fit->needs[i].amount)
			return false;
	return true;
}

bool policy_fits(const struct sim_bundle *bundle, const struct sim_worker *worker)
{
	return policy_fits_amounts(bundle, worker) &&
	       has_devices(worker, bundle->fits[worker->type].device_amount);
}

bool policy_can_use(const struct sim_class *class_, const struct sim_worker *worker)
{
	if (class_->whole)
		return policy_fits(class_->whole, worker);
	for (size_t b = 0; b < class_->bundle_count; b++)
		if (policy_fits(&class_->bundles[b], worker))
			return true;
	return false;
}

/* ---- tasks ---- */

static double use_of(const struct sim_worker *worker, const char *name)
{
	const struct resource *total = worker->total;
	size_t count = worker->ray->types[worker->type].total.count;

	for (size_t i = 0; i < count; i++)
		if (total[i].amount > 0 && strcmp(total[i].name, name) == 0)
			return 1.0 - (double)worker->available[i].amount / (double)total[i].amount;
	return 0;
}

static double score_of(const struct sim_worker *worker)
{
	double cpu = use_of(worker, "CPU"), memory = use_of(worker, "memory");
	double highest = cpu > memory ? cpu : memory;

	return highest < SPREAD_THRESHOLD ? 0 : highest;
}

static bool is_before(const struct sim_candidate *a, const struct sim_candidate *b)
{
	if (a->score < b->score || b->score < a->score)
		return a->score < b->score;
	return a->worker->order != b->worker->order ? a->worker->order < b->worker->order :
						      a->worker->id < b->worker->id;
}

/* The candidate that is at `rank` in their order (quickselect: O(count) on average). */
static struct sim_worker *candidate_at(struct sim_candidate *at, size_t count, size_t rank)
{
	while (count > 1) {
		struct sim_candidate pivot = at[count / 2];
		size_t below = 0, i = 0, above = count;

		while (i < above) {
			struct sim_candidate item = at[i];

			if (is_before(&item, &pivot)) {
				at[i++] = at[below];
				at[below++] = item;
			} else if (is_before(&pivot, &item)) {
				at[i] = at[--above];
				at[above] = item;
			} else {
				i++;
			}
		}
		if (rank < below) {
			count = below;
		} else if (rank < above) {
			return pivot.worker;
		} else {
			at += above;
			count -= above;
			rank -= above;
		}
	}
	return at[0].worker;
}

/* Lists the nodes where the task fits with the first label selector that has one. */
static void list_candidates(struct sim_class *class_, bool without_gpu)
{
	struct sim_ray *ray = class_->ray;
	struct sim_world *world = ray->world;
	unsigned selector = UINT32_MAX;

	world->candidates.count = 0;
	for (size_t i = 0; i < ray->workers.count; i++) {
		struct sim_worker *worker = ray->workers.at[i];
		unsigned own = class_->bundles[0].fits[worker->type].selector;

		if (!is_usable(worker) || (without_gpu && ray->types[worker->type].gpus > 0) ||
		    own > selector || !policy_fits(&class_->bundles[0], worker))
			continue;
		if (own < selector)
			world->candidates.count = 0;
		selector = own;
		VEC_PUSH(world->arena, &world->candidates,
			 ((struct sim_candidate){ worker, score_of(worker) }));
	}
}

static struct sim_worker *choose_candidate(struct sim_ray *ray)
{
	struct sim_world *world = ray->world;
	size_t count = world->candidates.count, drawn_of = ray->registered / TOP_K;
	double lowest = 2;
	struct sim_candidate *head = NULL;

	if (count == 0)
		return NULL;
	ARRAY_EACH(struct sim_candidate, candidate, world->candidates.at, count) {
		if (candidate->score < lowest)
			lowest = candidate->score;
		if (candidate->worker->type == 0)
			head = candidate;
	}
	if (head && head->score <= lowest)
		return head->worker;
	drawn_of = drawn_of < count ? drawn_of : count;
	return candidate_at(world->candidates.at, count,
			    drawn_of > 1 ? world_random(world) % drawn_of : 0);
}

struct sim_worker *policy_node_of_task(struct sim_class *class_)
{
	const struct ray_request *request = class_->bundles[0].request;
	struct sim_worker *worker = NULL;

	if (!ARRAY_FIND(request->bundle, request->bundle_count, name, "GPU")) {
		list_candidates(class_, true);
		worker = choose_candidate(class_->ray);
	}
	if (worker)
		return worker;
	list_candidates(class_, false);
	return choose_candidate(class_->ray);
}

/* ---- bundles ---- */

static double free_share(const struct sim_bundle *bundle, const struct sim_worker *worker)
{
	const struct sim_fit *fit = &bundle->fits[worker->type];
	double sum = 0;

	for (size_t i = 0; i < fit->need_count; i++) {
		double available = (double)worker->available[fit->needs[i].index].amount;

		sum += (available - (double)fit->needs[i].amount) / available;
	}
	return sum;
}

struct sim_worker *policy_node_of_bundle(struct sim_ray *ray, const struct sim_bundle *bundle,
					 uint64_t mark, bool marked)
{
	struct sim_candidate best = { NULL, -1 };

	for (size_t i = 0; i < ray->workers.count; i++) {
		struct sim_worker *worker = ray->workers.at[i];
		struct sim_candidate own = { worker, 0 };

		if (!is_usable(worker) || (worker->mark == mark) != marked ||
		    !policy_fits(bundle, worker))
			continue;
		own.score = -free_share(bundle, worker);
		if (!best.worker || is_before(&own, &best))
			best = own;
	}
	return best.worker;
}
