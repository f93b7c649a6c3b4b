/* ResourceSlices, DeviceClasses, templates and claims, as the members of a snapshot, through counting
 * and free devices. Laws: the counts of devices add up; a request that counts
 * something names a device of the table, and no amount is negative; at most the wanted number of Pods
 * fit, and not more with one more claim each. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/yaml.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/device_count.h"
#include "feature/device_claims/core/resolve.h"

#define CLAIMS_MAX 16
#define WANTS_MAX 64 /* that are counted: each reads all devices */
#define PODS_MAX 20

static void check_amount(const struct claimed_amount *amount, const struct device_table *table)
{
	REQUIRE(amount->amount >= 0);
	REQUIRE((amount->amount > 0) == (*amount->resource != '\0'));
	REQUIRE(amount->amount == 0 || device_find(table, amount->resource) != NULL);
}

static void check_index(const struct device_table *table)
{
	const struct claimed_index *index = table->claims;

	for (size_t i = 0; i < index->count; i++) {
		const struct claimed_request *one = &index->at[i];
		size_t count;

		check_amount(&one->promise, table);
		check_amount(&one->charge, table);
		REQUIRE(claimed_find(index, one->namespace_, one->claim, one->is_template, &count));
		REQUIRE(count >= 1 && count <= index->count);
		REQUIRE(i == 0 || claimed_compare(one - 1, one) <= 0);
	}
}

static struct device_count count_of(const struct device_free *free, const struct device_want *want)
{
	struct device_count count;

	device_count_all(free, want->ask, want->matches, &count);
	REQUIRE(count.total == count.free + count.claimed + count.tainted + count.blocked);
	REQUIRE(count.free >= 0 && count.claimed >= 0 && count.tainted >= 0 && count.blocked >= 0);
	REQUIRE(count.total <= (int64_t)free->device_count);
	return count;
}

/* A claim by itself fits nowhere only where some request has too few free devices. */
static void check_claim(const struct device_free *free, const struct device_wants *claim,
			struct arena *arena)
{
	const struct pod_spec any = { .node_name = "" };
	const struct device_place place = { .free = free, .spec = &any };
	struct device_wants wants = { .request_count = 0 };
	int64_t pods, fewer;

	for (size_t i = 0; i < claim->at.count && i < WANTS_MAX; i++)
		(void)count_of(free, &claim->at.at[i]);
	device_wants_add(&wants, claim, arena);
	if (wants.at.count == 0)
		return;
	pods = device_count_pods(&place, &wants, PODS_MAX, arena);
	REQUIRE(pods >= 0 && pods <= PODS_MAX);
	/* Another one like it never leaves more. */
	device_wants_add(&wants, claim, arena);
	fewer = device_count_pods(&place, &wants, PODS_MAX, arena);
	REQUIRE(fewer <= pods);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct device_objects objects = { .slices = NULL };
	const struct device_table *table;
	struct err err = { .kind = ERR_NONE };

	if (yaml_or_json_parse((const char *)data, size, &fuzz_limits, &tree, &err))
		return 0;
	if (field_decode_object(tree, "", FIELD_WHOLE(struct device_objects, device_objects_fields),
				&arena, &objects, &err)) {
		REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		return 0;
	}
	table = device_claims_attach(&objects, device_table_builtin(), &arena);
	if (!table->claims)
		return 0;
	check_index(table);
	for (size_t i = 0; table->claims->devices && i < table->claims->count && i < CLAIMS_MAX;
	     i++)
		check_claim(table->claims->devices, table->claims->at[i].wants, &arena);
	return 0;
}
