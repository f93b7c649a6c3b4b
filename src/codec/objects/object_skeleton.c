#include "codec/objects/object_skeleton.h"

#include <string.h>

#include "base/check.h"
#include "core/model/kubernetes.h"

struct object_skeleton_member {
	const char *name;                             /* NULL ends a table */
	const struct object_skeleton_member *members; /* NULL: the whole value is taken */
};

static const struct object_skeleton_member label_members[] = {
	{ LABEL_CLUSTER, NULL },
	{ LABEL_NODE_TYPE, NULL },
	{ LABEL_GROUP, NULL },
	{ LABEL_REPLICA_NAME, NULL },
	{ LABEL_REPLICA_INDEX, NULL },
	{ LABEL_HOST_INDEX, NULL },
	{ NULL, NULL },
};

static const struct object_skeleton_member metadata_members[] = {
	{ "namespace", NULL },
	{ "name", NULL },
	{ "uid", NULL },
	{ "resourceVersion", NULL },
	{ "generation", NULL },
	{ "creationTimestamp", NULL },
	{ "deletionTimestamp", NULL },
	{ "ownerReferences", NULL },
	{ "labels", label_members },
	{ NULL, NULL },
};

static const struct object_skeleton_member object_members[] = {
	{ "kind", NULL },
	{ "apiVersion", NULL },
	{ "metadata", metadata_members },
	{ NULL, NULL },
};

static const struct object_skeleton_member event_members[] = {
	{ "type", NULL },
	{ "object", object_members },
	{ NULL, NULL },
};

void object_skeleton_init(struct object_skeleton *skeleton, bool watch)
{
	*skeleton = (struct object_skeleton){ .root = watch ? event_members : object_members };
	buf_init(&skeleton->name, OBJECT_SKELETON_VALUE_MAX);
	buf_init(&skeleton->value, OBJECT_SKELETON_VALUE_MAX);
	buf_init(&skeleton->out, 32 * OBJECT_SKELETON_VALUE_MAX);
}

void object_skeleton_done(struct object_skeleton *skeleton)
{
	buf_done(&skeleton->name);
	buf_done(&skeleton->value);
	buf_done(&skeleton->out);
}

/* `name` has its quotes. A name with escapes matches none: the API server escapes only where
 * required, and no member of the tables needs it. */
static const struct object_skeleton_member *find(const struct object_skeleton_member *members,
						 const struct buf *name)
{
	for (; members->name; members++) {
		size_t size = strlen(members->name);

		if (name->size == size + 2 && memcmp(name->data + 1, members->name, size) == 0)
			return members;
	}
	return NULL;
}

static void write_name(struct object_skeleton *skeleton)
{
	struct buf *out = &skeleton->out;

	if (out->data[out->size - 1] != '{')
		(void)buf_add_char(out, ',');
	(void)buf_printf(out, "\"%s\":", skeleton->member->name);
}

static void open_object(struct object_skeleton *skeleton,
			const struct object_skeleton_member *members)
{
	CHECK(skeleton->level < OBJECT_SKELETON_LEVELS);
	if (skeleton->member)
		write_name(skeleton);
	(void)buf_add_char(&skeleton->out, '{');
	skeleton->levels[skeleton->level++] = members;
	skeleton->member = NULL;
	skeleton->in_value = false;
}

static void end_member(struct object_skeleton *skeleton)
{
	if (skeleton->member && skeleton->value.size > 0 && !skeleton->value.overflowed) {
		write_name(skeleton);
		(void)buf_add(&skeleton->out, skeleton->value.data, skeleton->value.size);
	}
	skeleton->member = NULL;
	skeleton->in_value = false;
}

static void close_object(struct object_skeleton *skeleton)
{
	end_member(skeleton);
	(void)buf_add_char(&skeleton->out, '}');
	skeleton->level--;
	skeleton->has_metadata |= skeleton->levels[skeleton->level] == metadata_members;
	/* The rest up to the next comma belongs to the member that has ended. */
	skeleton->in_value = true;
}

static void keep(struct object_skeleton *skeleton, char c)
{
	if (!skeleton->in_value)
		(void)buf_add_char(&skeleton->name, c);
	else if (skeleton->member && !skeleton->member->members)
		(void)buf_add_char(&skeleton->value, c);
}

size_t object_skeleton_plain(const char *data, size_t size)
{
	size_t count = 0;

	while (count < size && data[count] != '"' && data[count] != '\\')
		count++;
	return count;
}

static bool is_kept(const struct object_skeleton *skeleton)
{
	return !skeleton->in_value || (skeleton->member && !skeleton->member->members);
}

static void feed_string(struct object_skeleton *skeleton, char c)
{
	keep(skeleton, c);
	if (skeleton->escaped)
		skeleton->escaped = false;
	else if (c == '\\')
		skeleton->escaped = true;
	else if (c == '"')
		skeleton->in_string = false;
}

static void feed_open(struct object_skeleton *skeleton, char c)
{
	const struct object_skeleton_member *member = skeleton->member;

	if (c == '{' && skeleton->nested == 0 && member && member->members) {
		open_object(skeleton, member->members);
		return;
	}
	skeleton->nested++;
	keep(skeleton, c);
	if (skeleton->nested > OBJECT_SKELETON_NESTED_MAX)
		skeleton->value.overflowed = true;
}

static void feed_close(struct object_skeleton *skeleton, char c)
{
	if (skeleton->nested == 0) {
		close_object(skeleton);
		return;
	}
	skeleton->nested--;
	keep(skeleton, c);
}

static void feed_colon(struct object_skeleton *skeleton)
{
	if (skeleton->in_value) {
		keep(skeleton, ':');
		return;
	}
	skeleton->in_value = true;
	skeleton->member = find(skeleton->levels[skeleton->level - 1], &skeleton->name);
	buf_clear(&skeleton->value);
}

/* A byte outside strings, inside the outermost object. */
static void feed_mark(struct object_skeleton *skeleton, char c)
{
	switch (c) {
	case ' ':
	case '\t':
	case '\n':
	case '\r':
		break;
	case '"':
		skeleton->in_string = true;
		if (!skeleton->in_value)
			buf_clear(&skeleton->name);
		keep(skeleton, c);
		break;
	case ':':
		feed_colon(skeleton);
		break;
	case '{':
	case '[':
		feed_open(skeleton, c);
		break;
	case '}':
	case ']':
		feed_close(skeleton, c);
		break;
	case ',':
		if (skeleton->nested > 0)
			keep(skeleton, c);
		else
			end_member(skeleton);
		break;
	default:
		keep(skeleton, c);
	}
}

void object_skeleton_feed(struct object_skeleton *skeleton, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (skeleton->in_string && !skeleton->escaped && !is_kept(skeleton))
			i += object_skeleton_plain(data + i, size - i);
		if (i == size)
			break;
		if (skeleton->in_string)
			feed_string(skeleton, data[i]);
		else if (skeleton->level > 0)
			feed_mark(skeleton, data[i]);
		else if (data[i] == '{' && skeleton->out.size == 0)
			open_object(skeleton, skeleton->root);
	}
}

const struct buf *object_skeleton_end(struct object_skeleton *skeleton)
{
	if (skeleton->out.size == 0)
		(void)buf_add_char(&skeleton->out, '{'), skeleton->level = 1;
	/* An incomplete value is left out. */
	skeleton->member = NULL;
	while (skeleton->level > 0)
		close_object(skeleton);
	return &skeleton->out;
}
