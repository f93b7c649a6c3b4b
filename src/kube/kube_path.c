#include "kube/kube_path.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/model/kubernetes.h"

#define KUBE_TEXT_MAX_BYTES ((size_t)1 << 20)
#define KUBE_PATH_SEGMENTS 8

static bool kube_path_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text_is_digit(c) || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

static const char *kube_path_encoded(struct arena *arena, const char *text)
{
	/* "." and ".." are unreserved, and yet a client or a proxy may resolve them. */
	bool dots = strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, KUBE_TEXT_MAX_BYTES);
	for (; *text; text++) {
		if (kube_path_unreserved(*text) && !dots)
			(void)buf_add_char(&buf, *text);
		else
			(void)buf_printf(&buf, "%%%02X", (unsigned)(unsigned char)*text);
	}
	/* Names come from decoded objects, which are far smaller. */
	CHECK(!buf.overflowed);
	return arena_strdup(arena, buf_string(&buf));
}

char *kube_path_append(struct arena *arena, const char *path, const char *segment)
{
	if (!segment || !*segment)
		return arena_strdup(arena, path);
	return arena_printf(arena, "%s/%s", path, kube_path_encoded(arena, segment));
}

char *kube_path(struct arena *arena, const char *api_version, const char *namespace_,
		const char *plural, const char *name, const char *subresource)
{
	const char *slash = strchr(api_version, '/');
	const char *group =
		slash ? arena_strndup(arena, api_version, (size_t)(slash - api_version)) : NULL;
	char *path = kube_path_append(arena, slash ? "/apis" : "/api", group);

	path = kube_path_append(arena, path, slash ? slash + 1 : api_version);
	if (namespace_ && *namespace_)
		path = kube_path_append(arena, kube_path_append(arena, path, "namespaces"),
					namespace_);
	path = kube_path_append(arena, kube_path_append(arena, path, plural), name);
	return name && *name ? kube_path_append(arena, path, subresource) : path;
}

char *kube_path_query(struct arena *arena, const char *path, const char *key, const char *value)
{
	return arena_printf(arena, "%s%c%s=%s", path, strchr(path, '?') ? '&' : '?',
			    kube_path_encoded(arena, key), kube_path_encoded(arena, value));
}

char *kube_path_managed(struct arena *arena, const char *path)
{
	return kube_path_query(arena, path, "fieldManager", FIELD_MANAGER);
}

/* Undoes kube_path_add_encoded, in place. */
static void kube_path_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++, to++) {
		int byte = *from == '%' ? text_hex_byte(from + 1) : -1;

		*to = byte < 0 ? *from : (char)byte;
		if (byte >= 0)
			from += 2;
	}
	*to = '\0';
}

/* Splits the path into decoded segments without the query, then assigns them from the left:
 * "api" or "apis" and group, version, optionally "namespaces" and a namespace, plural, name,
 * subresource. /api/v1/namespaces/a is the object a of plural namespaces, because no plural
 * follows. */
void kube_path_split(struct arena *arena, const char *path, struct kube_path_parts *ret_parts)
{
	const char *segments[KUBE_PATH_SEGMENTS + 1];
	size_t count = 0, at = 0;

	for (size_t i = 0; i <= KUBE_PATH_SEGMENTS; i++)
		segments[i] = "";
	while (count < KUBE_PATH_SEGMENTS && *path == '/') {
		size_t size = strcspn(++path, "/?");
		char *segment = arena_strndup(arena, path, size);

		kube_path_decode(segment);
		segments[count++] = segment;
		path += size;
	}
	*ret_parts = (struct kube_path_parts){ "", "", "", "", "", "" };
	if (strcmp(segments[at++], "apis") == 0)
		ret_parts->group = segments[at++];
	ret_parts->version = segments[at++];
	if (strcmp(segments[at], "namespaces") == 0 && count > at + 2) {
		ret_parts->namespace_ = segments[at + 1];
		at += 2;
	}
	ret_parts->plural = segments[at];
	if (count > at + 1)
		ret_parts->name = segments[at + 1];
	if (count > at + 2)
		ret_parts->subresource = segments[at + 2];
}
