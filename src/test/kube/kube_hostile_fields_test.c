/* Each field that is decoded, with each value of a hostile tenant (test/support/hostile_fields.h), through the informers' list
 * and watch: the object costs only itself, and those beside it are read as without it. The results are those of
 * src/test/data/hostile-fields.md. In place of the client: requests are answered from here. */
#include "test/support/hostile_markdown.h"

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/text/json_write.h"
#include "feature/pools/codec/kueue_owner_json.h"
#include "feature/repair/codec/repair_json.h"
#include "feature/repair/kube/drain_request_type.h"
#include "kube/kube_decode.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define DOCUMENT "src/test/data/hostile-fields.md"
#define TEXT_MAX ((size_t)16 << 20)
#define WAIT_MS 20000

/* ---- in place of the client ---- */

static struct loop *loop;
static struct kube_request request; /* of the list under way */
static struct kube_stream stream;   /* of the watch under way */
static kube_client_done *done;      /* NULL: nothing is asked for */
static void *done_context;
static struct kube_decoder decoder;
static bool resumed;
static char under_way; /* the address of the call under way */
#define CALL ((struct kube_call *)&under_way)

struct loop *kube_client_loop(const struct kube_client *client)
{
	assert_null(client);
	return loop;
}

struct budget_children *kube_client_objects(const struct kube_client *client UNUSED)
{
	return NULL;
}

struct kube_call *kube_client_send(struct kube_client *client, enum kube_verb verb,
				   const char *path, const void *body, size_t size,
				   kube_client_done *on_done, void *context)
{
	assert_true(!client && verb == KUBE_GET && *path == '/' && !body && size == 0);
	request = (struct kube_request){ .on_chunk = NULL };
	done = on_done;
	done_context = context;
	return NULL;
}

struct kube_call *kube_client_request(struct kube_client *client, const struct kube_request *asked,
				      kube_client_done *on_done, void *context)
{
	assert_null(client);
	request = *asked;
	done = on_done;
	done_context = context;
	return CALL;
}

struct kube_call *kube_client_stream(struct kube_client *client, const char *path,
				     const struct kube_stream *start)
{
	assert_true(!client && *path == '/');
	stream = *start;
	return CALL;
}

void kube_client_cancel(struct kube_call *call)
{
	(void)call;
}

struct kube_decoder *kube_client_decoder(struct kube_client *client)
{
	assert_null(client);
	decoder.loop = loop;
	return &decoder;
}

void kube_client_resume(struct kube_call *call UNUSED)
{
	resumed = true;
}

static bool is_resumed(void *context)
{
	(void)context;
	return resumed;
}

/* A large object is decoded beside the loop, and the next piece waits for it. */
static void hand_over(int (*on_chunk)(void *context, const char *data, size_t size), void *context,
		      const char *data, size_t size)
{
	int result;

	resumed = false;
	result = on_chunk(context, data, size);
	assert_true(result == 0 ||
		    (result == 1 && loop_wait_until(loop, is_resumed, NULL, WAIT_MS)));
}

static bool is_asked(void *context)
{
	(void)context;
	return done != NULL;
}

static void answer(const char *body)
{
	const struct kube_answer reply = { .status = 200, .body = body, .body_size = strlen(body) };
	kube_client_done *taken;

	assert_true(loop_wait_until(loop, is_asked, NULL, WAIT_MS));
	taken = done;
	done = NULL;
	if (request.on_chunk)
		hand_over(request.on_chunk, done_context, body, strlen(body));
	taken(done_context, &reply, NULL);
}

/* ---- reports of an informer ---- */

struct seen {
	const struct kube_type *type;
	const struct hostile_field *field; /* NULL: there is no hostile object */
	enum hostile_result mutant;        /* of the hostile object */
	bool bad; /* it is unreadable; claims and templates may be that and not bad: their names are kept */
	bool keeps_cluster; /* the value may be a second one */
	size_t errors;
	struct buf *neighbours; /* each version of them that was read, written back */
};

static bool is_neighbour(const char *key)
{
	const char *slash = strchr(key, '/');

	return strncmp(slash ? slash + 1 : key, "neighbour", 9) == 0;
}

/* As an element of the snapshot's lists. A Namespace is not in there: its labels are. */
static void write_other(const struct kube_type *type, const void *object, struct buf *buf)
{
	static const struct kube_type *const types[] = {
		&kube_type_resource_slice, &kube_type_device_class, &kube_type_claim_template,
		&kube_type_resource_claim, &kube_type_taint_rule
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct namespace *namespace = object;
	const struct kueue_owner *owner = object;

	if (type == &kube_type_kueue_owner)
		(void)buf_printf(
			buf, "{\"kind\":\"Workload\",\"of\":\"%s/%s\",\"uid\":\"%s\",\"quota\":%d}",
			owner->namespace_, owner->cluster, owner->uid, owner->has_quota);
	for (size_t k = 0; k < SUPPORT_COUNT(types); k++)
		if (type == types[k])
			(void)buf_add_string(buf, field_text(device_objects_fields[k].members,
							     object, &arena));
	if (type != &kube_type_namespace)
		return;
	(void)buf_printf(buf, "{\"kind\":\"Namespace\",\"name\":\"%s\",\"resourceVersion\":\"%s\"}",
			 namespace->name, namespace->resource_version);
	for (size_t i = 0; i < namespace->labels.count; i++)
		(void)buf_printf(buf, " %s=%s", namespace->labels.at[i].key,
				 namespace->labels.at[i].value);
}

static void write_object(const struct kube_type *type, const void *object, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	if (type == &kube_type_ray_cluster)
		field_write_object(&writer, NULL, ray_cluster_fields, object);
	else if (type == &kube_type_pod)
		field_write_object(&writer, NULL, pod_fields, object);
	else if (type == &kube_type_autoscaler)
		field_write_object(&writer, NULL, autoscaler_fields, object);
	else if (type == &kube_type_node)
		field_write_object(&writer, NULL, node_fields, object);
	else if (type == &kube_type_event)
		field_write_object(&writer, NULL, event_fields, object);
	else if (type == &kube_type_gpu_pool)
		field_write_object(&writer, NULL, gpu_pool_fields, object);
	else if (type == &kube_type_drain_request)
		field_write_object(&writer, NULL, drain_request_fields, object);
	else
		write_other(type, object, buf);
}

/* Present and busy: it belongs to its cluster as far as its labels can be read, with the reason. */
static void check_unreadable_pod(const struct pod *pod)
{
	assert_non_null(pod);
	assert_true(pod->unreadable && *pod->unreadable && *pod->name);
}

static void on_change(void *context, enum kube_change change, const char *key, const void *old,
		      const void *new_object)
{
	struct seen *seen = context;

	(void)old;
	if (change == KUBE_DELETED)
		return;
	if (is_neighbour(key)) {
		assert_int_not_equal(change, KUBE_BAD);
		write_object(seen->type, new_object, seen->neighbours);
		return;
	}
	seen->mutant = hostile_result_of(seen->type, change, new_object);
	seen->bad = change == KUBE_BAD;
	if (change == KUBE_BAD && seen->type == &kube_type_pod)
		check_unreadable_pod(new_object);
}

static void on_error(void *context, const struct err *err)
{
	struct seen *seen = context;

	assert_true(err->text[0] != '\0');
	seen->errors++;
	seen->mutant = HOSTILE_NAMELESS;
	seen->bad = false;
}

/* ---- one case ---- */

/* The sample under another name, or only its metadata. */
static char *neighbour_text(const struct hostile_kind *kind, const char *name, bool whole)
{
	struct cJSON *copy = cJSON_Duplicate(kind->trees[0], true);
	struct cJSON *metadata = cJSON_GetObjectItem(copy, "metadata");
	char *text;

	cJSON_ReplaceItemInObject(metadata, "name", cJSON_CreateString(name));
	if (!whole) {
		cJSON_DeleteItemFromObject(copy, "spec");
		cJSON_DeleteItemFromObject(copy, "status");
	}
	text = cJSON_PrintUnformatted(copy);
	cJSON_Delete(copy);
	return text;
}

static struct kube_informer *start(const struct kube_type *type, struct seen *seen)
{
	const struct kube_informer_options options = {
		.type = type,
		.passing = type == &kube_type_event, /* as ctl/watch/event_store has it */
		.callbacks = { .on_change = on_change, .on_error = on_error, .context = seen },
	};
	struct kube_informer *informer = kube_informer_new(NULL, &options);

	if (*type->group) {
		AUTO(buf_done) struct buf body;

		buf_init(&body, 1000);
		(void)buf_printf(&body, "{\"resources\":[{\"name\":\"%s\"}]}", type->plural);
		answer(buf_string(&body));
	}
	return informer;
}

static void feed_line(const char *type, const char *object)
{
	AUTO(buf_done) struct buf line;

	buf_init(&line, TEXT_MAX);
	(void)buf_printf(&line, "{\"type\":\"%s\",\"object\":", type);
	(void)buf_add_string(&line, object);
	(void)buf_add_string(&line, "}\n");
	hand_over(stream.on_chunk, stream.context, line.data, line.size);
}

static void end_watch(void)
{
	const struct kube_answer reply = { .status = 200, .body = "" };

	stream.done(stream.context, &reply, NULL);
}

/* No cluster, or another one, is named by a Pod that is kept. */
static bool changes_the_cluster(const struct seen *seen)
{
	const char *path = seen->field->path;

	return seen->mutant != HOSTILE_NAMELESS && !seen->keeps_cluster &&
	       (strcmp(path, "metadata.labels") == 0 ||
		strcmp(path, "metadata.labels[\"" LABEL_CLUSTER "\"]") == 0 ||
		strcmp(path, "metadata.namespace") == 0);
}

/* Whether the object is in the store, with the same problem as in on_change. */
static void check_kept(const struct kube_informer *informer, const struct seen *seen)
{
	size_t at = 0, pods = 0, indexed;

	if (seen->type == &kube_type_event)
		return;
	assert_int_equal(kube_informer_bad_count(informer), seen->bad);
	if (seen->type != &kube_type_pod)
		return;
	while (kube_informer_next(informer, &at))
		pods++;
	/* An unreadable Pod is there like the others. */
	assert_int_equal(pods, seen->mutant == HOSTILE_NAMELESS ? 2 : 3);
	(void)kube_informer_indexed(informer, "team-a/other", &indexed);
	assert_int_equal(indexed, pods - changes_the_cluster(seen));
}

/* The API server alone writes these. A watch event without them is not one (codec/objects/watch_json): the watch ends and
 * the list is read again. */
static bool is_of_the_server(const struct hostile_field *field)
{
	return strcmp(field->path, "metadata") == 0 ||
	       strcmp(field->path, "metadata.resourceVersion") == 0;
}

struct scene {
	char *first, *second; /* the neighbours */
	char *expected;       /* both, written back */
};

static enum hostile_result list_once(struct kube_informer *informer, struct seen *seen,
				     const struct scene *scene, const char *mutant)
{
	AUTO(buf_done) struct buf body;

	buf_init(&body, TEXT_MAX);
	(void)buf_printf(&body, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[%s,",
			 scene->first);
	(void)buf_add_string(&body, mutant);
	(void)buf_printf(&body, ",%s]}", scene->second);
	assert_false(body.overflowed);
	answer(buf_string(&body));
	assert_true(kube_informer_synced(informer));
	check_kept(informer, seen);
	assert_string_equal(buf_string(seen->neighbours), scene->expected);
	return seen->mutant;
}

static enum hostile_result watch_once(struct kube_informer *informer, struct seen *seen,
				      const struct scene *scene, const char *mutant)
{
	answer("{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}");
	stream.on_open(stream.context);
	feed_line("ADDED", scene->first);
	feed_line("ADDED", mutant);
	feed_line("ADDED", scene->second);
	check_kept(informer, seen);
	assert_string_equal(buf_string(seen->neighbours), scene->expected);
	end_watch();
	return seen->mutant;
}

typedef enum hostile_result read_once(struct kube_informer *informer, struct seen *seen,
				      const struct scene *scene, const char *mutant);

static void try_one(const struct hostile_kind *kind, struct hostile_field *field,
		    enum hostile_mutation mutation, const struct scene *scene, read_once *read)
{
	AUTO(buf_done) struct buf neighbours;
	struct seen seen = { .type = kind->type,
			     .field = field,
			     .keeps_cluster = mutation == HOSTILE_DUPLICATE,
			     .neighbours = &neighbours };
	char *mutant = hostile_text(field, mutation, field->tree);
	struct kube_informer *informer;
	enum hostile_result result;

	buf_init(&neighbours, TEXT_MAX);
	informer = start(kind->type, &seen);
	result = read(informer, &seen, scene, mutant);
	if (result == HOSTILE_NONE ||
	    (field->results[mutation] != HOSTILE_NONE && field->results[mutation] != result))
		fail_msg("%s, %s, %s: %s", kind->type->kind, field->path,
			 hostile_mutation_names[mutation], hostile_result_names[result]);
	field->results[mutation] = result;
	kube_informer_free(informer);
	free(mutant);
}

/* A value of 1 MiB is listed or watched, in turn: each takes 30 ms. */
static void try_both(struct hostile_kind *kind, size_t f, enum hostile_mutation mutation,
		     const struct scene *scene)
{
	struct hostile_field *field = &kind->fields[f];
	bool long_one = mutation == HOSTILE_LONG, watched = !is_of_the_server(field);

	if (!long_one || f % 2 == 0 || !watched)
		try_one(kind, field, mutation, scene, list_once);
	if (watched && (!long_one || f % 2 == 1))
		try_one(kind, field, mutation, scene, watch_once);
}

/* Read by GET, one at a time: a bad one is an error of that answer. */
static void try_alone(const struct hostile_kind *kind, struct hostile_field *field,
		      enum hostile_mutation mutation)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char *text = hostile_text(field, mutation, field->tree);

	field->results[mutation] = hostile_read_alone(kind->type, text, &arena);
	free(text);
}

/* Records the callbacks for two valid neighbours first. Then each hostile value of each field is
 * listed and watched between the neighbours, whose callbacks must stay the same. A kind without an
 * informer is decoded alone. */
static void try_kind(struct hostile_kind *kind)
{
	AUTO(buf_done) struct buf expected;
	struct scene scene = { neighbour_text(kind, "neighbour-1", false),
			       neighbour_text(kind, "neighbour-2", true), NULL };
	struct seen seen = { .type = kind->type, .neighbours = &expected };

	buf_init(&expected, TEXT_MAX);
	if (kind->type->plural) {
		struct kube_informer *informer = start(kind->type, &seen);
		AUTO(buf_done) struct buf body;

		buf_init(&body, TEXT_MAX);
		(void)buf_printf(&body,
				 "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[%s,%s]}",
				 scene.first, scene.second);
		answer(buf_string(&body));
		kube_informer_free(informer);
		scene.expected = (char *)(uintptr_t)buf_string(&expected);
		assert_true(strlen(scene.expected) > 100);
	}
	for (size_t f = 0; f < kind->count; f++) {
		for (enum hostile_mutation m = 0; m < HOSTILE_MUTATIONS; m++) {
			if (!hostile_applies(&kind->fields[f], m))
				continue;
			if (kind->type->plural)
				try_both(kind, f, m, &scene);
			else
				try_alone(kind, &kind->fields[f], m);
		}
	}
	free(scene.first);
	free(scene.second);
}

static void test_every_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOSTILE_KINDS; i++)
		try_kind(&hostile_kinds[i]);
}

/* `make docs` writes it. */
static void test_document(void **state)
{
	AUTO(buf_done) struct buf wanted, written;
	char *text = memory_alloc(TEXT_MAX);
	FILE *file = fopen(DOCUMENT, "re");
	const char *at;

	(void)state;
	assert_non_null(file);
	text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
	fclose(file);
	buf_init(&wanted, HOSTILE_MARKDOWN_MAX);
	hostile_write_markdown(&wanted);
	at = strstr(text, "<!-- readers");
	assert_non_null(at);
	buf_init(&written, HOSTILE_MARKDOWN_MAX);
	(void)buf_add_string(&written, strchr(at, '\n') + 1);
	assert_string_equal(buf_string(&written), buf_string(&wanted));
	memory_free(text);
}

static int set_up(void **state)
{
	const char *missing = hostile_load_all();

	(void)state;
	if (missing)
		fail_msg("%s", missing);
	loop = loop_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	hostile_free_all();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_document),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
