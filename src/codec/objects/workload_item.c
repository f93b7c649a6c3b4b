#include "codec/objects/workload_item.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/sort.h"
#include "codec/objects/ray_state_json.h"
#include "codec/objects/request_resources.h"
#include "codec/schema/field.h"
#include "codec/text/duration.h"
#include "codec/text/rfc3339.h"

#define KEY_BYTES_MAX ((size_t)16 << 20)
#define TIME_TEXT_SIZE 64

static const char problem_time[] =
	"is not a time like 2026-11-20T10:00:00Z or a duration like 90s, 1h30m or 2d";

/* Of one item; valid for all that share it. */
struct shared_bundles {
	struct ray_request *requests;
	size_t count;
};

struct when {
	int64_t ms;
	bool given, absolute;
};

struct item_form {
	struct work_item item;
	bool has_strategy;
	struct when submit, duration, until, checkpoint;
	struct workload_builder *builder;
};

FIELD_WORDS(work_kind, enum work_kind)
FIELD_WORDS(placement_strategy, enum placement_strategy)

/* ---- times ---- */

static bool is_date(const char *text)
{
	return strnlen(text, 11) > 10 && text[4] == '-' && text[7] == '-';
}

int workload_time_parse(const char *text, int64_t *ret_ms, bool *ret_absolute,
			const char **ret_problem)
{
	char date[TIME_TEXT_SIZE];
	size_t size;

	*ret_absolute = is_date(text);
	if (!*ret_absolute) {
		if (duration_parse(text, ret_ms, ret_problem) == 0)
			return 0;
		/* The form is that of a duration if it begins as one. */
		if (!isdigit((unsigned char)*text) && *text != '-')
			*ret_problem = problem_time;
		return -1;
	}
	size = (size_t)snprintf(date, sizeof(date), "%s", text);
	*ret_problem = problem_time;
	if (size + 1 >= sizeof(date))
		return -1;
	if (date[10] == ' ')
		date[10] = 'T';
	if (isdigit((unsigned char)date[size - 1]) && !strchr(date + 10, '+') &&
	    !strchr(date + 10, '-'))
		memcpy(date + size, "Z", 2);
	return rfc3339_parse(date, ret_ms, ret_problem);
}

static int when_decode(const struct json_at *member, struct when *ret)
{
	enum json_type type = json_type(member);
	const char *problem = NULL;

	if (!json_is_given(member))
		return 0;
	ret->given = true;
	if (type == JSON_NUMBER) {
		double seconds = json_number_value(member);

		if (duration_from_seconds(seconds, &ret->ms, &problem))
			return json_fail(member, "%g %s", seconds, problem);
	} else if (type != JSON_STRING) {
		return json_fail(member,
				 "must be a time, a duration like 1h30m or a number of seconds, is "
				 "%s",
				 json_type_name(type));
	} else if (workload_time_parse(json_text_value(member), &ret->ms, &ret->absolute,
				       &problem)) {
		return json_fail(member, "\"%.40s\" %s", json_text_value(member), problem);
	}
	return 0;
}

static int submit_decode(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	struct item_form *form = object;

	if (when_decode(member, &form->submit))
		return -1;
	if (!form->submit.given)
		return json_fail(member, "is missing; give a time like 2026-11-20T10:00:00Z or a "
					 "duration since the start like 90s");
	if (json_type(member) == JSON_NUMBER)
		form->submit.absolute = form->builder->numbers_absolute;
	return 0;
}

static int duration_decode(const struct json_at *member, const struct field *field UNUSED,
			   void *object)
{
	struct item_form *form = object;

	if (when_decode(member, &form->duration))
		return -1;
	if (form->duration.absolute)
		return json_fail(member, "must be a duration like 1h30m, is a time");
	if (form->duration.given && form->duration.ms == 0)
		return json_fail(member, "must be above 0");
	return 0;
}

static int checkpoint_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	struct item_form *form = object;

	if (when_decode(member, &form->checkpoint))
		return -1;
	if (form->checkpoint.absolute)
		return json_fail(member, "must be a duration like 90s, is a time");
	if (form->checkpoint.given && form->item.kind == WORK_REQUEST_RESOURCES)
		return json_fail(member, "is not of kind request_resources, which runs nothing; "
					 "remove it");
	form->item.checkpoints = form->checkpoint.given;
	form->item.checkpoint_ms = form->checkpoint.ms;
	return 0;
}

/* Sets the duration from `until`: of a request, whose end is known when it is made. */
static int until_decode(const struct json_at *member, const struct field *field UNUSED,
			void *object)
{
	struct item_form *form = object;

	if (when_decode(member, &form->until))
		return -1;
	if (!form->until.given)
		return 0;
	if (form->item.kind != WORK_REQUEST_RESOURCES)
		return json_fail(member, "is of kind request_resources only; give a duration");
	if (form->duration.given)
		return json_fail(member, "is given beside duration; remove one of them");
	if (json_type(member) == JSON_NUMBER)
		form->until.absolute = form->builder->numbers_absolute;
	if (form->until.absolute != form->submit.absolute)
		return json_fail(member, "must have the form of submit: both a time, or both a "
					 "duration since the start");
	if (form->until.ms <= form->submit.ms)
		return json_fail(member, "must be after submit");
	form->duration = (struct when){ .ms = form->until.ms - form->submit.ms, .given = true };
	return 0;
}

/* ---- bundles ---- */

/* Fails for amounts that no machine has, and for a request of nothing. */
static int check_request(const struct json_at *at, struct ray_request *request)
{
	size_t kept = 0;

	if (request->problem)
		return json_fail(at, "%s", request->problem);
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if ((strcasecmp(entry->name, "GPU") == 0 && strcmp(entry->name, "GPU") != 0) ||
		    (strcasecmp(entry->name, "CPU") == 0 && strcmp(entry->name, "CPU") != 0))
			return json_fail(at,
					 "%s is a custom resource for Ray; write it in capitals",
					 entry->name);
		kept += entry->amount > 0;
	}
	if (kept == 0)
		return json_fail(at,
				 "asks for nothing; give CPU, GPU, memory or a custom resource, "
				 "or remove the item");
	return 0;
}

/* Ray drops amounts of 0 before it schedules. */
static void drop_zeros(struct ray_request *request, struct arena *arena)
{
	struct bundle_entry *entries = arena_array(arena, request->bundle_count, sizeof(*entries));
	size_t kept = 0;

	for (size_t i = 0; i < request->bundle_count; i++) {
		if (request->bundle[i].amount > 0)
			entries[kept++] = request->bundle[i];
	}
	request->bundle = entries;
	request->bundle_count = kept;
}

/* One request, with the item's selector unless it has its own. */
static int request_decode(const struct json_at *item, const struct json_at *at,
			  struct ray_request *ret)
{
	if (request_bundle_decode(at, ret) || check_request(at, ret))
		return -1;
	drop_zeros(ret, at->reader->arena);
	return ret->selector_count > 0 ? 0 : request_selector_decode(item, "labelSelector", ret);
}

static int bundles_decode(const struct json_at *at, struct shared_bundles *ret)
{
	struct json_at resources = json_member(at, "resources"), bundles;
	struct arena *arena = at->reader->arena;

	if (json_array(at, "bundles", &bundles))
		return -1;
	ret->count = bundles.json ? json_count(&bundles) : 1;
	if (ret->count == 0 || ret->count > WORKLOAD_BUNDLES_MAX)
		return json_fail(&bundles, "has %zu elements; must have 1 to %d", ret->count,
				 WORKLOAD_BUNDLES_MAX);
	ret->requests = arena_array(arena, ret->count, sizeof(*ret->requests));
	if (!bundles.json)
		return request_decode(at, &resources, &ret->requests[0]);
	for (struct json_at e = json_first(&bundles); e.json; json_next(&e)) {
		if (request_decode(at, &e, &ret->requests[e.index]))
			return -1;
	}
	return 0;
}

/* The members that each kind has. */
static int check_kind(const struct json_at *at, const struct item_form *form)
{
	struct json_at bundles = json_member(at, "bundles");
	struct json_at resources = json_member(at, "resources");
	struct json_at strategy = json_member(at, "strategy");
	const char *kind = work_kind_name(form->item.kind);
	bool list = json_is_given(&bundles), single = json_is_given(&resources);

	if (list && single)
		return json_fail(&bundles, "is given beside resources; remove one of them");
	if (form->item.kind <= WORK_ACTOR && list)
		return json_fail(&bundles, "is not of kind %s; give resources", kind);
	if (form->item.kind == WORK_PLACEMENT_GROUP && !list)
		return json_fail(&bundles, "is missing; a placement_group has a list of bundles "
					   "like [{GPU: 8}, {GPU: 8}]");
	if (!list && !single)
		return json_fail(&resources, "is missing; give resources like {CPU: 1, GPU: 0.5}");
	if (form->has_strategy && form->item.kind != WORK_PLACEMENT_GROUP)
		return json_fail(&strategy, "is of kind placement_group only; remove it");
	return 0;
}

/* A text that only equal bundles have. Each name has its size before it, because it may hold any
 * character. */
static void write_key(struct buf *key, const struct shared_bundles *bundles)
{
	buf_clear(key);
	ARRAY_EACH(const struct ray_request, request, bundles->requests, bundles->count) {
		struct json_writer writer;

		for (size_t k = 0; k < request->bundle_count; k++)
			buf_printf(key, "%zu:%s=%" PRId64 " ", strlen(request->bundle[k].name),
				   request->bundle[k].name, request->bundle[k].amount);
		json_write_init(&writer, key, JSON_STYLE_LINE);
		if (request->selector_count > 0)
			ray_request_write(&writer, NULL, request);
		buf_add_char(key, '\n');
	}
}

/* The bundles that an earlier item had as well, else a copy in the arena of the workload. */
static int share_bundles(struct workload_builder *builder, const struct json_at *at,
			 struct work_item *item)
{
	struct json_reader reader = *at->reader;
	struct json_at copied = *at;
	struct shared_bundles bundles, *shared;

	if (bundles_decode(at, &bundles))
		return -1;
	write_key(&builder->key, &bundles);
	if (builder->key.overflowed)
		return json_fail(at, "is too large");
	shared = map_get(&builder->bundles, buf_string(&builder->key));
	if (!shared) {
		shared = ARENA_NEW(builder->arena, struct shared_bundles);
		reader.arena = builder->arena;
		copied.reader = &reader;
		if (bundles_decode(&copied, shared))
			return -1;
		map_set(&builder->bundles, buf_string(&builder->key), shared);
	}
	item->bundles = shared->requests;
	item->bundle_count = shared->count;
	return 0;
}

/* ---- items ---- */

static const struct field item_fields[] = {
	FIELD_WORD(struct item_form, item.kind, enum work_kind, work_kind_word, "kind",
		   .limit = WORK_KINDS),
	FIELD_HOOK("submit", .read = submit_decode),
	FIELD_HOOK("duration", .read = duration_decode),
	FIELD_HOOK("until", .read = until_decode),
	FIELD_HOOK("checkpoint", .read = checkpoint_decode),
	FIELD_WORD(struct item_form, item.strategy, enum placement_strategy,
		   placement_strategy_word, "strategy", .limit = PLACEMENT_STRATEGIES,
		   .has = FIELD_HAS(struct item_form, has_strategy)),
	FIELD_INTEGER(struct item_form, item.count, "count"),
	FIELD_NAME(struct item_form, item.job, "job"),
	FIELD_NAME(struct item_form, item.cluster, "cluster"),
	FIELD_HOOK("resources"),
	FIELD_HOOK("bundles"),
	FIELD_HOOK("labelSelector"),
	FIELD_END,
};

static const char *share_name(struct workload_builder *builder, const char *name)
{
	char *known = map_get(&builder->names, name);

	if (*name == '\0')
		return "";
	if (!known) {
		known = arena_strdup(builder->arena, name);
		map_set(&builder->names, name, known);
	}
	return known;
}

static int form_decode(const struct json_at *at, struct item_form *form)
{
	struct json_at member = json_member(at, "duration");

	if (field_check_names(at, item_fields, "an item of a Workload") ||
	    field_decode_all(at, item_fields, form))
		return -1;
	if (!form->duration.given)
		return json_fail(&member, "is missing; give a duration like 1h30m");
	member = json_member(at, "count");
	if (form->item.count < 1 || form->item.count > WORKLOAD_COUNT_MAX - form->builder->total)
		return json_fail(&member,
				 "is %lld; must be at least 1, and the counts of all items "
				 "together at most %lld",
				 (long long)form->item.count, (long long)WORKLOAD_COUNT_MAX);
	return check_kind(at, form);
}

int workload_builder_add(struct workload_builder *builder, const struct json_at *at)
{
	struct item_form form = { .item = { .count = 1, .job = "", .cluster = "" },
				  .builder = builder };
	struct built_item *built;

	if (builder->items.count >= WORKLOAD_ITEMS_MAX)
		return json_fail(at,
				 "is one item too many; a workload has at most %d: split it, or "
				 "join equal items with count",
				 WORKLOAD_ITEMS_MAX);
	if (form_decode(at, &form) || share_bundles(builder, at, &form.item))
		return -1;
	form.item.submit_ms = form.submit.ms;
	form.item.duration_ms = form.duration.ms;
	form.item.job = share_name(builder, form.item.job);
	form.item.cluster_assumed = form.item.cluster[0] == '\0' && builder->cluster;
	form.item.cluster = share_name(builder, form.item.cluster_assumed ? builder->cluster :
									    form.item.cluster);
	builder->total += form.item.count;
	built = VEC_ADD(&builder->list, &builder->items);
	*built = (struct built_item){ .item = form.item, .absolute = form.submit.absolute };
	arena_reset(&builder->scratch);
	return 0;
}

/* ---- the workload ---- */

void workload_builder_init(struct workload_builder *builder, struct arena *arena)
{
	*builder =
		(struct workload_builder){ .arena = arena, .bundles = MAP_INIT, .names = MAP_INIT };
	buf_init(&builder->key, KEY_BYTES_MAX);
}

void workload_builder_done(struct workload_builder *builder)
{
	map_done(&builder->bundles);
	map_done(&builder->names);
	buf_done(&builder->key);
	arena_done(&builder->list);
	arena_done(&builder->scratch);
}

static int compare_submit(const void *a, const void *b)
{
	const struct work_item *left = a, *right = b;

	return (left->submit_ms > right->submit_ms) - (left->submit_ms < right->submit_ms);
}

int workload_builder_finish(struct workload_builder *builder, struct workload *ret_workload,
			    struct err *err)
{
	size_t count = builder->items.count;
	struct work_item *items;
	int64_t start_ms = INT64_MAX;

	if (count == 0)
		return err_set(err, ERR_INPUT, "there is no item; add at least one%s%s",
			       builder->left_out ? "; " : "",
			       builder->left_out ? builder->left_out : "");
	ARRAY_EACH(const struct built_item, built, builder->items.at, count) {
		if (built->absolute && built->item.submit_ms < start_ms)
			start_ms = built->item.submit_ms;
	}
	items = arena_array(builder->arena, count, sizeof(*items));
	for (size_t i = 0; i < count; i++) {
		items[i] = builder->items.at[i].item;
		if (builder->items.at[i].absolute)
			items[i].submit_ms -= start_ms;
		if (items[i].submit_ms > WORKLOAD_SUBMIT_MAX_MS)
			return err_set(
				err, ERR_INPUT,
				"items[%zu].submit: more than 10 years after the first item; "
				"are its units right?",
				i);
	}
	sort_stable(items, count, sizeof(*items), compare_submit);
	*ret_workload =
		(struct workload){ .items = items, .count = count, .left_out = builder->left_out };
	return 0;
}
