#include "feature/device_claims/ctl/device_copy.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/resolve.h"

#define MIB ((size_t)1 << 20)
/* Of a view, for claims and templates. */
#define CLAIMS_PARTS ((size_t)3)

/* A list of the objects, whose elements are the caller's. */
struct list {
	const struct field *row;
	char *at;
	size_t count;
};

/* The templates and claims of a namespace. */
struct tenant {
	const char *namespace_;
	size_t bytes;
	const char *refused; /* why; NULL: it is not */
};

static struct list list_of(struct device_objects *objects, const char *name)
{
	const struct field *row = field_find(device_objects_fields, name);
	struct list list = { .row = row };

	memcpy(&list.at, field_value(row, objects), sizeof(list.at));
	memcpy(&list.count, (char *)objects + row->count, sizeof(list.count));
	return list;
}

/* ---- objects of no namespace ---- */

/* Above the limit the kind is not known. */
static bool own_all(struct device_objects *objects, const char *name, size_t limit_bytes,
		    struct arena *arena)
{
	struct list list = list_of(objects, name);
	const struct field *row = list.row;

	for (size_t i = 0; i < list.count; i++) {
		char *object = list.at + i * row->size;

		if (row->problems > 0)
			memset(object + row->problems, 0, sizeof(struct strings));
		field_own(row->members, object, arena);
		if (arena->used_bytes <= limit_bytes)
			continue;
		memset((char *)objects + row->count, 0, sizeof(list.count));
		memset((char *)objects + row->has, 0, sizeof(bool));
		return false;
	}
	return true;
}

/* ---- objects of namespaces ---- */

static void measure(struct map *tenants, const char *namespace_, const struct claim_spec *spec,
		    const struct field *row, const void *object, struct arena *scratch)
{
	struct tenant *tenant = map_make(tenants, namespace_, sizeof(*tenant));

	(void)field_copy(row->members, object, row->size, scratch);
	tenant->bytes += scratch->used_bytes + device_claims_attached_bytes(spec);
	arena_reset(scratch);
}

/* The copy of each object is made, counted and dropped. */
static void measure_all(const struct device_objects *objects, struct map *tenants)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	ARRAY_EACH(const struct claim_template, one, objects->templates, objects->template_count)
		measure(tenants, one->namespace_, &one->spec,
			field_find(device_objects_fields, "resourceClaimTemplates"), one, &scratch);
	ARRAY_EACH(const struct resource_claim, one, objects->claims, objects->claim_count)
		measure(tenants, one->namespace_, &one->spec,
			field_find(device_objects_fields, "resourceClaims"), one, &scratch);
}

static int compare_tenants(const void *left, const void *right)
{
	const struct tenant *a = *(struct tenant *const *)left;
	const struct tenant *b = *(struct tenant *const *)right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return strcmp(a->namespace_, b->namespace_);
}

static void refuse(struct tenant *tenant, size_t left, size_t limit_bytes, struct arena *arena,
		   struct device_copied *ret)
{
	tenant->refused = arena_printf(
		arena,
		"the ResourceClaimTemplates and ResourceClaims of namespace %.63s take %zu MiB, and "
		"%zu of the %zu MiB for all namespaces are left; delete those that no Pod uses, or "
		"shorten their selectors",
		tenant->namespace_, tenant->bytes / MIB + 1, left / MIB, limit_bytes / MIB);
	ret->refused++;
	if (ret->first_refused && strcmp(ret->first_refused, tenant->namespace_) < 0)
		return;
	ret->first_refused = arena_strdup(arena, tenant->namespace_);
	ret->why = tenant->refused;
}

static void refuse_largest(const struct map *tenants, size_t limit_bytes, struct arena *arena,
			   struct device_copied *ret)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct tenant **sorted = arena_array(&scratch, tenants->count, sizeof(*sorted));
	size_t left = limit_bytes;

	for (size_t i = 0; i < tenants->count; i++)
		sorted[i] = tenants->entries[i].value;
	sort_stable(sorted, tenants->count, sizeof(*sorted), compare_tenants);
	for (size_t i = 0; i < tenants->count; i++) {
		if (sorted[i]->bytes > left)
			refuse(sorted[i], left, limit_bytes, arena, ret);
		else
			left -= sorted[i]->bytes;
	}
}

static const char *refused_of(const struct map *tenants, const char *namespace_)
{
	const struct tenant *tenant = map_get(tenants, namespace_);

	return tenant->refused;
}

/* Of an object that is refused its names, and why. */
static void own_templates(const struct list *list, const struct map *tenants, struct arena *arena)
{
	for (size_t i = 0; i < list->count; i++) {
		struct claim_template *one = (struct claim_template *)(void *)list->at + i;
		const char *why = refused_of(tenants, one->namespace_);

		if (why)
			*one = (struct claim_template){ .namespace_ = one->namespace_,
							.name = one->name,
							.resource_version = "" };
		field_own(list->row->members, one, arena);
		one->unreadable = why ? why : one->unreadable;
	}
}

static void own_claims(const struct list *list, const struct map *tenants, struct arena *arena)
{
	for (size_t i = 0; i < list->count; i++) {
		struct resource_claim *one = (struct resource_claim *)(void *)list->at + i;
		const char *why = refused_of(tenants, one->namespace_);

		if (why)
			*one = (struct resource_claim){ .namespace_ = one->namespace_,
							.name = one->name,
							.uid = "",
							.resource_version = "" };
		field_own(list->row->members, one, arena);
		one->unreadable = why ? why : one->unreadable;
	}
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

void device_copy(struct device_objects *objects, size_t view_bytes, struct arena *arena,
		 struct device_copied *ret_copied)
{
	size_t claims_bytes = view_bytes ? view_bytes / CLAIMS_PARTS : DEVICE_COPY_CLAIMS_BYTES;
	size_t cluster_bytes = view_bytes ? view_bytes - claims_bytes : DEVICE_COPY_CLUSTER_BYTES;
	struct map tenants = MAP_INIT;
	struct list templates = list_of(objects, "resourceClaimTemplates");
	struct list claims = list_of(objects, "resourceClaims");

	*ret_copied = (struct device_copied){ .refused = 0 };
	claims_bytes = lesser(claims_bytes, DEVICE_COPY_CLAIMS_BYTES);
	cluster_bytes = lesser(cluster_bytes, DEVICE_COPY_CLUSTER_BYTES);
	ret_copied->slices_too_large = !own_all(objects, "resourceSlices", cluster_bytes, arena);
	ret_copied->classes_too_large = !own_all(objects, "deviceClasses", cluster_bytes, arena);
	ret_copied->rules_too_large = !own_all(objects, "deviceTaintRules", cluster_bytes, arena);
	measure_all(objects, &tenants);
	refuse_largest(&tenants, claims_bytes, arena, ret_copied);
	own_templates(&templates, &tenants, arena);
	own_claims(&claims, &tenants, arena);
	map_drop_all(&tenants, NULL);
}
