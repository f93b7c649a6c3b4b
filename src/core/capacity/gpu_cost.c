#include "core/capacity/gpu_cost.h"

#include <string.h>

#include "base/check.h"
#include "base/int64.h"
#include "base/text.h"
#include "core/capacity/device_model.h"

#define MIG_PREFIX "nvidia.com/mig-"
#define MIG_SLICES 7
#define MIB (INT64_C(1) << 20)
#define MIB_MAX (INT64_C(1) << 40)

/* Profiles of GPUs with four slices: A30, RTX PRO 6000 Blackwell; four of 1g.24gb fill any GPU. */
static const char *const quarter_profiles[] = { "1g.6gb",  "2g.12gb", "4g.24gb",
						"1g.24gb", "2g.48gb", "4g.96gb" };

/* The GPUs of one container. */
struct sum {
	__int128 whole, shares; /* 1/10000 GPU of known size */
	__int128 vague;         /* as whole GPUs */
};

/* Digits, perhaps with "MiB" after them; 0: no such text, or too large. */
static int64_t number_of(const char *text)
{
	int64_t number = 0;

	if (!text)
		return 0;
	for (; text_is_digit(*text); text++) {
		number = number * 10 + (*text - '0');
		if (number > MIB_MAX)
			return 0;
	}
	return *text == '\0' || strcmp(text, "MiB") == 0 ? number : 0;
}

/* Slices of a GPU for this MIG profile, 7 or 4; 0: not a profile. *ret_slices: those of one
 * instance. */
static int64_t mig_parts(const char *resource, int64_t *ret_slices)
{
	const char *profile = resource + strlen(MIG_PREFIX);

	if (strncmp(resource, MIG_PREFIX, strlen(MIG_PREFIX)) != 0)
		return 0;
	if (profile[0] < '1' || profile[0] > '0' + MIG_SLICES || strncmp(profile + 1, "g.", 2) != 0)
		return 0;
	*ret_slices = profile[0] - '0';
	for (size_t i = 0; i < sizeof(quarter_profiles) / sizeof(quarter_profiles[0]); i++)
		if (strncmp(profile, quarter_profiles[i], strlen(quarter_profiles[i])) == 0)
			return 4;
	return MIG_SLICES;
}

static int64_t device_mib(const struct labels *selector)
{
	int64_t mib = number_of(labels_value(selector, "nvidia.com/gpu.memory"));

	return mib > 0 ? mib : number_of(labels_value(selector, "aliyun.accelerator/nvidia_mem"));
}

static __int128 whole_up(int64_t amount)
{
	int64_t devices = amount / RESOURCE_UNIT + (amount % RESOURCE_UNIT > 0);

	return (__int128)devices * RESOURCE_UNIT;
}

static void add_slice(const struct device_held *held, struct sum *sum)
{
	int64_t slices = 0, parts = mig_parts(held->resource, &slices);

	if (parts > 0)
		sum->shares += (__int128)held->amount * slices / parts;
	else
		sum->vague += whole_up(held->amount);
}

static void add_turn(const struct device_held *held, const struct labels *selector, struct sum *sum)
{
	int64_t replicas = number_of(labels_value(selector, "nvidia.com/gpu.replicas"));

	if (held->row->parts > 0)
		sum->shares += held->amount / held->row->parts;
	else if (replicas > 0)
		sum->shares += held->amount / replicas;
	else if (held->amount < RESOURCE_UNIT) /* gpu-fraction: device plugins have whole turns */
		sum->shares += held->amount;
	else
		sum->vague += whole_up(held->amount);
}

/* An amount of memory fits one device, or the Pod runs nowhere. */
static void add_memory(const struct device_held *held, const struct labels *selector,
		       struct sum *sum)
{
	int64_t mib = device_mib(selector);
	__int128 bytes = (__int128)held->amount * held->row->memory_unit_bytes;
	__int128 part = mib > 0 ? bytes / ((__int128)mib * MIB) : RESOURCE_UNIT;

	if (mib > 0)
		sum->shares += part < RESOURCE_UNIT ? part : RESOURCE_UNIT;
	else
		sum->vague += RESOURCE_UNIT;
}

static void add_held(const struct device_held *held, const struct labels *selector, struct sum *sum)
{
	if (held->row->kind != DEVICE_GPU)
		return;
	switch (held->row->share) {
	case DEVICE_WHOLE:
		sum->whole += held->amount;
		break;
	case DEVICE_SLICE:
		add_slice(held, sum);
		break;
	case DEVICE_TURN:
		add_turn(held, selector, sum);
		break;
	case DEVICE_MEMORY:
		add_memory(held, selector, sum);
		break;
	case DEVICE_QUALIFIER:
		break;
	}
}

static void add_container(const struct device_model *model, const struct labels *selector,
			  struct sum *sum)
{
	ARRAY_EACH(const struct device_held, held, model->held, model->held_count)
		add_held(held, selector, sum);
}

static int64_t bounded(__int128 amount)
{
	return amount > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : (int64_t)amount;
}

int64_t gpu_cost_of_resource(const char *resource, int64_t amount,
			     const struct device_table *devices)
{
	const struct labels none = { .at = NULL };
	const struct device_held held = { .resource = resource,
					  .row = device_find(devices, resource),
					  .amount = amount };
	struct sum sum = { 0 };

	if (held.row && amount > 0)
		add_held(&held, &none, &sum);
	return bounded(sum.whole + sum.shares + sum.vague);
}

static void add_quantities(const struct quantities *quantities, const struct pod_spec *spec,
			   const struct device_table *devices, struct sum *sum)
{
	VEC_EACH(const struct quantity, quantity, quantities) {
		const struct device_held held = { .resource = quantity->name,
						  .row = device_find(devices, quantity->name),
						  .amount = quantity->amount };

		if (held.row)
			add_held(&held, &spec->node_selector, sum);
	}
}

/* At least the amount in Ray, unless that is a number of shares. */
static int64_t total(const struct sum *sum, const struct capacity *capacity, bool is_share)
{
	__int128 amount = sum->whole + sum->shares;
	int64_t declared = capacity->gpu_amount;

	if (is_share && sum->vague > 0)
		amount += declared > 0 ? declared : sum->vague;
	else
		amount += sum->vague;
	if (!is_share && amount < declared)
		amount = declared;
	return bounded(amount);
}

void gpu_cost_of(const struct pod_spec *spec, const struct capacity *capacity,
		 const struct device_table *devices, struct arena *arena, struct gpu_cost *ret_cost)
{
	struct sum most = { 0 }, least;
	const struct device_model *main = &capacity->device;
	const struct pod_claims *claims = capacity->claims;
	bool is_share = main->kind == DEVICE_GPU && main->share != DEVICE_WHOLE;

	*ret_cost = (struct gpu_cost){ .is_share = is_share };
	for (size_t i = 0; i < spec->container_count; i++) {
		struct device_model model;

		device_model_make(&spec->containers[i], devices, true, arena, &model);
		add_container(&model, &spec->node_selector, &most);
	}
	add_quantities(&spec->gpu_shares, spec, devices, &most);
	if (claims)
		for (size_t i = 0; i < claims->shared_count; i++) {
			struct sum shared = { 0 };

			add_quantities(&claims->shared[i].charge, spec, devices, &shared);
			ret_cost->shared = bounded((__int128)ret_cost->shared + shared.whole +
						   shared.shares + shared.vague);
		}
	most.whole += ret_cost->shared;
	least = most;
	if (claims) {
		add_quantities(&claims->charge, spec, devices, &most);
		add_quantities(&claims->least, spec, devices, &least);
	}
	ret_cost->is_vague = is_share && most.vague > 0;
	ret_cost->amount = total(&most, capacity, is_share);
	ret_cost->least = total(&least, capacity, is_share);
	CHECK(is_share || ret_cost->amount >= capacity->gpu_amount);
	ret_cost->amount -= ret_cost->shared;
	ret_cost->least -= ret_cost->shared;
	CHECK(ret_cost->amount >= 0 && ret_cost->least >= 0);
	CHECK(is_share || !ret_cost->is_vague);
}
