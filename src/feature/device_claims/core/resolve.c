#include "feature/device_claims/core/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/capacity/gpu_cost.h"
#include "core/model/resources.h"
#include "feature/device_claims/core/device_count.h"
#include "feature/device_claims/core/selector_text.h"

/* Of NVIDIA's driver (kubernetes-sigs/dra-driver-nvidia-gpu). */
#define CHANNEL_CLASS "compute-domain-default-channel.nvidia.com"
#define CHANNEL_DRIVER "'compute-domain.nvidia.com'"
#define CHANNEL_TYPE "channel"
/* Of class and selectors of one request, which have less than 2 MiB. */
#define KEY_BYTES_MAX ((size_t)1 << 30)

struct resolver {
	const struct device_objects *objects;
	const struct device_table *table;
	struct arena *arena;
	struct map kinds; /* struct kind by class and selectors */
	struct buf key;
	struct device_free *devices;
	struct device_judge judge;
	size_t tenant; /* whose claims are counted; 0: DeviceClasses */
	VEC(struct claimed_request) requests;
};

/* The devices of a class with further selectors. */
struct kind {
	struct device_matches devices;
	size_t tenant;                  /* that tried to judge them */
	const char *resource, *product; /* NULL: not an accelerator; "": unknown, or several */
	int64_t least, most;            /* on one Node that has any */
	const char *problem;
};

/* A claim or a template. */
struct subject {
	const char *namespace_, *name;
	const struct claim_spec *spec;
	const char *unreadable;
	const struct resource_claim *claim; /* NULL: a template */
};

/* Those of a namespace. */
struct tenant {
	const struct subject *subjects;
	size_t count;
	size_t text; /* bytes of selectors: what judging them costs each device, about */
};

/* ---- the kind of a device ---- */

static void add_selectors(const struct resolver *r, const struct strings *selectors,
			  struct wanted_device *wanted)
{
	for (size_t i = 0; i < selectors->count; i++)
		selector_text_read(selectors->at[i], r->table, r->arena, wanted);
}

/* By the text of the class and its further selectors: the row of its name in the table, and why its
 * devices are not known. */
static const struct device_row *row_of(const struct resolver *r, const struct device_ask *ask,
				       struct wanted_device *wanted, const char **ret_problem)
{
	const char *class_name = ask->device_class;
	const struct device_class *found = map_get(&r->judge.classes, class_name);
	const struct device_row *named = device_of_class(r->table, class_name);

	*wanted = (struct wanted_device){ "", "", "", "" };
	if (found)
		add_selectors(r, &found->selectors, wanted);
	else if (r->objects->classes_known)
		*ret_problem =
			arena_printf(r->arena,
				     "DeviceClass %.80s does not exist; create it, or install "
				     "the driver that brings it",
				     class_name);
	else if (!named)
		*ret_problem = arena_printf(r->arena,
					    "DeviceClass %.80s is not known; grant get, list and "
					    "watch on deviceclasses (resource.k8s.io), or add the "
					    "class to the device table",
					    class_name);
	if (*wanted->driver == '\0' && named) {
		wanted->driver = named->driver;
		wanted->type = named->device_type;
	}
	add_selectors(r, &ask->selectors, wanted);
	return named;
}

static bool name_channel(const struct resolver *r, const struct strings *selectors,
			 struct wanted_device *wanted)
{
	bool named = false;

	for (size_t i = 0; i < selectors->count; i++)
		named |= strstr(selectors->at[i], CHANNEL_DRIVER) != NULL;
	add_selectors(r, selectors, wanted);
	return named;
}

/* The driver's class, or another one with the driver and the type of a channel. */
static bool is_channel(const struct resolver *r, const struct device_ask *ask)
{
	const struct device_class *class = map_get(&r->judge.classes, ask->device_class);
	struct wanted_device wanted = { "", "", "", "" };
	bool named = class && name_channel(r, &class->selectors, &wanted);

	named |= name_channel(r, &ask->selectors, &wanted);
	return strcmp(ask->device_class, CHANNEL_CLASS) == 0 ||
	       (named && strcmp(wanted.type, CHANNEL_TYPE) == 0);
}

static struct wanted_device attributes_of(const struct free_device *one)
{
	return (struct wanted_device){ .driver = one->slice->driver,
				       .type = device_free_attribute(one, "type"),
				       .profile = device_free_attribute(one, "profile"),
				       .product = device_free_attribute(one, "productName") };
}

/* By the text of the selectors alone. */
static bool is_wanted(const struct wanted_device *has, const struct wanted_device *wanted)
{
	return strcmp(has->driver, wanted->driver) == 0 &&
	       (*wanted->type == '\0' || strcmp(has->type, wanted->type) == 0) &&
	       (*wanted->profile == '\0' || strcmp(has->profile, wanted->profile) == 0) &&
	       (*wanted->product == '\0' || strcmp(has->product, wanted->product) == 0);
}

/* The text that all devices of a selection have; "": none, or several. */
static void agree(const char **text, const char *other, bool first)
{
	if (first)
		*text = other;
	else if (strcmp(*text, other) != 0)
		*text = "";
}

static void add_node(struct kind *kind, int64_t devices)
{
	if (devices > 0 && (kind->most == 0 || devices < kind->least))
		kind->least = devices;
	if (devices > kind->most)
		kind->most = devices;
}

/* Reads the devices that match: what all of them have replaces what the selectors' text says. */
static void read_devices(const struct resolver *r, struct wanted_device *wanted, struct kind *kind)
{
	struct wanted_device found = { "", "", "", "" };
	const char *node = "";
	int64_t on_node = 0;

	if (!kind->devices.set.bits)
		return;
	for (size_t i = 0; i < r->devices->device_count; i++) {
		const struct free_device *one = &r->devices->devices[i];
		bool first = kind->most == 0 && on_node == 0;
		struct wanted_device has;

		if (!device_matches_has(&kind->devices, i))
			continue;
		has = attributes_of(one);
		if (!device_judge_is_sure(&r->judge, i) && !is_wanted(&has, wanted))
			continue;
		agree(&found.driver, has.driver, first);
		agree(&found.type, has.type, first);
		agree(&found.profile, has.profile, first);
		agree(&found.product, has.product, first);
		if (strcmp(node, one->node) != 0) {
			add_node(kind, on_node);
			node = one->node;
			on_node = 0;
		}
		on_node++;
	}
	add_node(kind, on_node);
	if (*found.driver != '\0')
		*wanted = found;
}

/* The name of the device plugin: of a row for a prefix the profile completes it. NVIDIA writes
 * 1g.10gb+me as 1g.10gb.me there. */
static const char *resource_of(const struct resolver *r, const struct device_row *row,
			       const char *profile)
{
	size_t size = strlen(row->resource);
	char *name;

	if (size == 0 || row->resource[size - 1] != '*')
		return row->resource;
	name = arena_printf(r->arena, "%.*s%s", (int)(size - 1), row->resource,
			    *profile != '\0' ? profile : "unknown");
	for (char *at = name; *at != '\0'; at++)
		if (*at == '+')
			*at = '.';
	return name;
}

static const char *key_of(struct resolver *r, const struct device_ask *ask)
{
	buf_clear(&r->key);
	(void)buf_add_string(&r->key, ask->device_class);
	for (size_t i = 0; i < ask->selectors.count; i++) {
		(void)buf_add_string(&r->key, "\n");
		(void)buf_add_string(&r->key, ask->selectors.at[i]);
	}
	return buf_string(&r->key);
}

static const struct kind *kind_of(struct resolver *r, const struct device_ask *ask)
{
	const char *key = key_of(r, ask);
	struct kind *kind = map_get(&r->kinds, key);
	const struct device_row *row;
	struct wanted_device wanted;

	if (kind && (kind->devices.set.bits || kind->tenant == r->tenant))
		return kind;
	if (!kind) {
		kind = ARENA_NEW(r->arena, struct kind);
		map_set(&r->kinds, key, kind);
	}
	kind->tenant = r->tenant;
	kind->devices = device_judge_ask(&r->judge, ask);
	row = row_of(r, ask, &wanted, &kind->problem);
	read_devices(r, &wanted, kind);
	if (*wanted.driver != '\0')
		row = device_of_driver(r->table, wanted.driver, wanted.type);
	kind->resource = row ? resource_of(r, row, wanted.profile) : NULL;
	kind->product = wanted.product;
	return kind;
}

/* ---- amounts ---- */

static struct claimed_amount devices_of(const char *resource, int64_t count)
{
	return (struct claimed_amount){ count > 0 ? resource : "", count * RESOURCE_UNIT };
}

/* One alternative of a request. ret_matches: NULL when it is not judged. */
static void count_ask(struct resolver *r, const struct device_ask *ask, struct claimed_request *ret,
		      const struct device_matches **ret_matches)
{
	const struct kind *kind;

	*ret_matches = NULL;
	ret->promise = ret->charge = devices_of("", 0);
	ret->product = "";
	ret->channel = false;
	ret->problem = NULL;
	if (ask->admin_access)
		return;
	ret->channel = is_channel(r, ask);
	if (ret->channel && !r->objects->classes_known)
		return;
	kind = kind_of(r, ask);
	*ret_matches = &kind->devices;
	ret->problem = kind->problem;
	if (!kind->resource)
		return;
	if (ask->all && kind->most == 0)
		ret->problem = arena_printf(r->arena,
					    "allocationMode All of DeviceClass %.80s is counted by "
					    "ResourceSlices, which have no such device",
					    ask->device_class);
	ret->promise = devices_of(kind->resource, ask->all ? kind->least : ask->count);
	ret->charge = devices_of(kind->resource, ask->all ? kind->most : ask->count);
	ret->product = kind->product;
}

/* As a raylet counts it: of parts it counts the devices that have them, at least one. */
static int64_t worth(const struct resolver *r, const struct claimed_amount *amount)
{
	const struct device_row *row = device_find(r->table, amount->resource);

	if (!row || amount->amount <= 0)
		return 0;
	return row->share == DEVICE_WHOLE ? amount->amount : RESOURCE_UNIT;
}

static int64_t price(const struct resolver *r, const struct claimed_amount *amount)
{
	return gpu_cost_of_resource(amount->resource, amount->amount, r->table);
}

/* The least and the greatest of the alternatives. */
static void count_request(struct resolver *r, const struct device_request *request,
			  struct claimed_request *ret, struct device_wants *wants)
{
	for (size_t i = 0; i < request->ask_count; i++) {
		const struct device_ask *ask = &request->asks[i];
		struct device_want *want = VEC_ADD(r->arena, &wants->at);
		struct claimed_request one = *ret;

		*want = (struct device_want){ .ask = ask,
					      .request = wants->request_count,
					      .count = ask->admin_access ? 0 : ask->count };
		count_ask(r, ask, &one, &want->matches);
		if (i == 0) {
			*ret = one;
			continue;
		}
		agree(&ret->product, one.product, false);
		ret->channel |= one.channel;
		ret->problem = ret->problem ? ret->problem : one.problem;
		if (worth(r, &one.promise) < worth(r, &ret->promise))
			ret->promise = one.promise;
		if (price(r, &one.charge) > price(r, &ret->charge))
			ret->charge = one.charge;
	}
	wants->request_count++;
}

/* ---- allocated claims ---- */

/* "gpus/small" is an alternative of the request "gpus". */
static bool is_of_request(const struct claim_result *result, const char *request)
{
	size_t size = strlen(request);

	return strncmp(result->request, request, size) == 0 &&
	       (result->request[size] == '\0' || result->request[size] == '/');
}

/* 1/10000 of the device: of consumable capacity the largest of its parts. */
static int64_t part_of(const struct claim_result *result, const struct free_device *device)
{
	int64_t part = 0;

	if (!device)
		return RESOURCE_UNIT;
	for (size_t i = 0; i < device->device->capacity.count; i++) {
		const struct quantity *whole = &device->device->capacity.at[i];
		const struct quantity *used =
			device_free_amount(&result->consumed, result->driver, whole->name);
		__int128 share;

		if (!used || whole->amount <= 0 || !used->valid)
			continue;
		share = ((__int128)used->amount * RESOURCE_UNIT + whole->amount - 1) /
			whole->amount;
		share = share < RESOURCE_UNIT ? share : RESOURCE_UNIT;
		part = share > part ? (int64_t)share : part;
	}
	return part > 0 ? part : RESOURCE_UNIT;
}

static void add_request(struct resolver *r, const struct claimed_request *request)
{
	VEC_PUSH(r->arena, &r->requests, *request);
}

/* Adds a device to the entry of its resource, of those from `first` on. */
static void add_result(struct resolver *r, size_t first, const struct claimed_request *form,
		       const char *resource, int64_t part)
{
	struct claimed_request *found = NULL;

	if (first < r->requests.count)
		found = ARRAY_FIND(&r->requests.at[first], r->requests.count - first,
				   charge.resource, resource);
	if (!found) {
		add_request(r, form);
		found = &r->requests.at[r->requests.count - 1];
		found->charge = (struct claimed_amount){ resource, 0 };
	}
	found->charge.amount += part;
	found->promise = found->charge;
}

/* A device that is in no slice any more is as its request says. */
static void count_results(struct resolver *r, const struct resource_claim *claim,
			  const struct claimed_request *form, const char *fallback)
{
	size_t first = r->requests.count;

	ARRAY_EACH(const struct claim_result, result, claim->results, claim->result_count) {
		const struct free_device *device =
			device_free_find(r->devices, result->driver, result->pool, result->device);
		const struct device_row *row;

		if (result->admin_access || !is_of_request(result, form->request))
			continue;
		row = device_of_driver(r->table, result->driver,
				       device ? device_free_attribute(device, "type") : "");
		if (!row)
			continue;
		add_result(r, first, form,
			   device || *fallback == '\0' ?
				   resource_of(r, row,
					       device ? device_free_attribute(device, "profile") :
							"") :
				   fallback,
			   part_of(result, device));
	}
	if (r->requests.count == first)
		add_request(r, form);
}

/* ---- claims and templates ---- */

static void count_subject(struct resolver *r, const struct subject *subject)
{
	const struct resource_claim *claim = subject->claim;
	struct device_wants *wants = ARENA_NEW(r->arena, struct device_wants);
	struct claimed_request form = {
		.namespace_ = subject->namespace_,
		.claim = subject->name,
		.is_template = !claim,
		.request = "",
		.promise = devices_of("", 0),
		.charge = devices_of("", 0),
		.product = "",
		.problem = subject->unreadable,
		.wants = wants,
		.allocated = claim && claim->allocated,
	};

	for (size_t i = 0; i < subject->spec->request_count; i++) {
		struct claimed_request request = form;

		request.request = subject->spec->requests[i].name;
		count_request(r, &subject->spec->requests[i], &request, wants);
		if (form.allocated) {
			const char *fallback = request.charge.resource;

			request.promise = request.charge = devices_of("", 0);
			request.problem = NULL;
			count_results(r, claim, &request, fallback);
		} else {
			add_request(r, &request);
		}
	}
	if (subject->spec->request_count == 0)
		add_request(r, &form);
}

static int compare_subjects(const void *left, const void *right)
{
	const struct subject *a = left, *b = right;

	return strcmp(a->namespace_, b->namespace_);
}

static int compare_tenants(const void *left, const void *right)
{
	const struct tenant *a = left, *b = right;

	return (a->text > b->text) - (a->text < b->text);
}

static size_t text_of(const struct claim_spec *spec)
{
	size_t sum = 0;

	for (size_t i = 0; i < spec->request_count; i++) {
		ARRAY_EACH(const struct device_ask, ask, spec->requests[i].asks,
			   spec->requests[i].ask_count) {
			for (size_t s = 0; s < ask->selectors.count; s++)
				sum += strlen(ask->selectors.at[s]) + 1;
		}
	}
	return sum;
}

static struct subject *list_subjects(const struct device_objects *objects, struct arena *scratch)
{
	struct subject *all =
		arena_array(scratch, objects->template_count + objects->claim_count, sizeof(*all));
	size_t count = 0;

	ARRAY_EACH(const struct claim_template, template_, objects->templates,
		   objects->template_count)
		all[count++] = (struct subject){ template_->namespace_, template_->name,
						 &template_->spec, template_->unreadable, NULL };
	ARRAY_EACH(const struct resource_claim, claim, objects->claims, objects->claim_count)
		all[count++] = (struct subject){ claim->namespace_, claim->name, &claim->spec,
						 claim->unreadable, claim };
	sort_stable(all, count, sizeof(*all), compare_subjects);
	return all;
}

/* The steps of CEL are shared between namespaces: each has an equal part of what those with less text
 * have left, so that one namespace never uses up those of another. */
static void count_all(struct resolver *r)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t count = r->objects->template_count + r->objects->claim_count;
	const struct subject *all = list_subjects(r->objects, &scratch);
	VEC(struct tenant) tenants = { .at = NULL };
	size_t left = r->judge.steps_left;

	for (size_t i = 0; i < count; i++) {
		struct tenant *last = tenants.count > 0 ? &tenants.at[tenants.count - 1] : NULL;

		if (!last || strcmp(last->subjects->namespace_, all[i].namespace_) != 0) {
			last = VEC_ADD(&scratch, &tenants);
			last->subjects = &all[i];
		}
		last->count++;
		last->text += text_of(all[i].spec);
	}
	sort_stable(tenants.at, tenants.count, sizeof(*tenants.at), compare_tenants);
	for (size_t t = 0; t < tenants.count; t++) {
		size_t part = left / (tenants.count - t);

		r->judge.steps_left = part;
		r->tenant = t + 1;
		for (size_t i = 0; i < tenants.at[t].count; i++)
			count_subject(r, &tenants.at[t].subjects[i]);
		left -= part - r->judge.steps_left;
	}
}

/* ---- names of classes in limits ---- */

struct class_list {
	VEC(struct claimed_class) at;
};

/* Returns its devices; NULL: they are not judged. */
static const struct device_matches *add_class(struct resolver *r, struct class_list *list,
					      const char *class_name, const char *extended_resource)
{
	const struct device_ask *ask =
		ARENA_PUT(r->arena, (struct device_ask){
					    .name = "", .device_class = class_name, .count = 1 });
	const struct device_matches *matches;
	struct claimed_request one = { .problem = NULL };

	count_ask(r, ask, &one, &matches);
	VEC_PUSH(r->arena, &list->at,
		 ((struct claimed_class){
			 arena_printf(r->arena, DEVICE_CLASS_RESOURCE_PREFIX "%s", class_name),
			 one.promise.resource, ask, matches }));
	if (*extended_resource != '\0')
		VEC_PUSH(r->arena, &list->at,
			 ((struct claimed_class){ extended_resource, one.promise.resource, ask,
						  matches }));
	return matches;
}

/* Of a class that is not known the table may have the name. */
static void count_classes(struct resolver *r, struct class_list *list)
{
	const struct device_matches **kinds =
		arena_array(r->arena, r->objects->class_count, sizeof(*kinds));

	for (size_t i = 0; i < r->objects->class_count; i++)
		kinds[i] = add_class(r, list, r->objects->classes[i].name,
				     r->objects->classes[i].extended_resource);
	r->devices->class_matches = kinds;
	if (!r->objects->classes_known)
		for (size_t i = 0; i < r->table->count; i++)
			if (*r->table->rows[i].device_class != '\0')
				add_class(r, list, r->table->rows[i].device_class, "");
	if (list->at.count > 0)
		qsort(list->at.at, list->at.count, sizeof(*list->at.at), claimed_class_compare);
}

/* Files may have a part of them. */
static bool any_is_known(const struct device_objects *objects)
{
	return objects->slices_known || objects->classes_known || objects->templates_known ||
	       objects->claims_known || objects->class_count > 0 || objects->template_count > 0 ||
	       objects->claim_count > 0;
}

/* NULL when no object and no kind is known. */
static const struct claimed_index *resolve(const struct device_objects *objects,
					   const struct device_table *table, struct arena *arena)
{
	struct resolver r = {
		.objects = objects,
		.table = table,
		.arena = arena,
		.kinds = MAP_INIT,
		.key = BUF_INIT(KEY_BYTES_MAX),
	};
	struct class_list classes = { .at = { .at = NULL } };
	struct claimed_index *index;

	if (!objects || !any_is_known(objects))
		return NULL;
	r.devices = device_free_make(objects, arena);
	device_judge_init(&r.judge, r.devices, arena);
	count_classes(&r, &classes);
	count_all(&r);
	device_judge_done(&r.judge);
	buf_done(&r.key);
	map_done(&r.kinds);
	if (r.requests.count > 0)
		qsort(r.requests.at, r.requests.count, sizeof(*r.requests.at), claimed_compare);
	index = ARENA_PUT(arena, (struct claimed_index){
					 .at = r.requests.at,
					 .count = r.requests.count,
					 .classes = classes.at.at,
					 .class_count = classes.at.count,
					 .templates_known = objects->templates_known,
					 .claims_known = objects->claims_known,
					 .devices = objects->slices_known ? r.devices : NULL });
	return index;
}

const struct device_table *device_claims_attach(const struct device_objects *objects,
						const struct device_table *table,
						struct arena *arena)
{
	const struct claimed_index *index = resolve(objects, table, arena);
	struct device_table *counted;

	if (!index)
		return table;
	counted = ARENA_COPY(arena, table, 1);
	counted->claims = index;
	return counted;
}

/* Arrays that grow leave as much behind; texts are keys of selectors and of requests. */
size_t device_claims_attached_bytes(const struct claim_spec *spec)
{
	size_t asks = 0;

	for (size_t i = 0; i < spec->request_count; i++)
		asks += spec->requests[i].ask_count;
	return 2 * (spec->request_count + 1) * sizeof(struct claimed_request) +
	       asks * (2 * sizeof(struct device_want) + sizeof(struct kind)) + 2 * text_of(spec);
}
