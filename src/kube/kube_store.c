#include "kube/kube_store.h"

#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/words.h"
#include "codec/text/json.h"
#include "kube/kube_decode.h"
#include "net/loop.h"
#include "net/work.h"

#define KUBE_KEY_MAX_BYTES ((size_t)4096)
/* Of an entry: itself, its key, and its places in the map and the index. */
#define KUBE_ENTRY_BYTES (sizeof(struct kube_entry) + 128)

/* All objects with one index key, the leading ones first; the arrays are parallel. */
struct kube_group {
	const char *key;
	const void **objects;
	struct kube_entry **entries;
	size_t count, capacity;
	size_t leading; /* of count */
	size_t unread;  /* of count */
	size_t bytes;   /* of the objects */
};

/* Memory of one version of an object. */
struct kube_content {
	struct arena arena; /* trimmed: object and resource_version */
	void *object;       /* NULL: bad, and the type has no decode_bad */
	const char *bad;    /* why, NULL when the object is good; in the arena */
	const char *resource_version;
	struct budget *budget; /* of the namespace, a reference; NULL: no limit */
	size_t beside_bytes;   /* charged beside the arena */
	size_t refused_bytes;  /* that did not fit; 0: they did */
};

struct kube_entry {
	const char *key;
	struct kube_content content;
	uint64_t round;
	struct kube_group *group; /* NULL: in none */
	size_t group_at;
	struct list_item unread; /* in kube_store.unread */
	size_t turn;             /* of an unread one: its number in its namespace */
};

/* Of the unread objects of a namespace: how many there were since there was none of any. */
struct kube_turns {
	const char *key;
	size_t count;
};

/* One version of an object for kube_store_take: json, and either why it is bad, or the object decoded from it, or
 * neither. */
struct kube_version {
	const struct cJSON *json;
	const char *problem;
	struct kube_decoded *decoded;
	bool unread;
};

/* A namespace with objects that are not stored. */
struct kube_lack {
	const char *key;
	uint64_t round; /* of the list, or of the watch after it */
	char *why;
};

static void kube_lack_done(void *value)
{
	memory_free(((struct kube_lack *)value)->why);
}

/* The names in the metadata; texts in the scratch arena. */
struct kube_meta {
	const char *key, *namespace_, *resource_version;
};

static void kube_content_done(struct kube_content *content)
{
	budget_release(content->arena.budget, content->beside_bytes);
	arena_done(&content->arena);
	budget_free(content->budget);
}

static void kube_content_release(void *memory)
{
	kube_content_done(memory);
	memory_free(memory);
}

/* A decision in progress on another thread may still read it. */
static void kube_content_retire(const struct kube_store *store, const struct kube_content *content)
{
	struct kube_content *kept = memory_alloc(sizeof(*kept));

	*kept = *content;
	work_retire(store->loop, kube_content_release, kept);
}

void kube_store_init(struct kube_store *store, struct loop *loop, const struct kube_type *type,
		     const struct kube_informer_callbacks *callbacks)
{
	*store = (struct kube_store){ .type = type, .callbacks = callbacks, .loop = loop };
	store->entries = MAP_INIT;
	store->groups = store->incomplete = store->turns = MAP_INIT;
	store->scratch = ARENA_INIT;
	store->words = words_new();
}

static void kube_group_done(void *value)
{
	struct kube_group *group = value;

	memory_free(group->objects);
	memory_free(group->entries);
}

static void kube_entry_done(void *value)
{
	kube_content_done(&((struct kube_entry *)value)->content);
}

void kube_store_done(struct kube_store *store)
{
	map_drop_all(&store->entries, kube_entry_done);
	map_drop_all(&store->groups, kube_group_done);
	map_drop_all(&store->incomplete, kube_lack_done);
	map_drop_all(&store->turns, NULL);
	arena_done(&store->scratch);
	words_free(store->words); /* after all objects */
}

static void kube_group_move(struct kube_group *group, size_t from, size_t to)
{
	group->objects[to] = group->objects[from];
	group->entries[to] = group->entries[from];
	group->entries[to]->group_at = to;
}

/* Room for one more. */
static void kube_group_grow(struct kube_group *group)
{
	if (group->count < group->capacity)
		return;
	group->capacity = group->capacity ? group->capacity * 2 : 4;
	group->objects = memory_resize(group->objects, group->capacity, sizeof(*group->objects));
	group->entries = memory_resize(group->entries, group->capacity, sizeof(*group->entries));
}

static void kube_store_unindex(struct kube_store *store, struct kube_entry *entry)
{
	struct kube_group *group = entry->group;

	if (!group)
		return;
	group->bytes -= entry->content.arena.used_bytes;
	group->unread -= entry->unread.list != NULL;
	size_t gap = entry->group_at;
	if (gap < group->leading) {
		kube_group_move(group, --group->leading, gap);
		gap = group->leading;
	}
	kube_group_move(group, --group->count, gap);
	entry->group = NULL;
	if (group->count == 0)
		map_drop(&store->groups, group->key, kube_group_done);
}

static void kube_store_index(struct kube_store *store, struct kube_entry *entry)
{
	AUTO(buf_done) struct buf key = { .data = NULL };

	if (!store->type->index || !entry->content.object)
		return;
	buf_init(&key, KUBE_KEY_MAX_BYTES);
	store->type->index(entry->content.object, &key);
	if (key.size == 0 || key.overflowed)
		return;
	struct kube_group *group = map_make(&store->groups, buf_string(&key), sizeof(*group));
	kube_group_grow(group);
	group->bytes += entry->content.arena.used_bytes;
	group->unread += entry->unread.list != NULL;
	size_t place = group->count++;
	if (store->type->leads && store->type->leads(entry->content.object)) {
		if (group->leading < place)
			kube_group_move(group, group->leading, place);
		place = group->leading++;
	}
	group->objects[place] = entry->content.object;
	group->entries[place] = entry;
	entry->group = group;
	entry->group_at = place;
}

static int kube_store_meta(struct kube_store *store, const struct cJSON *json,
			   struct kube_meta *ret_meta, struct err *err)
{
	struct json_reader reader = { .arena = &store->scratch, .err = err };
	struct json_at root = json_root(json, "", &reader), metadata;
	const char *name;

	arena_reset(&store->scratch);
	if (json_expect(&root, JSON_OBJECT) < 0 || json_object(&root, "metadata", &metadata) < 0 ||
	    json_text(&metadata, "namespace", &ret_meta->namespace_) < 0 ||
	    json_text(&metadata, "name", &name) < 0 ||
	    json_text(&metadata, "resourceVersion", &ret_meta->resource_version) < 0)
		return err_prefix(err, "%s", store->type->kind);
	if (!*name)
		return err_set(err, ERR_INPUT, "%s: metadata.name is missing", store->type->kind);
	ret_meta->key = *ret_meta->namespace_ ?
				arena_printf(&store->scratch, "%s/%s", ret_meta->namespace_, name) :
				name;
	return 0;
}

/* NULL: only its name is known. */
static void *kube_store_decode_bad(const struct kube_store *store, const struct cJSON *json,
				   const char *problem, struct arena *arena)
{
	if (!store->type->decode_bad)
		return NULL;
	void *object = arena_alloc(arena, store->type->object_size);
	return store->type->decode_bad(json, problem, arena, object) == 0 ? object : NULL;
}

/* Refused: more than the part of its namespace. */
static const char *kube_store_refuse(struct kube_store *store, struct kube_content *content)
{
	struct err err;

	content->refused_bytes = content->arena.used_bytes + content->beside_bytes;
	budget_release(content->arena.budget, content->beside_bytes);
	arena_done(&content->arena);
	(void)budget_refuse(content->budget, content->refused_bytes, &err);
	content->arena.budget = store->budgets->beside;
	content->beside_bytes = KUBE_ENTRY_BYTES;
	(void)budget_take(content->arena.budget, content->beside_bytes);
	return arena_strdup(&store->scratch, err.text);
}

/* A bad entry instead of the content. */
static void kube_store_spoil(struct kube_store *store, const struct cJSON *json,
			     const char *problem, const struct kube_meta *meta,
			     struct kube_content *content)
{
	arena_done(&content->arena);
	content->object = kube_store_decode_bad(store, json, problem, &content->arena);
	content->bad = arena_text(&content->arena, problem);
	content->resource_version = arena_strdup(&content->arena, meta->resource_version);
}

static void kube_store_decode(struct kube_store *store, const struct cJSON *json,
			      const char *problem, const struct kube_meta *meta,
			      struct kube_content *content)
{
	struct err err = { .kind = ERR_NONE };

	content->object = arena_alloc(&content->arena, store->type->object_size);
	if (!problem && store->type->decode(json, "", &content->arena, content->object, &err) < 0)
		problem = err.text;
	if (!problem && (content->arena.over_budget || budget_is_over(content->budget)))
		problem = kube_store_refuse(store, content);
	content->resource_version = arena_strdup(&content->arena, meta->resource_version);
	if (problem)
		kube_store_spoil(store, json, problem, meta, content);
}

/* Empty, and charged. */
static struct kube_content kube_store_begin(struct kube_store *store, const struct kube_meta *meta)
{
	const char *name = *meta->namespace_ ? meta->namespace_ : "\"\" (cluster-wide)";
	struct budget *budget = budget_children_get(store->budgets, name);
	struct kube_content content = {
		.arena = { .words = store->words, .learns = true, .budget = budget },
		.budget = budget,
		.beside_bytes = KUBE_ENTRY_BYTES + store->type->beside_bytes,
	};

	(void)budget_take(budget, content.beside_bytes);
	return content;
}

static struct kube_content kube_store_try(struct kube_store *store, const struct cJSON *json,
					  const char *problem, const struct kube_meta *meta)
{
	struct kube_content content = kube_store_begin(store, meta);

	kube_store_decode(store, json, problem, meta, &content);
	return content;
}

/* Decoded beside the loop, without a budget: its block is charged now. */
static struct kube_content kube_store_adopt(struct kube_store *store, const struct cJSON *json,
					    struct kube_decoded *decoded,
					    const struct kube_meta *meta)
{
	struct kube_content content = kube_store_begin(store, meta);

	decoded->arena.words = store->words;
	arena_move(&decoded->arena, content.arena.budget);
	content.arena = decoded->arena;
	decoded->arena = ARENA_INIT;
	content.object = decoded->object;
	content.resource_version = decoded->resource_version;
	if (budget_is_over(content.budget))
		kube_store_spoil(store, json, kube_store_refuse(store, &content), meta, &content);
	return content;
}

/* In a block of the right size. Not a copy by its field table: hooks fill pointers that no row has, and one
 * that is forgotten would be read after it is freed. */
static struct kube_content kube_store_content(struct kube_store *store, const struct cJSON *json,
					      const char *problem, const struct kube_meta *meta)
{
	struct kube_content content = kube_store_try(store, json, problem, meta);

	if (arena_trim(&content.arena))
		return content;
	kube_content_done(&content);
	return kube_store_try(store, json, problem, meta);
}

static void kube_store_count(struct kube_store *store, const struct kube_content *content,
			     size_t change)
{
	if (content->bad)
		store->bad_count += change;
	else
		store->good_count += change;
	if (content->refused_bytes > 0)
		store->refused_count += change;
}

static void kube_store_tell(const struct kube_store *store, enum kube_change change,
			    const char *key, const void *old, const void *new_object)
{
	if (store->callbacks->on_change)
		store->callbacks->on_change(store->callbacks->context, change, key, old,
					    new_object);
}

/* Reports an object and keeps nothing of it. */
static int kube_store_pass(struct kube_store *store, const struct cJSON *json, bool deleted,
			   const char *problem, struct kube_decoded *decoded, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err bad = { .kind = ERR_NONE };
	struct kube_meta meta;

	if (kube_store_meta(store, json, &meta, err) < 0)
		return -1;
	void *object = decoded ? decoded->object : arena_alloc(&arena, store->type->object_size);
	if (problem || (!decoded && store->type->decode(json, "", &arena, object, &bad) < 0))
		kube_store_tell(store, KUBE_BAD, meta.key, NULL,
				kube_store_decode_bad(store, json, problem ? problem : bad.text,
						      &arena));
	else if (deleted)
		kube_store_tell(store, KUBE_DELETED, meta.key, object, NULL);
	else
		kube_store_tell(store, KUBE_ADDED, meta.key, NULL, object);
	return 0;
}

static bool kube_content_has_room(const struct kube_content *content)
{
	return content->refused_bytes > 0 && budget_fits(content->budget, content->refused_bytes);
}

/* The new version of an object takes the place of the old one in its namespace's budget, although
 * decisions may still read the old one. */
static void kube_content_replace(const struct kube_store *store, struct kube_content *old)
{
	budget_release(old->arena.budget, old->beside_bytes);
	old->beside_bytes = 0;
	arena_move(&old->arena, store->budgets ? store->budgets->beside : NULL);
}

const char *kube_store_incomplete(const struct kube_store *store, const char *namespace_)
{
	const struct kube_lack *lack = map_get(&store->incomplete, namespace_);

	return lack ? lack->why : NULL;
}

/* A new object for whose name there is no room either: only its namespace is remembered. */
static bool kube_store_skip(struct kube_store *store, const struct kube_meta *meta,
			    struct kube_entry *entry)
{
	struct kube_lack *lack;

	if (entry->content.refused_bytes == 0 || !budget_is_over(store->budgets->beside))
		return false;
	lack = map_make(&store->incomplete, meta->namespace_, sizeof(*lack));
	lack->round = store->round;
	memory_set_string(&lack->why, entry->content.bad);
	kube_content_done(&entry->content);
	memory_free(map_remove(&store->entries, meta->key));
	return true;
}

/* Whether this version is stored, and as well as it can be now. */
static bool kube_store_holds(const struct kube_entry *entry, const struct kube_meta *meta,
			     const struct kube_version *version)
{
	return *meta->resource_version &&
	       strcmp(entry->content.resource_version, meta->resource_version) == 0 &&
	       !kube_content_has_room(&entry->content) && (version->unread || !entry->unread.list);
}

static void kube_store_note_unread(struct kube_store *store, const struct kube_meta *meta,
				   struct kube_entry *entry)
{
	struct kube_turns *turns = map_make(&store->turns, meta->namespace_, sizeof(*turns));

	entry->turn = turns->count++;
	list_add(&store->unread, &entry->unread);
}

static void kube_store_end_unread(struct kube_store *store, struct kube_entry *entry)
{
	list_remove(&entry->unread);
	if (store->unread.count == 0)
		map_drop_all(&store->turns, NULL);
}

static struct kube_content kube_store_new(struct kube_store *store,
					  const struct kube_version *version,
					  const struct kube_meta *meta)
{
	if (version->decoded)
		return kube_store_adopt(store, version->json, version->decoded, meta);
	return kube_store_content(store, version->json, version->problem, meta);
}

static enum kube_change kube_store_change(const struct kube_entry *entry, const void *old)
{
	if (entry->unread.list)
		return KUBE_UNREAD;
	if (entry->content.bad)
		return KUBE_BAD;
	return old ? KUBE_MODIFIED : KUBE_ADDED;
}

/* A version that is stored already only renews the entry's round, so that the sweep of a list
 * keeps it. Otherwise the new content replaces the old one in counts and index before on_change is
 * called, and the old content is retired after it, because the callback gets both. */
static int kube_store_take(struct kube_store *store, const struct kube_version *version,
			   struct err *err)
{
	struct kube_content old = { .arena = ARENA_INIT };
	struct kube_meta meta;

	if (store->passing)
		return kube_store_pass(store, version->json, false, version->problem,
				       version->decoded, err);
	if (kube_store_meta(store, version->json, &meta, err) < 0)
		return -1;
	struct kube_entry *entry = map_make(&store->entries, meta.key, sizeof(*entry));
	entry->round = store->round;
	if (entry->content.resource_version) {
		if (kube_store_holds(entry, &meta, version))
			return 0;
		kube_store_unindex(store, entry);
		kube_store_end_unread(store, entry);
		kube_store_count(store, &entry->content, (size_t)-1);
		old = entry->content;
		kube_content_replace(store, &old);
	}
	entry->content = kube_store_new(store, version, &meta);
	if (!old.resource_version && kube_store_skip(store, &meta, entry))
		return 0;
	if (version->unread)
		kube_store_note_unread(store, &meta, entry);
	kube_store_count(store, &entry->content, 1);
	kube_store_index(store, entry);
	kube_store_tell(store, kube_store_change(entry, old.object), meta.key, old.object,
			entry->content.object);
	kube_content_retire(store, &old);
	return 0;
}

int kube_store_put(struct kube_store *store, const struct cJSON *json, const char *problem,
		   struct err *err)
{
	return kube_store_take(store, &(struct kube_version){ .json = json, .problem = problem },
			       err);
}

int kube_store_put_decoded(struct kube_store *store, const struct cJSON *json,
			   struct kube_decoded *decoded, struct err *err)
{
	struct kube_version version = { .json = json };

	if (decoded->object)
		version.decoded = decoded;
	else
		version.problem = decoded->problem;
	return kube_store_take(store, &version, err);
}

int kube_store_put_unread(struct kube_store *store, const struct cJSON *json, struct err *err)
{
	const struct kube_version version = { .json = json,
					      .problem = KUBE_UNREAD_TEXT,
					      .unread = true };

	return kube_store_take(store, &version, err);
}

bool kube_store_unread(const struct kube_store *store, const char *key)
{
	const struct kube_entry *entry = map_get(&store->entries, key);

	return entry && entry->unread.list;
}

const char *kube_store_next_unread(const struct kube_store *store)
{
	const struct kube_entry *next = NULL;

	LIST_EACH(const struct kube_entry, entry, &store->unread, unread)
		if (!next || entry->turn < next->turn)
			next = entry;
	return next ? next->key : NULL;
}

void kube_store_remove_key(struct kube_store *store, const char *key)
{
	struct kube_entry *entry = map_remove(&store->entries, key);

	if (!entry)
		return;
	kube_store_unindex(store, entry);
	kube_store_end_unread(store, entry);
	kube_store_count(store, &entry->content, (size_t)-1);
	kube_store_tell(store, KUBE_DELETED, key, entry->content.object, NULL);
	kube_content_retire(store, &entry->content);
	memory_free(entry);
}

int kube_store_remove(struct kube_store *store, const struct cJSON *json, const char *problem,
		      struct err *err)
{
	struct kube_meta meta;

	if (store->passing)
		return kube_store_pass(store, json, true, problem, NULL, err);
	if (kube_store_meta(store, json, &meta, err) < 0)
		return -1;
	kube_store_remove_key(store, meta.key);
	return 0;
}

void kube_store_mark(struct kube_store *store)
{
	store->round++;
}

bool kube_store_sweep(struct kube_store *store)
{
	/* From the end: removing moves the last entry, already looked at, into the gap. */
	if (store->sweep_at == 0)
		store->sweep_at = store->entries.count;
	for (; store->sweep_at > 0; store->sweep_at--) {
		const struct map_entry *at = &store->entries.entries[store->sweep_at - 1];
		const struct kube_entry *entry = at->value;

		if (entry->round != store->round) {
			AUTO(memory_free_string) char *key = memory_strdup(at->key);

			if (loop_is_spent(store->loop))
				return false;
			kube_store_remove_key(store, key);
		}
	}
	for (size_t i = store->incomplete.count; i-- > 0;) {
		const struct kube_lack *lack = store->incomplete.entries[i].value;

		if (lack->round != store->round)
			map_drop(&store->incomplete, lack->key, kube_lack_done);
	}
	return true;
}

bool kube_store_has_room(const struct kube_store *store)
{
	if (store->incomplete.count > 0 && !budget_is_over(store->budgets->beside))
		return true;
	for (size_t i = 0; store->refused_count > 0 && i < store->entries.count; i++) {
		const struct kube_entry *entry = store->entries.entries[i].value;

		if (kube_content_has_room(&entry->content))
			return true;
	}
	return false;
}

const char *kube_store_version(struct kube_store *store, const struct cJSON *json)
{
	const struct kube_entry *entry;
	struct kube_meta meta;
	struct err err;

	if (kube_store_meta(store, json, &meta, &err) < 0)
		return NULL;
	entry = map_get(&store->entries, meta.key);
	return entry ? entry->content.resource_version : NULL;
}

const void *kube_store_get(const struct kube_store *store, const char *key)
{
	const struct kube_entry *entry = map_get(&store->entries, key);

	return entry ? entry->content.object : NULL;
}

const char *kube_store_bad(const struct kube_store *store, const char *key)
{
	const struct kube_entry *entry = map_get(&store->entries, key);

	return entry ? entry->content.bad : NULL;
}

const void *kube_store_next(const struct kube_store *store, size_t *at)
{
	while (*at < store->entries.count) {
		const struct kube_entry *entry = store->entries.entries[(*at)++].value;

		if (entry->content.object)
			return entry->content.object;
	}
	return NULL;
}

const void *const *kube_store_indexed(const struct kube_store *store, const char *key,
				      size_t *ret_count)
{
	const struct kube_group *group = map_get(&store->groups, key);

	*ret_count = group ? group->count : 0;
	return group ? (const void *const *)group->objects : NULL;
}

size_t kube_store_bytes(const struct kube_store *store, const char *key)
{
	const struct kube_entry *entry = map_get(&store->entries, key);

	return entry ? entry->content.arena.used_bytes : 0;
}

size_t kube_store_indexed_bytes(const struct kube_store *store, const char *key)
{
	const struct kube_group *group = map_get(&store->groups, key);

	return group ? group->bytes : 0;
}

size_t kube_store_indexed_unread(const struct kube_store *store, const char *key)
{
	const struct kube_group *group = map_get(&store->groups, key);

	return group ? group->unread : 0;
}

size_t kube_store_leading(const struct kube_store *store, const char *key)
{
	const struct kube_group *group = map_get(&store->groups, key);

	return group ? group->leading : 0;
}
