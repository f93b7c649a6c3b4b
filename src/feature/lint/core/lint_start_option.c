#include "feature/lint/core/lint_start_option.h"

#include <string.h>

#include "base/nearest.h"
#include "base/text.h"

void lint_start_option_report(struct lint_subject *subject, const char *path, const char *param,
			      const char *why)
{
	lint_report_finding(subject, LINT_RULE_RAY_START_PARAM_INVALID,
			    lint_path_member(subject->arena, path, param), "",
			    "%s %s; `ray start` ends, and no Pod of %s runs", param, why,
			    subject->title);
}

/* ---- ports ---- */

/* ray/_private/parameter.py and the defaults of ray/scripts/scripts.py; the metrics' is that of KubeRay 1.7. */
static const struct port {
	const char *param;
	long long least;
	bool or_zero;    /* any free port */
	bool of_head;    /* alone */
	long long usual; /* 0: any free one */
} ports[] = {
	{ "min-worker-port", 1024, true, false, 0 },
	{ "max-worker-port", 1024, true, false, 0 },
	{ "port", 0, true, true, 6379 },
	{ "ray-client-server-port", 1024, false, false, 10001 },
	{ "dashboard-port", 0, true, false, 8265 },
	{ "dashboard-agent-listen-port", 0, true, false, 52365 },
	{ "metrics-export-port", 0, true, false, 8080 },
	{ "runtime-env-agent-port", 1024, true, false, 0 },
	{ "node-manager-port", 0, true, false, 0 },
	{ "object-manager-port", 0, true, false, 0 },
	{ "dashboard-agent-grpc-port", 0, true, false, 0 },
};

#define PORT_COUNT (sizeof(ports) / sizeof(ports[0]))
#define RANGE_COUNT 2 /* the first rows: the ports of workers */
#define PORT_MOST 65535
#define WORKER_FIRST 10002
#define WORKER_LAST 19999

static bool read_port(const char *text, long long least, bool or_zero, long long *ret_port)
{
	long long port = 0;

	for (const char *at = text; text_is_digit(*at) && port <= PORT_MOST; at++)
		port = port * 10 + (*at - '0');
	*ret_port = port;
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0' && port <= PORT_MOST &&
	       (port >= least || (or_zero && port == 0));
}

/* 0: any free one, or invalid. */
static long long port_of(const struct lint_subject *subject, const struct port *row)
{
	const char *text = labels_value(subject->start_params, row->param);
	long long port;

	if (row->of_head && subject->group)
		return 0;
	if (!text)
		return row->usual;
	return read_port(text, row->least, row->or_zero, &port) ? port : 0;
}

/* Two components with one port, of which the user has given the first. */
static void check_equal(struct lint_subject *subject, const char *path, size_t row)
{
	long long port = port_of(subject, &ports[row]);

	for (size_t i = RANGE_COUNT; i < PORT_COUNT && port > 0; i++) {
		const char *other = labels_value(subject->start_params, ports[i].param);

		if (i == row || (other && i > row) || port_of(subject, &ports[i]) != port)
			continue;
		lint_start_option_report(
			subject, path, ports[row].param,
			arena_printf(subject->arena,
				     "%lld is the port of %s, too: write another one", port,
				     ports[i].param));
		return;
	}
}

/* Of "10002,10003" the number of the port; false: it is not such a list. */
static bool next_port(const char **list, struct arena *arena, long long *ret_port)
{
	size_t size = strcspn(*list, ",");
	const char *text = arena_strndup(arena, *list, size);

	*list += size + ((*list)[size] == ',');
	return read_port(text, 1024, false, ret_port);
}

static bool is_in_list(const struct lint_subject *subject, const char *list, long long port)
{
	long long one;

	while (*list != '\0' && next_port(&list, subject->arena, &one))
		if (one == port)
			return true;
	return false;
}

static void check_list(struct lint_subject *subject, const char *path, const char *list)
{
	const char *at = list;
	long long port;

	do {
		if (!next_port(&at, subject->arena, &port)) {
			lint_start_option_report(
				subject, path, "worker-port-list",
				arena_printf(subject->arena,
					     "\"%.40s\" must be ports of 1024 to 65535 with "
					     "commas, as 10002,10003",
					     list));
			return;
		}
		if (is_in_list(subject, at, port)) {
			lint_start_option_report(subject, path, "worker-port-list",
						 arena_printf(subject->arena,
							      "has %lld twice: remove one", port));
			return;
		}
	} while (*at != '\0');
}

/* The range of ports of workers; false: a value is invalid. */
static bool read_range(const struct lint_subject *subject, long long *ret_first,
		       long long *ret_last)
{
	const char *first = labels_value(subject->start_params, "min-worker-port");
	const char *last = labels_value(subject->start_params, "max-worker-port");

	*ret_first = WORKER_FIRST;
	*ret_last = WORKER_LAST;
	return (!first || read_port(first, ports[0].least, true, ret_first)) &&
	       (!last || read_port(last, ports[1].least, true, ret_last));
}

static void check_range(struct lint_subject *subject, const char *path)
{
	bool has_last = labels_value(subject->start_params, "max-worker-port");
	long long first, last;

	if (!read_range(subject, &first, &last) || last == 0 || last > first)
		return;
	if (has_last)
		lint_start_option_report(
			subject, path, "max-worker-port",
			arena_printf(subject->arena,
				     "must be above min-worker-port, %lld: raise it", first));
	else
		lint_start_option_report(
			subject, path, "min-worker-port",
			arena_printf(subject->arena,
				     "is above max-worker-port, which is %lld if it is not given: "
				     "add max-worker-port",
				     last));
}

/* The parameter that names the ports of workers; NULL: none. */
static const char *range_param(const struct lint_subject *subject)
{
	static const char *const params[] = { "worker-port-list", "min-worker-port",
					      "max-worker-port" };

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		if (labels_value(subject->start_params, params[i]))
			return params[i];
	return NULL;
}

/* Ray gives the ports of this range to its workers. One of them is the user's. */
static void check_in_range(struct lint_subject *subject, const char *path, size_t row)
{
	const char *list = labels_value(subject->start_params, "worker-port-list");
	const char *own = labels_value(subject->start_params, ports[row].param) ? ports[row].param :
										  NULL;
	const char *param = own ? own : range_param(subject);
	long long port = port_of(subject, &ports[row]), first, last;

	if (!param || port == 0 || !read_range(subject, &first, &last) ||
	    !(list ? is_in_list(subject, list, port) : port >= first && port <= last))
		return;
	lint_start_option_report(
		subject, path, param,
		!own ? arena_printf(subject->arena, "has %lld, the port of %s: %s", port,
				    ports[row].param, list ? "leave it out" : "start above it") :
		list ? arena_printf(subject->arena,
				    "%lld is in worker-port-list, too: write another one", port) :
		       arena_printf(subject->arena,
				    "%lld is one of the ports of workers, %lld to %lld: write "
				    "another one",
				    port, first, last));
}

static void check_ports(struct lint_subject *subject, const char *path)
{
	const char *list = labels_value(subject->start_params, "worker-port-list");
	long long port;

	for (size_t i = 0; i < PORT_COUNT; i++) {
		const char *text = labels_value(subject->start_params, ports[i].param);

		if (i >= RANGE_COUNT)
			check_in_range(subject, path, i);
		if (!text)
			continue;
		if (!read_port(text, ports[i].least, ports[i].or_zero, &port)) {
			lint_start_option_report(
				subject, path, ports[i].param,
				arena_printf(subject->arena, "\"%.40s\" must be %s%lld to %d", text,
					     ports[i].or_zero && ports[i].least > 0 ? "0 or " : "",
					     ports[i].least, PORT_MOST));
		} else if (i >= RANGE_COUNT) {
			check_equal(subject, path, i);
		}
	}
	check_range(subject, path);
	if (list)
		check_list(subject, path, list);
}

/* ---- words and flags ---- */

/* KubeRay writes "true" as the option alone and leaves "false" out, but for log-color and include-dashboard
 * (common/pod.go, convertParamMap). */
static const char *const flags[] = { "no-redirect-output",
				     "disable-usage-stats",
				     "verbose",
				     "enable-object-reconstruction",
				     "enable-resource-isolation",
				     "ray-debugger-external",
				     "no-monitor" };

static const struct {
	const char *param, *words, *others; /* the others are not named */
} words[] = {
	{ "log-style", "auto, record and pretty", "" },
	{ "log-color", "auto, false and true", "" },
	{ "include-dashboard", "true and false", "yes, no, on, off, 1, 0, t, f, y, n" },
	{ "include-log-monitor", "yes and no", "on, off, 1, 0, t, f, y, n" },
};

/* Among "a, b and c", whatever the case of its letters is. */
static bool is_among(const char *text, const char *list, struct arena *arena)
{
	for (size_t size; *list != '\0'; list += size, list += strspn(list, ", ")) {
		size = strcspn(list, ", ");
		if (nearest_distance(text, arena_strndup(arena, list, size)) == 0)
			return true;
	}
	return false;
}

static void check_words(struct lint_subject *subject, const char *path)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *text = labels_value(subject->start_params, words[i].param);

		if (text && !is_among(text, words[i].words, subject->arena) &&
		    !is_among(text, words[i].others, subject->arena))
			lint_start_option_report(subject, path, words[i].param,
						 arena_printf(subject->arena,
							      "must be one of %s, is \"%.40s\"",
							      words[i].words, text));
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const char *text = labels_value(subject->start_params, flags[i]);

		if (text && !is_among(text, "true, false", subject->arena))
			lint_start_option_report(
				subject, path, flags[i],
				arena_printf(subject->arena,
					     "takes no value, is \"%.40s\": write \"true\", or "
					     "remove it",
					     text));
	}
}

/* ---- the shell ---- */

/* KubeRay writes --NAME=VALUE into a command of bash. NULL: it is one word. */
static const char *split_by(const char *text, struct arena *arena)
{
	char quote = '\0';

	for (const char *at = text; *at != '\0'; at++) {
		if (quote == '\0' && *at == '\\' && at[1] != '\0')
			at++;
		else if (quote == '\0' && (*at == '"' || *at == '\''))
			quote = *at;
		else if (*at == quote)
			quote = '\0';
		else if (quote == '\0' && *at == ' ' && at[strspn(at, " ")] != '\0')
			return "a blank";
		else if (quote == '\0' && strchr("\t\n;&|<>()", *at))
			return *at < ' ' ? "a line break or tab" : arena_strndup(arena, at, 1);
	}
	return NULL;
}

static void check_shell(struct lint_subject *subject, const char *path)
{
	VEC_EACH(const struct label, param, subject->start_params) {
		bool is_own = strcmp(param->key, "resources") == 0 ||
			      strcmp(param->key, "labels") == 0; /* other findings */
		const char *by = is_own ? NULL : split_by(param->value, subject->arena);

		if (by)
			lint_start_option_report(
				subject, path, param->key,
				arena_printf(
					subject->arena,
					"has %s, at which the shell splits the command: write "
					"it into quotes of its own, as \"'%.80s'\", or remove it",
					by, param->value));
	}
}

void lint_start_options_check(struct lint_subject *subject, const char *path)
{
	check_ports(subject, path);
	check_words(subject, path);
	check_shell(subject, path);
}
