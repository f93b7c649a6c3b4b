#include "codec/objects/ray_auth_json.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "core/model/field.h"

#define USUAL_TOKEN_FILE ".ray/auth_token" /* below the home folder of the image's user */

/* The first container of a Pod. Texts that are found are in the tree or in `scratch`. */
struct ray_container {
	struct json_at env, mounts, volumes;
	struct arena *scratch;
};

/* ---- variables ---- */

static const char *text_of(const struct json_at *at, const char *name)
{
	struct json_at member = json_member(at, name);

	return json_type(&member) == JSON_STRING ? json_text_value(&member) : "";
}

static struct json_at find_named(const struct json_at *list, const char *name)
{
	for (struct json_at e = json_first(list); e.json; json_next(&e))
		if (strcmp(text_of(&e, "name"), name) == 0)
			return e;
	return (struct json_at){ .json = NULL, .reader = list->reader };
}

static const char *value_of(const struct ray_container *container, const char *name)
{
	struct json_at variable = find_named(&container->env, name);

	return text_of(&variable, "value");
}

/* As Ray reads a flag. */
static bool is_on(const struct ray_container *container, const char *name)
{
	const char *value = value_of(container, name);

	return strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0;
}

static struct secret_key key_of_variable(const struct ray_container *container, const char *name)
{
	struct json_at variable = find_named(&container->env, name);
	struct json_at from = json_member(&variable, "valueFrom");
	struct json_at reference = json_member(&from, "secretKeyRef");

	return (struct secret_key){ .secret = text_of(&reference, "name"),
				    .key = text_of(&reference, "key") };
}

/* ---- files on volumes ---- */

/* The rest of `path` below `folder`; NULL: it is not below. */
static const char *below(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	while (size > 0 && folder[size - 1] == '/')
		size--;
	if (strncmp(path, folder, size) != 0 || (path[size] != '/' && path[size] != '\0'))
		return NULL;
	return path + size + strspn(path + size, "/");
}

/* `secret`: the source of a volume, with its name in the member `name_member`. */
static bool take_file(const struct json_at *secret, const char *name_member, const char *file,
		      struct secret_key *ret_key)
{
	struct json_at items = json_member(secret, "items");
	const char *name = text_of(secret, name_member);

	if (*name == '\0')
		return false;
	if (!json_is_given(&items)) { /* each key is a file */
		*ret_key = (struct secret_key){ .secret = name, .key = file };
		return strchr(file, '/') == NULL;
	}
	for (struct json_at e = json_first(&items); e.json; json_next(&e))
		if (strcmp(text_of(&e, "path"), file) == 0) {
			*ret_key = (struct secret_key){ .secret = name, .key = text_of(&e, "key") };
			return true;
		}
	return false;
}

/* Of a projected volume with several Secrets without items the first one is taken. */
static bool take_volume(const struct json_at *volume, const char *file, struct secret_key *ret_key)
{
	struct json_at secret = json_member(volume, "secret");
	struct json_at projected = json_member(volume, "projected");
	struct json_at sources = json_member(&projected, "sources");

	if (take_file(&secret, "secretName", file, ret_key))
		return true;
	for (struct json_at e = json_first(&sources); e.json; json_next(&e)) {
		struct json_at source = json_member(&e, "secret");

		if (take_file(&source, "name", file, ret_key))
			return true;
	}
	return false;
}

/* The innermost mount that holds the file, and the rest of its path there; json NULL: none. */
static struct json_at find_mount(const struct ray_container *container, const char *path,
				 const char **ret_rest)
{
	struct json_at found = { .json = NULL };
	size_t found_size = 0;

	*ret_rest = "";
	for (struct json_at e = json_first(&container->mounts); e.json; json_next(&e)) {
		const char *folder = text_of(&e, "mountPath");
		const char *rest = *folder == '/' ? below(path, folder) : NULL;

		if (!rest || strlen(folder) < found_size)
			continue;
		found = e;
		found_size = strlen(folder);
		*ret_rest = rest;
	}
	return found;
}

/* One mount and one volume are looked up, however many there are. */
static struct secret_key key_of_file(const struct ray_container *container, const char *path)
{
	struct secret_key found = { .secret = "", .key = "" };
	const char *file, *part;
	struct json_at mount = find_mount(container, path, &file), volume;

	if (!mount.json)
		return found;
	part = text_of(&mount, "subPath");
	if (*part != '\0')
		file = *file == '\0' ? part : arena_printf(container->scratch, "%s/%s", part, file);
	volume = find_named(&container->volumes, text_of(&mount, "name"));
	(void)take_volume(&volume, file, &found);
	return found;
}

/* A Secret that is mounted as the file, or as its folder, where Ray looks without a variable: the
 * first such mount. */
static struct secret_key key_of_usual_file(const struct ray_container *container)
{
	for (struct json_at e = json_first(&container->mounts); e.json; json_next(&e)) {
		const char *path = text_of(&e, "mountPath");
		const char *end = strstr(path, "/.ray");

		if (end)
			return key_of_file(container, arena_printf(container->scratch,
								   "%.*s/" USUAL_TOKEN_FILE,
								   (int)(end - path), path));
	}
	return (struct secret_key){ .secret = "", .key = "" };
}

/* ---- all of it ---- */

static struct secret_key token_of(const struct ray_container *container)
{
	struct secret_key key = key_of_variable(container, "RAY_AUTH_TOKEN");

	if (!key.secret[0])
		key = key_of_file(container, value_of(container, "RAY_AUTH_TOKEN_PATH"));
	return key.secret[0] ? key : key_of_usual_file(container);
}

static bool is_plain(const struct ray_auth *auth)
{
	return !auth->mode[0] && !auth->plain_token[0] && !auth->token.secret[0] &&
	       !auth->kubernetes_tokens && !auth->tls;
}

static const struct field key_fields[] = {
	FIELD_TEXT(struct secret_key, secret, "secret"),
	FIELD_TEXT(struct secret_key, key, "key"),
	FIELD_END,
};

/* For the copy. */
static const struct field auth_fields[] = {
	FIELD_TEXT(struct ray_auth, mode, "mode"),
	FIELD_TEXT(struct ray_auth, plain_token, "plainToken"),
	FIELD_PART(struct ray_auth, token, key_fields, "token"),
	FIELD_PART(struct ray_auth, certificate, key_fields, "certificate"),
	FIELD_PART(struct ray_auth, private_key, key_fields, "privateKey"),
	FIELD_PART(struct ray_auth, ca, key_fields, "ca"),
	FIELD_END,
};

const struct ray_auth *ray_auth_decode(const struct json_at *spec)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct json_at containers = json_member(spec, "containers");
	struct json_at first = json_first(&containers);
	const struct ray_container container = {
		.env = json_member(&first, "env"),
		.mounts = json_member(&first, "volumeMounts"),
		.volumes = json_member(spec, "volumes"),
		.scratch = &scratch,
	};
	const struct ray_auth auth = {
		.mode = value_of(&container, "RAY_AUTH_MODE"),
		.plain_token = value_of(&container, "RAY_AUTH_TOKEN"),
		.token = token_of(&container),
		.kubernetes_tokens = is_on(&container, "RAY_ENABLE_K8S_TOKEN_AUTH"),
		.tls = is_on(&container, "RAY_USE_TLS"),
		.certificate = key_of_file(&container, value_of(&container, "RAY_TLS_SERVER_CERT")),
		.private_key = key_of_file(&container, value_of(&container, "RAY_TLS_SERVER_KEY")),
		.ca = key_of_file(&container, value_of(&container, "RAY_TLS_CA_CERT")),
	};

	return is_plain(&auth) ? NULL : FIELD_COPY(auth_fields, &auth, spec->reader->arena);
}
