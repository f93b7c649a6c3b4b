/* ResourceSlices, DeviceClasses, templates and claims, as the members of a snapshot, through counting
 * and free devices. Laws: the counts of devices add up, and are the same twice; a request that counts
 * something names a device of the table, and no amount is negative; a search for places finds at most
 * the wanted number and leaves the counts as they were. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/device_claim_object.h"
#include "codec/text/yaml.h"
#include "feature/device_claims/core/device_free.h"

#define ASKS_MAX 64 /* that are counted: each reads all devices */
#define FITS_MAX 16
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

static struct device_count count_of(const struct device_free *free, const struct device_ask *ask,
				    struct arena *arena)
{
	struct device_count count;

	device_free_count(free, ask, arena, &count);
	REQUIRE(count.total == count.free + count.claimed + count.tainted + count.blocked);
	REQUIRE(count.free >= 0 && count.claimed >= 0 && count.tainted >= 0 && count.blocked >= 0);
	return count;
}

static void check_asks(const struct device_objects *objects, const struct device_free *free,
		       struct arena *arena)
{
	size_t asked = 0;

	for (size_t t = 0; t < objects->template_count; t++) {
		const struct claim_spec *spec = &objects->templates[t].spec;

		for (size_t r = 0; r < spec->request_count; r++)
			for (size_t a = 0; a < spec->requests[r].ask_count && asked < ASKS_MAX;
			     a++, asked++)
				(void)count_of(free, &spec->requests[r].asks[a], arena);
	}
}

static void check_fits(const struct device_objects *objects, struct device_free *free,
		       struct arena *arena)
{
	const struct device_ask any = { .name = "", .device_class = "any", .count = 1 };
	const struct device_count before = count_of(free, &any, arena);

	for (size_t t = 0; t < objects->template_count && t < FITS_MAX; t++) {
		const struct claim_spec *spec = &objects->templates[t].spec;
		const struct device_pods pods = { .specs = &spec,
						  .spec_count = 1,
						  .most = PODS_MAX };
		struct device_fit fit;

		device_free_fit(free, &pods, arena, &fit);
		REQUIRE(fit.pods >= 0 && fit.pods <= PODS_MAX);
	}
	const struct device_count after = count_of(free, &any, arena);

	REQUIRE(before.free == after.free && before.claimed == after.claimed &&
		before.blocked == after.blocked && before.tainted == after.tainted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct device_objects objects = { .slices = NULL };
	const struct device_table *table;
	struct device_free *free;
	struct err err = { .kind = ERR_NONE };

	if (yaml_or_json_parse((const char *)data, size, &fuzz_limits, &tree, &err))
		return 0;
	if (field_decode_object(tree, "", FIELD_WHOLE(struct device_objects, device_objects_fields),
				&arena, &objects, &err)) {
		REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		return 0;
	}
	table = device_claims_attach(&objects, device_table_builtin(), &arena);
	if (table->claims)
		check_index(table);
	free = device_free_make(&objects, &arena);
	check_asks(&objects, free, &arena);
	/* An unknown class matches all devices. */
	objects.classes_known = false;
	check_fits(&objects, free, &arena);
	return 0;
}
