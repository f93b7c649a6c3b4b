#include "core/model/autoscaler_container.h"

#include <string.h>

/* Of the head, instead of autoscalerOptions.version. KubeRay refuses both. */
#define V2_VARIABLE "RAY_enable_autoscaler_v2"

/* The first words of a command; no form that is understood has a meaning beyond them. */
struct command_line {
	struct word {
		const char *text;
		size_t size;
	} words[4];
	size_t count;       /* of all words, also those that are not kept */
	bool has_reference; /* a script with $(NAME): the value may be any text */
};

static void add_word(struct command_line *line, const char *text, size_t size)
{
	if (line->count < sizeof(line->words) / sizeof(line->words[0]))
		line->words[line->count] = (struct word){ text, size };
	line->count++;
}

static bool is_word(const struct command_line *line, size_t i, const char *text)
{
	return i < line->count && line->words[i].size == strlen(text) &&
	       strncmp(line->words[i].text, text, line->words[i].size) == 0;
}

/* The first word without its directories. */
static bool is_program(const struct command_line *line, const char *name)
{
	size_t size = strlen(name);
	const struct word *word = &line->words[0];

	if (line->count == 0 || word->size < size)
		return false;
	if (strncmp(word->text + word->size - size, name, size) != 0)
		return false;
	return word->size == size || word->text[word->size - size - 1] == '/';
}

static bool is_shell(const struct command_line *line)
{
	return is_program(line, "bash") || is_program(line, "sh") || is_program(line, "dash");
}

/* The words of one simple command of a shell, without a leading `exec`. False for any character
 * that has a meaning in a shell, except in references $(NAME), which the kubelet replaces. */
static bool split_script(const char *script, struct command_line *ret_line)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-";
	struct command_line line = { .count = 0 };

	for (script += strspn(script, " "); *script != '\0'; script += strspn(script, " ")) {
		size_t size = strspn(script, letters);
		bool is_exec = line.count == 0 && size == 4 && strncmp(script, "exec", 4) == 0;

		if (size == 0 && strncmp(script, "$(", 2) == 0) {
			size = 2 + strspn(script + 2, letters);
			size += script[size] == ')' ? 1 : 0;
			line.has_reference = true;
		}
		if (script[size] != ' ' && script[size] != '\0')
			return false;
		if (!is_exec)
			add_word(&line, script, size);
		script += size;
	}
	*ret_line = line;
	return true;
}

/* The command that the container runs: that of `sh -c SCRIPT` in place of the shell. */
static bool read_command(const struct container *container, struct command_line *ret_line)
{
	const struct strings *lists[] = { &container->command, &container->args };
	struct command_line line = { .count = 0 };
	size_t script;

	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < lists[l]->count; i++)
			add_word(&line, lists[l]->at[i], strlen(lists[l]->at[i]));
	}
	*ret_line = line;
	if (container->command.count == 0)
		return false;
	if (!is_shell(&line))
		return true;
	script = is_word(&line, 2, "--") ? 3 : 2;
	return (is_word(&line, 1, "-c") || is_word(&line, 1, "-lc") || is_word(&line, 1, "-cl")) &&
	       line.count == script + 1 && split_script(line.words[script].text, ret_line);
}

bool autoscaler_container_is_ours(const struct container *container)
{
	static const char name[] = "rayscaler";
	const char *image = container->image ? container->image : "";
	const char *slash = strrchr(image, '/');
	const char *at = slash ? slash + 1 : image;

	for (size_t size = strcspn(at, ":@"); size >= strlen(name); size--, at++) {
		if (strncmp(at, name, strlen(name)) == 0)
			return true;
	}
	return false;
}

static const char *mode_of(const struct container *container)
{
	const char *mode = "";

	for (size_t i = 0; i < container->env_count; i++) {
		if (strcmp(container->env[i].name, AUTOSCALER_MODE_VARIABLE) == 0)
			mode = container->env[i].value;
	}
	return mode;
}

static bool does_nothing(const struct command_line *line)
{
	if (line->has_reference)
		return false;
	return is_program(line, "sleep") ||
	       (is_program(line, "timeout") && is_word(line, 2, "sleep")) ||
	       (is_program(line, "pause") && line->count == 1) ||
	       (is_program(line, "tail") && line->count == 3 && is_word(line, 1, "-f") &&
		is_word(line, 2, "/dev/null")) ||
	       (is_program(line, "rayscaler") && is_word(line, 1, "park"));
}

enum autoscaler_runs autoscaler_container_runs(const struct container *container)
{
	struct command_line line;

	if (!read_command(container, &line))
		return AUTOSCALER_RUNS_OTHER;
	if (does_nothing(&line))
		return AUTOSCALER_RUNS_NOTHING;
	if (is_program(&line, "rayscaler") && is_word(&line, 1, "run"))
		return AUTOSCALER_RUNS_SIDECAR;
	if (!is_program(&line, "ray") || !is_word(&line, 1, KUBERAY_AUTOSCALER_COMMAND) ||
	    !autoscaler_container_is_ours(container))
		return AUTOSCALER_RUNS_OTHER;
	return strcmp(mode_of(container), AUTOSCALER_MODE_PARK) == 0 ? AUTOSCALER_RUNS_NOTHING :
								       AUTOSCALER_RUNS_SIDECAR;
}

enum autoscaler_runs autoscaler_options_run(const struct ray_cluster *cluster)
{
	static const char *const command[] = { "/bin/bash", "-c", "--" };
	static const char *const args[] = { "ray " KUBERAY_AUTOSCALER_COMMAND };
	struct container container = cluster->autoscaler_options;

	if (container.command.count == 0)
		container.command = (struct strings){ command, 3 };
	if (container.args.count == 0)
		container.args = (struct strings){ args, 1 };
	return autoscaler_container_runs(&container);
}

static bool may_be_never(const struct pod_template *template)
{
	const char *policy = template->spec.restart_policy;

	return policy[0] == '\0' || strcmp(policy, "Never") == 0;
}

bool autoscaler_may_be_v2(const struct ray_cluster *cluster)
{
	const struct pod_spec *head = &cluster->head_template.spec;
	bool may = cluster->autoscaler_version[0] == '\0' && may_be_never(&cluster->head_template);

	if (head->container_count > 0)
		may = may && !ARRAY_FIND(head->containers[0].env, head->containers[0].env_count,
					 name, V2_VARIABLE);
	for (size_t g = 0; g < cluster->group_count; g++)
		may = may && may_be_never(&cluster->groups[g].template);
	return may;
}
