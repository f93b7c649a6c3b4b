#include "kube/kube_exec.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "net/child.h"

#define INFO_NAME "KUBERNETES_EXEC_INFO"
/* Of KUBERNETES_EXEC_INFO; Linux takes no longer string than 128 KiB. */
#define INFO_MAX_BYTES ((size_t)128 << 10)

struct kube_exec {
	const struct kubeconfig_exec *plugin;
	const char *path;
	int64_t deadline_ms;
	struct child *child; /* NULL: not running */
	kube_exec_done *done;
	void *context;
};

struct words {
	VEC(const char *) list; /* ends with NULL */
};

struct kube_exec *kube_exec_new(const struct kubeconfig_exec *plugin, const char *path,
				int64_t deadline_ms)
{
	struct kube_exec *exec = memory_alloc(sizeof(*exec));

	exec->plugin = plugin;
	exec->path = path;
	exec->deadline_ms = deadline_ms > 0 ? deadline_ms : KUBE_EXEC_DEADLINE_MS;
	return exec;
}

void kube_exec_free(struct kube_exec *exec)
{
	if (!exec)
		return;
	kube_exec_cancel(exec);
	memory_free(exec);
}

/* The text of `err` in a sentence that names the plugin and the fix. */
static int fail(const struct kube_exec *exec, struct err *err)
{
	struct err why = *err;
	const char *hint = exec->plugin->install_hint;
	const char *cure = "run it by hand; its messages are on standard error";

	if (why.kind == ERR_NOT_FOUND)
		cure = *hint ? hint : "install it, or name it with its whole path";
	else if (why.kind == ERR_TIMEOUT)
		cure = "try it by hand; it may wait for a login";
	else if (why.kind == ERR_DENIED)
		cure = "run it in a terminal, or let the plugin log in without questions";
	return err_set(err, ERR_FATAL,
		       "kubeconfig %s, user \"%s\": the exec plugin \"%s\" %s; fix: %s", exec->path,
		       exec->plugin->user, exec->plugin->command, why.text, cure);
}

static void on_child_done(void *context, const char *output, size_t size, const struct err *err)
{
	struct kube_exec *exec = context;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct exec_credential credential;
	struct err why = { .kind = ERR_NONE };
	bool good;

	exec->child = NULL;
	if (err) {
		why = *err;
		good = false;
	} else {
		good = exec_credential_decode(output, size, exec->plugin->api_version, &arena,
					      &credential, &why) == 0;
		if (!good)
			err_prefix(&why, "printed no usable ExecCredential");
	}
	if (!good)
		(void)fail(exec, &why);
	exec->done(exec->context, good ? &credential : NULL, good ? NULL : &why);
}

static bool is_set_by(const struct kubeconfig_exec *plugin, const char *entry)
{
	size_t size = strcspn(entry, "=");

	for (size_t i = 0; i < plugin->environment.count; i++) {
		const char *name = plugin->environment.at[i].name;

		if (strlen(name) == size && strncmp(name, entry, size) == 0)
			return true;
	}
	return size == strlen(INFO_NAME) && strncmp(entry, INFO_NAME, size) == 0;
}

/* Ours, then the plugin's own: the last one of a name counts, as in client-go. */
static void make_environment(const struct kubeconfig_exec *plugin, const char *info,
			     struct arena *arena, struct words *ret_words)
{
	for (char **entry = environ; *entry; entry++) {
		if (!is_set_by(plugin, *entry))
			VEC_PUSH(arena, &ret_words->list, *entry);
	}
	for (size_t i = 0; i < plugin->environment.count; i++) {
		const struct kubeconfig_variable *one = &plugin->environment.at[i];
		bool again = strcmp(one->name, INFO_NAME) == 0;

		for (size_t j = i + 1; j < plugin->environment.count; j++)
			again |= strcmp(plugin->environment.at[j].name, one->name) == 0;
		if (!again)
			VEC_PUSH(arena, &ret_words->list,
				 arena_printf(arena, "%s=%s", one->name, one->value));
	}
	VEC_PUSH(arena, &ret_words->list, arena_printf(arena, INFO_NAME "=%s", info));
	VEC_PUSH(arena, &ret_words->list, NULL);
}

static int spawn(struct kube_exec *exec, struct loop *loop, const char *info, bool interactive,
		 struct err *err)
{
	const struct kubeconfig_exec *plugin = exec->plugin;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct words arguments = { 0 }, environment = { 0 };

	VEC_PUSH(&arena, &arguments.list, plugin->command);
	for (size_t i = 0; i < plugin->arguments.count; i++)
		VEC_PUSH(&arena, &arguments.list, plugin->arguments.at[i]);
	VEC_PUSH(&arena, &arguments.list, NULL);
	make_environment(plugin, info, &arena, &environment);
	exec->child =
		child_start(loop,
			    &(struct child_options){ .arguments = arguments.list.at,
						     .environment = environment.list.at,
						     .pass_stdin = interactive,
						     .ceiling_bytes = EXEC_CREDENTIAL_MAX_BYTES,
						     .deadline_ms = exec->deadline_ms,
						     .done = on_child_done,
						     .context = exec },
			    err);
	return exec->child ? 0 : -1;
}

int kube_exec_start(struct kube_exec *exec, struct loop *loop, const struct exec_cluster *cluster,
		    kube_exec_done *done, void *context, struct err *err)
{
	const struct kubeconfig_exec *plugin = exec->plugin;
	bool terminal = isatty(STDIN_FILENO) == 1;
	bool interactive = terminal && strcmp(plugin->interactive_mode, "Never") != 0;
	AUTO(buf_done) struct buf info;
	struct err why;

	buf_init(&info, INFO_MAX_BYTES);
	exec->done = done;
	exec->context = context;
	if (!terminal && strcmp(plugin->interactive_mode, "Always") == 0)
		err_set(&why, ERR_DENIED,
			"has interactiveMode Always, and standard input is not a terminal");
	else if (exec_credential_request_write(plugin->api_version, interactive,
					       plugin->provide_cluster_info ? cluster : NULL,
					       &info) < 0)
		err_set(&why, ERR_LIMIT, "cannot be given the cluster: its CA is too large");
	else if (spawn(exec, loop, buf_string(&info), interactive, &why) == 0)
		return 0;
	(void)fail(exec, &why);
	return err_set(err, ERR_FATAL, "%s", why.text);
}

void kube_exec_run(struct kube_exec *exec, const struct exec_cluster *cluster, kube_exec_done *done,
		   void *context)
{
	struct loop *loop = loop_new();
	struct err err;

	if (kube_exec_start(exec, loop, cluster, done, context, &err) < 0)
		done(context, NULL, &err);
	else
		loop_run(loop); /* until the plugin has ended */
	loop_free(loop);
}

bool kube_exec_runs(const struct kube_exec *exec)
{
	return exec->child != NULL;
}

void kube_exec_cancel(struct kube_exec *exec)
{
	child_cancel(steal(&exec->child));
}
