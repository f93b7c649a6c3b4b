#include "kube/kubeconfig.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "codec/schema/field.h"
#include "codec/text/base64.h"
#include "codec/text/documents.h"
#include "codec/text/json.h"
#include "kube/kube_file.h"

#define KUBECONFIG_NAMES_MAX 300 /* bytes of names in an error */

static const struct json_limits kubeconfig_limits = {
	.bytes = KUBE_FILE_MAX_BYTES,
	.depth = 64,
	.elements = 100000,
};

static const char *const kubeconfig_token_cure =
	"use a ServiceAccount's token (kubectl create token NAME) as user.token or user.tokenFile, "
	"a client certificate, or run in the cluster";

/* The end of an error for a text that is not a kubeconfig. */
static const char *const kubeconfig_ways =
	"name a kubeconfig with --kubeconfig or $KUBECONFIG; without them ~/.kube/config is read, or "
	"in a Pod its ServiceAccount is used";

/* Members of a user that need an unsupported program or protocol. */
static const struct {
	const char *name, *what;
} kubeconfig_refused[] = {
	{ "auth-provider", "auth-provider plugins are not supported" },
	{ "username", "user name and password are not supported" },
	{ "password", "user name and password are not supported" },
	{ "as", "impersonation is not supported" },
	{ "as-uid", "impersonation is not supported" },
	{ "as-groups", "impersonation is not supported" },
};

/* "a, b, c", or "none". */
static const char *kubeconfig_names(const struct json_at *list, struct arena *arena)
{
	AUTO(buf_done) struct buf names;

	buf_init(&names, KUBECONFIG_NAMES_MAX);
	for (struct json_at e = json_first(list); e.json; json_next(&e)) {
		struct json_at name = json_member(&e, "name");

		if (json_type(&name) == JSON_STRING)
			buf_printf(&names, "%s%.80s", names.size > 0 ? ", " : "",
				   json_text_value(&name));
	}
	return names.size > 0 ? arena_strdup(arena, buf_string(&names)) : "none";
}

/* "; did you mean demo?; the contexts are a, demo" */
static const char *kubeconfig_hint(const struct json_at *list, const char *what, const char *name,
				   struct arena *arena)
{
	struct nearest nearest = nearest_start(name);
	char hint[NEAREST_HINT_SIZE];

	for (struct json_at e = json_first(list); e.json; json_next(&e)) {
		struct json_at other = json_member(&e, "name");

		if (json_type(&other) == JSON_STRING)
			nearest_offer(&nearest, json_text_value(&other));
	}
	return arena_printf(arena, "%s; the %s are %s", nearest_hint(&nearest, hint), what,
			    kubeconfig_names(list, arena));
}

/* The member `body` of the entry called `name` in the list `list`: clusters, contexts, users. */
static int kubeconfig_entry(const struct json_at *root, const char *list, const char *name,
			    const char *body, struct json_at *ret_body, struct json_at *ret_entry,
			    struct json_at *ret_list)
{
	if (json_array(root, list, ret_list) < 0)
		return -1;
	*ret_entry = json_first(ret_list);
	for (; ret_entry->json; json_next(ret_entry)) {
		const char *entry_name;

		if (json_expect(ret_entry, JSON_OBJECT) < 0 ||
		    json_text(ret_entry, "name", &entry_name) < 0)
			return -1;
		if (strcmp(entry_name, name) == 0)
			return json_object(ret_entry, body, ret_body);
	}
	return json_fail(ret_list, "has no entry with the name \"%.253s\"%s", name,
			 kubeconfig_hint(ret_list, list, name, root->reader->arena));
}

static const char *kubeconfig_resolve(struct arena *arena, const char *config_path,
				      const char *file)
{
	const char *slash = strrchr(config_path, '/');

	if (!*file || *file == '/' || !slash)
		return file;
	return arena_printf(arena, "%.*s/%s", (int)(slash - config_path), config_path, file);
}

static int kubeconfig_pem(const struct json_at *at, const char *config_path, const char *name,
			  struct kubeconfig_pem *ret_pem)
{
	struct arena *arena = at->reader->arena;
	char *data_name = arena_printf(arena, "%s-data", name);
	const char *data;
	struct json_at member = json_member(at, data_name);
	char *bytes;
	size_t size;

	ret_pem->text = "";
	if (json_text(at, data_name, &data) < 0 || json_text(at, name, &ret_pem->file) < 0)
		return -1;
	ret_pem->file = kubeconfig_resolve(arena, config_path, ret_pem->file);
	if (!*data)
		return 0;
	if (base64_decode(data, arena, &bytes, &size) < 0 || strlen(bytes) != size)
		return json_fail(&member, "is not the base64 form of a PEM text");
	ret_pem->text = bytes;
	ret_pem->file = "";
	return 0;
}

/* The cluster's extension for credential plugins. */
static int kubeconfig_cluster_extension(const struct json_at *cluster, const char **ret_config)
{
	struct json_at list;

	if (json_array(cluster, "extensions", &list) < 0)
		return -1;
	for (struct json_at e = json_first(&list); e.json; json_next(&e)) {
		struct json_at extension = json_member(&e, "extension");
		const char *name;

		if (json_expect(&e, JSON_OBJECT) < 0 || json_text(&e, "name", &name) < 0)
			return -1;
		if (strcmp(name, "client.authentication.k8s.io/exec") == 0 && extension.json)
			*ret_config = json_print(&extension);
	}
	return 0;
}

static int kubeconfig_cluster(const struct json_at *root, const char *path, const char *name,
			      struct kubeconfig *config)
{
	struct json_at list, entry, cluster;
	const char *proxy;

	if (kubeconfig_entry(root, "clusters", name, "cluster", &cluster, &entry, &list) < 0)
		return -1;
	if (json_text(&cluster, "server", &config->server) < 0 ||
	    json_text(&cluster, "tls-server-name", &config->server_name) < 0 ||
	    json_boolean(&cluster, "insecure-skip-tls-verify", &config->insecure) < 0 ||
	    json_text(&cluster, "proxy-url", &proxy) < 0 ||
	    kubeconfig_cluster_extension(&cluster, &config->exec.cluster_config) < 0 ||
	    kubeconfig_pem(&cluster, path, "certificate-authority", &config->ca) < 0)
		return -1;
	if (!*config->server)
		return json_fail(&cluster, "cluster \"%s\" has no server", name);
	if (*proxy)
		return json_fail(&cluster,
				 "cluster \"%s\" has a proxy-url, which is not supported; "
				 "let server name an address that is reachable directly",
				 name);
	if (config->insecure && (*config->ca.text || *config->ca.file))
		return json_fail(&cluster,
				 "cluster \"%s\" has both insecure-skip-tls-verify and a "
				 "certificate-authority; remove one of them",
				 name);
	return 0;
}

static int kubeconfig_variable_name(const struct json_at *name, const struct field *field,
				    void *object)
{
	const struct kubeconfig_variable *variable = object;

	if (field_decode(name, field, object))
		return -1;
	if (!*variable->name || strchr(variable->name, '='))
		return json_fail(name, "must be the name of an environment variable");
	return 0;
}

static const struct field kubeconfig_variable_fields[] = {
	FIELD_TEXT(struct kubeconfig_variable, name, "name", .read = kubeconfig_variable_name),
	FIELD_TEXT(struct kubeconfig_variable, value, "value"),
	FIELD_END,
};

#define EXEC struct kubeconfig_exec

static const struct field kubeconfig_exec_fields[] = {
	FIELD_TEXT(EXEC, api_version, "apiVersion"),
	FIELD_TEXT(EXEC, command, "command"),
	FIELD_TEXT(EXEC, interactive_mode, "interactiveMode"),
	FIELD_TEXT(EXEC, install_hint, "installHint"),
	FIELD_BOOLEAN(EXEC, provide_cluster_info, "provideClusterInfo"),
	FIELD_TEXTS(EXEC, arguments, "args"),
	FIELD_VEC(EXEC, environment, kubeconfig_variable_fields, "env"),
	FIELD_END,
};

static int kubeconfig_exec_check(const struct json_at *at, struct kubeconfig_exec *exec)
{
	struct json_at version = json_member(at, "apiVersion");
	struct json_at mode = json_member(at, "interactiveMode");
	bool v1 = strcmp(exec->api_version, "client.authentication.k8s.io/v1") == 0;

	if (!v1 && strcmp(exec->api_version, "client.authentication.k8s.io/v1beta1") != 0)
		return json_fail(&version,
				 "user \"%s\": must be client.authentication.k8s.io/v1 or "
				 "v1beta1; let the plugin's tool write this kubeconfig again",
				 exec->user);
	if (!*exec->command)
		return json_fail(at, "user \"%s\" has no command", exec->user);
	if (!*exec->interactive_mode && !v1)
		exec->interactive_mode = "IfAvailable";
	if (strcmp(exec->interactive_mode, "Never") != 0 &&
	    strcmp(exec->interactive_mode, "IfAvailable") != 0 &&
	    strcmp(exec->interactive_mode, "Always") != 0)
		return json_fail(&mode, "user \"%s\": must be Never, IfAvailable or Always",
				 exec->user);
	return 0;
}

/* The member exec of the user called `name`, if there is one. */
static int kubeconfig_exec(const struct json_at *user, const char *path, const char *name,
			   struct kubeconfig_exec *exec)
{
	struct arena *arena = user->reader->arena;
	struct json_at at;

	if (json_object(user, "exec", &at) < 0)
		return -1;
	if (!at.json)
		return 0;
	exec->user = arena_strdup(arena, name);
	if (field_decode_all(&at, kubeconfig_exec_fields, exec) < 0 ||
	    kubeconfig_exec_check(&at, exec) < 0)
		return -1;
	if (strchr(exec->command, '/'))
		exec->command = kubeconfig_resolve(arena, path, exec->command);
	return 0;
}

static int kubeconfig_user(const struct json_at *root, const char *path, const char *name,
			   struct kubeconfig *config)
{
	struct json_at list, entry, user;

	if (!*name)
		return 0; /* a context without a user: anonymous, as with kubectl */
	if (kubeconfig_entry(root, "users", name, "user", &user, &entry, &list) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(kubeconfig_refused) / sizeof(kubeconfig_refused[0]); i++) {
		struct json_at member = json_member(&user, kubeconfig_refused[i].name);
		enum json_type type = json_type(&member);

		if (type != JSON_MISSING && type != JSON_NULL)
			return json_fail(&member, "user \"%s\": %s; %s", name,
					 kubeconfig_refused[i].what, kubeconfig_token_cure);
	}
	if (kubeconfig_exec(&user, path, name, &config->exec) < 0 ||
	    json_text(&user, "token", &config->token) < 0 ||
	    json_text(&user, "tokenFile", &config->token_file) < 0 ||
	    kubeconfig_pem(&user, path, "client-certificate", &config->certificate) < 0 ||
	    kubeconfig_pem(&user, path, "client-key", &config->key) < 0)
		return -1;
	config->token_file = kubeconfig_resolve(root->reader->arena, path, config->token_file);
	if ((*config->certificate.text || *config->certificate.file) !=
	    (*config->key.text || *config->key.file))
		return json_fail(&user,
				 "user \"%s\" has only one of client-certificate and client-key",
				 name);
	if (config->exec.api_version && (*config->token || *config->token_file ||
					 *config->certificate.text || *config->certificate.file))
		return json_fail(&user,
				 "user \"%s\" has exec and also a token or a client-certificate; "
				 "remove one of them",
				 name);
	return 0;
}

static int kubeconfig_context(const struct json_at *root, const char *path, const char *context,
			      struct kubeconfig *config)
{
	struct json_at list, entry, body;
	const char *cluster, *user;

	config->context = context;
	if (json_array(root, "contexts", &list) < 0)
		return -1;
	if (!list.json)
		return json_fail(root, "there are no contexts; %s", kubeconfig_ways);
	if (!config->context && json_text(root, "current-context", &config->context) < 0)
		return -1;
	if (!*config->context)
		return json_fail(root,
				 "there is no current-context; name one with --context; the "
				 "contexts are %s",
				 kubeconfig_names(&list, root->reader->arena));
	if (kubeconfig_entry(root, "contexts", config->context, "context", &body, &entry, &list) <
	    0)
		return -1;
	if (json_text(&body, "cluster", &cluster) < 0 || json_text(&body, "user", &user) < 0 ||
	    json_text(&body, "namespace", &config->namespace_) < 0)
		return -1;
	if (!*cluster)
		return json_fail(&body, "context \"%s\" has no cluster", config->context);
	if (kubeconfig_cluster(root, path, cluster, config) < 0)
		return -1;
	return kubeconfig_user(root, path, user, config);
}

int kubeconfig_read(const char *path, const char *context, struct arena *arena,
		    struct kubeconfig *ret_config, struct err *err)
{
	struct kubeconfig config = {
		.namespace_ = "",
		.server = "",
		.server_name = "",
		.token = "",
		.token_file = "",
		.ca = { "", "" },
		.certificate = { "", "" },
		.key = { "", "" },
		.exec = { .cluster_config = "" },
	};
	struct json_reader reader = { .arena = arena, .err = err };
	AUTO(memory_free_string) char *text = NULL;
	AUTO(json_done) struct cJSON *json = NULL;

	if (kube_file_read_text(path, &text, err) < 0)
		return err_set(err, err->kind, "%s; %s", err->text, kubeconfig_ways);
	if (document_parse(text, strlen(text), &kubeconfig_limits, &json, err) < 0)
		return err_set(err, err->kind, "%s: %s; %s", path, err->text, kubeconfig_ways);
	struct json_at root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) < 0)
		return err_set(err, err->kind, "%s: %s; %s", path, err->text, kubeconfig_ways);
	if (kubeconfig_context(&root, path,
			       context && *context ? arena_strdup(arena, context) : NULL,
			       &config) < 0)
		return err_prefix(err, "%s", path);
	*ret_config = config;
	return 0;
}
