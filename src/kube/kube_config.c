#include "kube/kube_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "kube/kube_exec.h"
#include "kube/kube_file.h"
#include "kube/kubeconfig.h"

#define KUBE_CONFIG_CHECK_MS 1000

struct kube_config {
	struct arena arena; /* of the fixed texts and the plugin */
	const char *server, *namespace_, *source, *server_name;
	bool insecure;
	struct kube_file token, ca, certificate, key;
	struct arena published; /* the token without white space around it */
	bool forced, checked;
	int64_t checked_ms;
	struct err problem;
	struct kube_credentials credentials;
	struct kube_exec *exec;   /* NULL: the credentials are files or fixed */
	const char *exec_cluster; /* as in struct exec_cluster */
	time_ms expires;          /* TIME_NONE: not known */
	bool exec_refused, renewed;
	int64_t renewed_ms; /* when the plugin was last run */
	int64_t exec_pause_ms;
	struct err exec_problem;
	struct list users;
};

static const char *kube_config_env(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static bool kube_config_loopback(const char *host)
{
	size_t size = strcspn(host, ":/");

	return (size == strlen("localhost") && strncmp(host, "localhost", size) == 0) ||
	       strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0;
}

/* Sets config->server, without "/" at its end. */
static int kube_config_set_server(struct kube_config *config, const char *server, struct err *err)
{
	size_t size = strlen(server);
	const char *host = strstr(server, "://");

	if (!host || (strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0))
		return err_set(err, ERR_FATAL, "server \"%s\" must begin with https://", server);
	host += 3;
	if (strpbrk(server, "@?#") || !*host || *host == '/')
		return err_set(err, ERR_FATAL,
			       "server \"%s\" must be an address like "
			       "https://host:6443, without user, query or fragment",
			       server);
	if (strncmp(server, "http://", 7) == 0 && !kube_config_loopback(host))
		return err_set(err, ERR_FATAL,
			       "server \"%s\": http:// is allowed to this machine only "
			       "(kubectl proxy); use https://",
			       server);
	while (size > 0 && server[size - 1] == '/')
		size--;
	config->server = arena_strndup(&config->arena, server, size);
	return 0;
}

static const char *kube_config_trim(struct arena *arena, const char *text)
{
	static const char white[] = " \t\r\n";

	text += strspn(text, white);
	size_t size = strlen(text);
	while (size > 0 && strchr(white, text[size - 1]))
		size--;
	return arena_strndup(arena, text, size);
}

static const char *kube_config_text(const struct kube_file *file)
{
	return file->content ? file->content : "";
}

static void kube_config_publish(struct kube_config *config)
{
	struct kube_credentials *credentials = &config->credentials;
	const char *token;

	arena_reset(&config->published);
	token = kube_config_trim(&config->published, kube_config_text(&config->token));
	credentials->token = *token ? token : NULL;
	credentials->tls = (struct https_tls){
		.ca_pem = kube_config_text(&config->ca),
		.certificate_pem = kube_config_text(&config->certificate),
		.key_pem = kube_config_text(&config->key),
		.server_name = config->server_name,
		.insecure = config->insecure,
	};
	credentials->version++;
}

static int kube_config_check_pem(const struct kube_file *file, const char *what, struct err *err)
{
	if (!file->content || strstr(file->content, "-----BEGIN "))
		return 0;
	return err_set(err, ERR_FATAL, "%s%s%s: the %s is not PEM text (-----BEGIN ...)",
		       file->path ? file->path : "", file->path ? "" : what,
		       file->path ? "" : "-data", what);
}

/* Reads the changed files; the first error is the result, the other files are read all the same. */
static int kube_config_refresh(struct kube_config *config, bool force, bool *ret_changed,
			       struct err *err)
{
	struct kube_file *files[] = { &config->token, &config->ca, &config->certificate,
				      &config->key };
	struct err first = { .kind = ERR_NONE };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct err one = { .kind = ERR_NONE };

		if (kube_file_refresh(files[i], force, ret_changed, &one) < 0 &&
		    first.kind == ERR_NONE)
			first = one;
	}
	if (first.kind == ERR_NONE)
		return 0;
	*err = first;
	return -1;
}

/* A fixed text instead of a file. */
static void kube_config_set_text(struct kube_file *file, const char *text, bool *ret_changed)
{
	if (strcmp(kube_config_text(file), text) == 0)
		return;
	kube_file_done(file);
	kube_file_init(file, NULL, text);
	*ret_changed = true;
}

static void kube_config_on_exec(void *context, const struct exec_credential *credential,
				const struct err *err)
{
	struct kube_config *config = context;
	bool changed = false;

	if (err) {
		config->exec_problem = *err;
		return;
	}
	config->exec_problem.text[0] = '\0';
	kube_config_set_text(&config->token, credential->token, &changed);
	kube_config_set_text(&config->certificate, credential->certificate_pem, &changed);
	kube_config_set_text(&config->key, credential->key_pem, &changed);
	config->expires = credential->expires;
	if (changed)
		kube_config_publish(config);
}

static struct exec_cluster kube_config_exec_cluster(const struct kube_config *config)
{
	return (struct exec_cluster){
		.server = config->server,
		.server_name = config->server_name,
		.ca_pem = kube_config_text(&config->ca),
		.config = config->exec_cluster,
		.insecure = config->insecure,
	};
}

static int kube_config_first_exec(struct kube_config *config, struct err *err)
{
	struct exec_cluster cluster = kube_config_exec_cluster(config);

	kube_exec_run(config->exec, &cluster, kube_config_on_exec, config);
	if (*config->exec_problem.text)
		return err_set(err, ERR_FATAL, "%s", config->exec_problem.text);
	return 0;
}

static int kube_config_start(struct kube_config *config, struct err *err)
{
	bool changed = false;
	struct err problem;

	if (kube_config_refresh(config, true, &changed, &problem) < 0)
		return err_set(err, ERR_FATAL, "%s", problem.text);
	if (kube_config_check_pem(&config->ca, "certificate-authority", err) < 0 ||
	    kube_config_check_pem(&config->certificate, "client-certificate", err) < 0 ||
	    kube_config_check_pem(&config->key, "client-key", err) < 0)
		return -1;
	kube_config_publish(config);
	return config->exec ? kube_config_first_exec(config, err) : 0;
}

static const char *kube_config_account_dir(const struct kube_config_options *options)
{
	return options->service_account_dir && *options->service_account_dir ?
		       options->service_account_dir :
		       KUBE_SERVICE_ACCOUNT_DIR;
}

static bool kube_config_is_in_cluster(const struct kube_config_options *options)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *token = arena_printf(&arena, "%s/token", kube_config_account_dir(options));

	return *kube_config_env("KUBERNETES_SERVICE_HOST") && access(token, F_OK) == 0;
}

static int kube_config_in_cluster(struct kube_config *config, const char *directory,
				  struct err *err)
{
	const char *host = kube_config_env("KUBERNETES_SERVICE_HOST");
	const char *port = kube_config_env("KUBERNETES_SERVICE_PORT_HTTPS");
	struct arena *arena = &config->arena;
	const char *namespace_file = arena_printf(arena, "%s/namespace", directory);
	AUTO(memory_free_string) char *namespace_ = NULL;
	bool v6 = strchr(host, ':') && *host != '[';

	if (!*port)
		port = kube_config_env("KUBERNETES_SERVICE_PORT");
	const char *server = arena_printf(arena, "https://%s%s%s:%s", v6 ? "[" : "", host,
					  v6 ? "]" : "", *port ? port : "443");
	if (kube_config_set_server(config, server, err) < 0)
		return err_prefix(err, "KUBERNETES_SERVICE_HOST");
	kube_file_init(&config->token, arena_printf(arena, "%s/token", directory), NULL);
	kube_file_init(&config->ca, arena_printf(arena, "%s/ca.crt", directory), NULL);
	if (access(namespace_file, F_OK) == 0) {
		if (kube_file_read_text(namespace_file, &namespace_, err) < 0)
			return -1;
		config->namespace_ = kube_config_trim(arena, namespace_);
	}
	config->source = "in-cluster";
	return 0;
}

/* $KUBECONFIG, else ~/.kube/config. */
static const char *kube_config_default_path(struct arena *arena, struct err *err)
{
	const char *path = kube_config_env("KUBECONFIG");
	const char *home = kube_config_env("HOME");

	if (strchr(path, ':')) {
		err_set(err, ERR_FATAL,
			"KUBECONFIG names several files (%s), which is not supported; "
			"name one with --kubeconfig",
			path);
		return NULL;
	}
	if (*path)
		return arena_strdup(arena, path);
	if (!*home) {
		err_set(err, ERR_FATAL,
			"no API server is configured: not in a cluster "
			"(KUBERNETES_SERVICE_HOST), no $KUBECONFIG, no $HOME; use --kubeconfig");
		return NULL;
	}
	return arena_printf(arena, "%s/.kube/config", home);
}

static void kube_config_take(struct kube_config *config, const char *path,
			     const struct kubeconfig *from,
			     const struct kube_config_options *options)
{
	config->namespace_ = from->namespace_;
	config->server_name = from->server_name;
	config->insecure = from->insecure;
	kube_file_init(&config->token, from->token_file, from->token);
	kube_file_init(&config->ca, from->ca.file, from->ca.text);
	kube_file_init(&config->certificate, from->certificate.file, from->certificate.text);
	kube_file_init(&config->key, from->key.file, from->key.text);
	if (from->exec.api_version) {
		config->exec = kube_exec_new(&from->exec, path, options->exec_deadline_ms);
		config->exec_pause_ms = options->exec_pause_ms > 0 ? options->exec_pause_ms :
								     KUBE_EXEC_PAUSE_MS;
		config->exec_cluster = from->exec.cluster_config;
	}
	config->source =
		arena_printf(&config->arena, "kubeconfig %s, context %s", path, from->context);
}

static int kube_config_from_file(struct kube_config *config,
				 const struct kube_config_options *options, struct err *err)
{
	struct arena *arena = &config->arena;
	struct kubeconfig *from = ARENA_NEW(arena, struct kubeconfig);
	const char *path = options->kubeconfig && *options->kubeconfig ?
				   arena_strdup(arena, options->kubeconfig) :
				   kube_config_default_path(arena, err);

	if (!path || kubeconfig_read(path, options->context, arena, from, err) < 0)
		return -1;
	if (kube_config_set_server(config, from->server, err) < 0)
		return err_prefix(err, "%s", path);
	kube_config_take(config, path, from, options);
	return 0;
}

struct kube_config *kube_config_load(const struct kube_config_options *options, struct err *err)
{
	struct kube_config *config = memory_alloc(sizeof(*config));
	bool named = options->kubeconfig && *options->kubeconfig;
	struct err problem = { .kind = ERR_NONE };
	int result;

	config->expires = TIME_NONE;
	if (!named && kube_config_is_in_cluster(options))
		result = kube_config_in_cluster(config, kube_config_account_dir(options), &problem);
	else
		result = kube_config_from_file(config, options, &problem);
	if (result == 0)
		result = kube_config_start(config, &problem);
	if (result == 0)
		return config;
	kube_config_free(config);
	err_set(err, ERR_FATAL, "%s", problem.text);
	return NULL;
}

void kube_config_free(struct kube_config *config)
{
	if (!config)
		return;
	kube_file_done(&config->token);
	kube_file_done(&config->ca);
	kube_file_done(&config->certificate);
	kube_file_done(&config->key);
	kube_exec_free(config->exec);
	arena_done(&config->arena);
	arena_done(&config->published);
	memory_free(config);
}

const char *kube_config_server(const struct kube_config *config)
{
	return config->server;
}

const char *kube_config_namespace(const struct kube_config *config)
{
	return config->namespace_ && *config->namespace_ ? config->namespace_ : "default";
}

const char *kube_config_source(const struct kube_config *config)
{
	return config->source;
}

bool kube_config_plain(const struct kube_config *config)
{
	return strncmp(config->server, "http://", 7) == 0;
}

const struct kube_credentials *kube_config_credentials(struct kube_config *config, int64_t now_ms)
{
	bool changed = false;
	struct err problem = { .kind = ERR_NONE };

	if (!config->forced && config->checked &&
	    now_ms - config->checked_ms < KUBE_CONFIG_CHECK_MS)
		return &config->credentials;
	if (kube_config_refresh(config, config->forced, &changed, &problem) < 0)
		config->problem = problem;
	else
		config->problem.text[0] = '\0';
	if (changed)
		kube_config_publish(config);
	config->forced = false;
	config->checked = true;
	config->checked_ms = now_ms;
	return &config->credentials;
}

void kube_config_refused(struct kube_config *config)
{
	config->forced = true;
	config->exec_refused = true;
}

const char *kube_config_problem(const struct kube_config *config)
{
	return *config->exec_problem.text ? config->exec_problem.text : config->problem.text;
}

/* ---- renewal by the exec plugin ---- */

void kube_config_join(struct kube_config *config, struct kube_config_user *user)
{
	list_add(&config->users, &user->item);
}

void kube_config_leave(struct kube_config *config, struct kube_config_user *user)
{
	list_remove(&user->item);
	if (!config->users.first && config->exec)
		kube_exec_cancel(config->exec);
}

static void kube_config_on_renewed(void *context, const struct exec_credential *credential,
				   const struct err *err)
{
	struct kube_config *config = context;

	kube_config_on_exec(config, credential, err);
	config->exec_refused = false; /* refused by others while it ran: these are the old ones */
	LIST_EACH(struct kube_config_user, user, &config->users, item) {
		config->renewed_ms = loop_monotonic_ms(user->loop);
		user->renewed(user->context);
	}
}

bool kube_config_renew(struct kube_config *config, const struct kube_config_user *user)
{
	int64_t now_ms = loop_monotonic_ms(user->loop);

	if (!config->exec || kube_exec_runs(config->exec))
		return config->exec;
	if (!config->exec_refused &&
	    (config->expires == TIME_NONE || loop_wall(user->loop) < config->expires))
		return false;
	if (config->renewed && now_ms - config->renewed_ms < config->exec_pause_ms)
		return false;
	config->exec_refused = false;
	config->renewed = true;
	config->renewed_ms = now_ms;
	struct exec_cluster cluster = kube_config_exec_cluster(config);
	return kube_exec_start(config->exec, user->loop, &cluster, kube_config_on_renewed, config,
			       &config->exec_problem) == 0;
}
