#include "ctl/shared/options.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "codec/text/text.h"
#include <inttypes.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Options first, then the settings of decisions. */
static const struct settings_row rows[] = {
#define X(...) SETTINGS_ROW(struct options, __VA_ARGS__)
	OPTIONS_TABLE(X)
#undef X
#define X(kind, member, ...) SETTINGS_ROW(struct options, kind, settings.member, __VA_ARGS__)
		SETTINGS_TABLE(X)
#undef X
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define HELP_COLUMN 32 /* of --help: where the meaning begins */
#define HELP_WIDTH 80

void options_init(struct options *options)
{
	*options = (struct options){ .arena = ARENA_INIT };
	settings_rows_init(rows, ROW_COUNT, options);
	options->device_table = device_table_builtin();
}

void options_done(struct options *options)
{
	arena_done(&options->arena);
}

bool options_sidecar(const struct options *options)
{
	return options->cluster_name[0] != '\0';
}

const char *options_metrics_address(const struct options *options)
{
	if (options->metrics_bind_address[0])
		return options->metrics_bind_address;
	return options_sidecar(options) ? ":44217" : ":8080";
}

const char *options_probe_address(const struct options *options)
{
	if (options->health_probe_bind_address[0])
		return options->health_probe_bind_address;
	return options_sidecar(options) ? "0" : ":8081";
}

static int parse_integer(const char *name, const char *text, int64_t minimum, int64_t maximum,
			 int64_t *ret_value, struct err *err)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < minimum || value > maximum)
		return err_set(err, ERR_INPUT,
			       "--%s: must be a whole number from %lld to %lld, is \"%s\"", name,
			       (long long)minimum, (long long)maximum, text);
	*ret_value = value;
	return 0;
}

static int parse_boolean(const char *name, const char *text, bool *ret_value, struct err *err)
{
	bool yes = !strcmp(text, "true");

	if (!yes && strcmp(text, "false") != 0)
		return err_set(err, ERR_INPUT, "--%s: must be true or false, is \"%s\"", name,
			       text);
	*ret_value = yes;
	return 0;
}

/* The longest first: "ms" ends in "s". */
static const struct duration_unit {
	const char *suffix;
	int64_t ms;
} duration_units[] = {
	{ "ms", 1 }, { "s", MS_PER_SECOND }, { "m", 60 * MS_PER_SECOND }, { "", MS_PER_SECOND }
};

static const struct duration_unit *duration_unit_of(const char *text)
{
	const struct duration_unit *unit = duration_units;
	size_t size = strlen(text);

	while (strlen(unit->suffix) > size ||
	       strcmp(text + size - strlen(unit->suffix), unit->suffix) != 0)
		unit++;
	return unit;
}

static void print_duration(char *buffer, size_t size, int64_t ms)
{
	bool whole = ms % MS_PER_SECOND == 0;

	snprintf(buffer, size, "%lld%s", (long long)(whole ? ms / MS_PER_SECOND : ms),
		 whole ? "s" : "ms");
}

static int parse_duration(const char *name, const char *text, int64_t minimum, int64_t maximum,
			  int64_t *ret_ms, struct err *err)
{
	const struct duration_unit *unit = duration_unit_of(text);
	char from[32], to[32];
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (!errno && end != text && !strcmp(end, unit->suffix) && value >= 0 &&
	    value <= maximum / unit->ms && value * unit->ms >= minimum) {
		*ret_ms = value * unit->ms;
		return 0;
	}
	print_duration(from, sizeof(from), minimum);
	print_duration(to, sizeof(to), maximum);
	return err_set(err, ERR_INPUT,
		       "--%s: must be a time from %s to %s, as 15 or 15s (whole numbers; ms, s, "
		       "m), is \"%s\"",
		       name, from, to, text);
}

static bool is_resource(const char *entry)
{
	return !entry[strcspn(entry, " \t=")];
}

/* As of a taint, or the type of a condition; size: of the part of the entry. */
static bool is_key(const char *entry, size_t size)
{
	return size > 0 && strspn(entry, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-_./") >= size;
}

static bool is_taint_key(const char *entry)
{
	return is_key(entry, strlen(entry));
}

static bool is_condition(const char *entry)
{
	size_t size = strcspn(entry, "=");
	const char *status = entry + size;

	return is_key(entry, size) && (!*status || !strcmp(status, "=True") ||
				       !strcmp(status, "=False") || !strcmp(status, "=Unknown"));
}

/* The kind of a list's entries, by the unit of its row. */
static const struct entry_rule {
	const char *unit;
	bool (*is_right)(const char *entry);
	const char *form;
} entry_rules[] = {
	{ "names", is_resource, "the name of a resource" },
	{ "keys", is_taint_key, "the key of a taint, without its value and effect" },
	{ "types", is_condition, "TYPE or TYPE=STATUS, with True, False or Unknown" },
};

/* "a,b,c"; empty parts are dropped. */
static int parse_list(struct arena *arena, const struct settings_row *row, const char *text,
		      struct strings *ret_list, struct err *err)
{
	const struct entry_rule *rule = entry_rules;
	VEC(const char *) parts = { 0 };

	while (strcmp(rule->unit, row->unit) != 0)
		rule++;
	while (*text) {
		size_t size = strcspn(text, ",");
		const char *entry = arena_strndup(arena, text, size);

		if (size > 0 && !rule->is_right(entry))
			return err_set(err, ERR_INPUT,
				       "--%s: write each entry as %s, not as \"%.64s\"", row->name,
				       rule->form, entry);
		if (size > 0)
			VEC_PUSH(arena, &parts, entry);
		text += size + (text[size] == ',');
	}
	*ret_list = (struct strings){ .at = parts.at, .count = parts.count };
	return 0;
}

static int set_option(struct options *options, const struct settings_row *row, const char *text,
		      struct err *err)
{
	void *member = (char *)options + row->offset;
	int choice;

	switch (row->kind) {
	case SETTINGS_INTEGER:
		return parse_integer(row->name, text, row->minimum, row->maximum, member, err);
	case SETTINGS_BOOLEAN:
		return parse_boolean(row->name, text, member, err);
	case SETTINGS_DURATION:
		return parse_duration(row->name, text, row->minimum, row->maximum, member, err);
	case SETTINGS_CHOICE:
		choice = settings_choice_value(row, text);
		if (choice < 0)
			return err_set(err, ERR_INPUT, "--%s: must be one of %s, is \"%s\"",
				       row->name, row->unit, text);
		*(int *)member = choice;
		return 0;
	case SETTINGS_LIST:
		return parse_list(&options->arena, row, text, member, err);
	case SETTINGS_TEXT:
		if (text[0] == '\0')
			return err_set(err, ERR_INPUT, "--%s: is empty; write a %s", row->name,
				       row->unit);
		*(const char **)member = text;
		return 0;
	}
	CHECK(!"a kind without a parser");
}

static int refuse_name(const char *name, struct err *err)
{
	struct nearest nearest = nearest_start(name);

	for (size_t i = 0; i < ROW_COUNT; i++)
		nearest_offer(&nearest, rows[i].name);
	return err_set(err, ERR_INPUT, "--%s: no such flag%s%s%s", name,
		       nearest.word ? "; did you mean --" : "", nearest.word ? nearest.word : "",
		       nearest.word ? "?" : "");
}

/* One flag at argv[0]; *ret_used is the number of words that it used. */
static int parse_flag(struct options *options, int count, char *const *argv, int *ret_used,
		      struct err *err)
{
	const char *word = argv[0], *equals, *value;
	const struct settings_row *row;
	char *name;

	if (strncmp(word, "--", 2) != 0)
		return err_set(err, ERR_INPUT,
			       "\"%s\" is not a flag; write flags as --NAME=VALUE, or remove it",
			       word);
	equals = strchr(word, '=');
	name = arena_strndup(&options->arena, word + 2,
			     equals ? (size_t)(equals - word - 2) : strlen(word + 2));
	row = ARRAY_FIND(rows, ROW_COUNT, name, name);
	if (!row)
		return refuse_name(name, err);
	*ret_used = 1;
	if (equals) {
		value = equals + 1;
	} else if (row->kind == SETTINGS_BOOLEAN && (count < 2 || !strncmp(argv[1], "--", 2))) {
		value = "true";
	} else if (count < 2) {
		return err_set(err, ERR_INPUT, "--%s: takes a value (%s); write it after the flag",
			       name, row->unit);
	} else {
		value = argv[1];
		*ret_used = 2;
	}
	return set_option(options, row, value, err);
}

/* A list of namespaces would be watched as one that does not exist. */
static int check_names(const struct options *options, struct err *err)
{
	const struct {
		const char *flag, *value;
	} names[] = { { "namespace", options->namespace_ },
		      { "cluster-namespace", options->cluster_namespace },
		      { "cluster-name", options->cluster_name } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].value[strspn(names[i].value, "abcdefghijklmnopqrstuvwxyz0123456789-.")])
			return err_set(err, ERR_INPUT,
				       "--%s must be one name of lower-case letters, digits and "
				       "\"-\", is \"%.64s\"%s",
				       names[i].flag, names[i].value,
				       i == 0 ? "; without it all namespaces are watched" : "");
	return 0;
}

static bool has_port(const char *address)
{
	const char *port = strrchr(address, ':');
	size_t digits = port ? strspn(port + 1, "0123456789") : 0;

	return digits > 0 && digits <= 5 && !port[1 + digits] &&
	       strtol(port + 1, NULL, 10) <= 65535;
}

static int check_addresses(const struct options *options, struct err *err)
{
	const struct {
		const char *flag, *value;
	} addresses[] = { { "metrics-bind-address", options->metrics_bind_address },
			  { "health-probe-bind-address", options->health_probe_bind_address } };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		if (addresses[i].value[0] != '\0' && strcmp(addresses[i].value, "0") != 0 &&
		    !has_port(addresses[i].value))
			return err_set(
				err, ERR_INPUT,
				"--%s must be an address with its port, as :8080, or 0 for none, "
				"is \"%.64s\"",
				addresses[i].flag, addresses[i].value);
	return 0;
}

/* The first of the flags that do not go together. */
static int check_together(const struct options *options, struct err *err)
{
	bool name = options->cluster_name[0], space = options->cluster_namespace[0];
	int64_t lease_ms = options->leader_elect_lease_duration_ms;
	int64_t renew_ms = options->leader_elect_renew_deadline_ms;
	const struct {
		bool wrong;
		const char *problem;
	} checks[] = {
		{ name && !space,
		  "--cluster-name and --cluster-namespace go together; add --cluster-namespace" },
		{ space && !name,
		  "--cluster-name and --cluster-namespace go together; add --cluster-name" },
		{ name && options->namespace_[0],
		  "--namespace is for the controller; remove it, as --cluster-name names one "
		  "cluster" },
		{ name && (options->max_gpus_per_namespace > 0 || options->max_gpus_total > 0),
		  "--max-gpus-per-namespace and --max-gpus-total are for the controller; a "
		  "sidecar sees one cluster: use --max-gpus-per-cluster" },
		{ options->settings.backoff_initial_seconds > options->settings.backoff_max_seconds,
		  "--backoff-initial-seconds must be at most --backoff-max-seconds" },
		{ name && options->metrics_secure,
		  "--metrics-secure is for the controller; the account of a head Pod may not "
		  "review tokens: leave it out" },
		{ options->settings.packing == PACKING_CHEAPEST && !options->price_table_file[0],
		  "--packing=cheapest has no effect without prices; add --price-table" },
		{ options->metrics_cert_dir[0] && !options->metrics_secure,
		  "--metrics-cert-dir has no effect without --metrics-secure; add it" },
		{ name && options->leader_elect,
		  "--leader-elect is for the controller; a sidecar is alone with its cluster: "
		  "leave it out" },
		{ lease_ms % MS_PER_SECOND != 0,
		  "--leader-elect-lease-duration must be whole seconds: the Lease holds no less" },
		{ renew_ms >= lease_ms,
		  "--leader-elect-renew-deadline must be below --leader-elect-lease-duration: a "
		  "leader has to stop before another one may begin" },
		{ options->leader_elect_retry_period_ms >= renew_ms,
		  "--leader-elect-retry-period must be below --leader-elect-renew-deadline: one "
		  "renewal that fails has to have a second try" },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].wrong)
			return err_set(err, ERR_INPUT, "%s", checks[i].problem);
	return 0;
}

int options_parse(struct options *options, int count, char *const *argv, struct err *err)
{
	for (int i = 0; i < count;) {
		int used = 0;

		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			options->help = true;
			return 0;
		}
		if (parse_flag(options, count - i, argv + i, &used, err) < 0)
			return -1;
		i += used;
	}
	if (check_names(options, err) < 0 || check_addresses(options, err) < 0 ||
	    check_together(options, err) < 0)
		return -1;
	if (options_sidecar(options))
		options->settings.mode = MODE_SIDECAR;
	return 0;
}

/* The default of a row as a user would write it, "" for none. */
static const char *default_text(char *buffer, size_t size, const struct settings_row *row)
{
	const char *word;
	size_t length;

	switch (row->kind) {
	case SETTINGS_TEXT:
	case SETTINGS_LIST:
		return row->initial_text;
	case SETTINGS_BOOLEAN:
		return row->initial ? "true" : "false";
	case SETTINGS_DURATION:
		print_duration(buffer, size, row->initial);
		break;
	case SETTINGS_CHOICE:
		word = settings_choice_word(row, row->initial, &length);
		snprintf(buffer, size, "%.*s", (int)length, word);
		break;
	case SETTINGS_INTEGER:
		snprintf(buffer, size, "%lld", (long long)row->initial);
		break;
	}
	return buffer;
}

/* The flags of each subject in --help, between spaces; the last one has those that no other names. */
static const struct subject {
	const char *title, *flags;
} subjects[] = {
	{ "RayClusters", " namespace cluster-name cluster-namespace mode " },
	{ "Scaling",
	  " scan-interval-seconds gcs-reads-per-second idle-timeout-seconds packing max-starting-workers "
	  "cancel-launch-seconds stuck-demand-seconds state-max-age-seconds enforce-max "
	  "max-drains-per-pass keep-for-placement-groups in-place-resize lower-while-suspended protect-busy-pods "
	  "protect-at-most-seconds driver-log " },
	{ "GPUs", " max-gpus-per-cluster max-gpus-per-namespace max-gpus-total device-table "
		  "price-table accelerators conserve-accelerators " },
	{ "Workers that do not start", " node-provision-timeout-seconds start-timeout-seconds "
				       "gang-hold-seconds raylet-gone-seconds unregistered-seconds "
				       "backoff-initial-seconds backoff-max-seconds " },
	{ "Leader election",
	  " leader-elect leader-elect-lease-duration leader-elect-renew-deadline "
	  "leader-elect-retry-period leader-elect-resource-name leader-elect-resource-namespace " },
	{ "Kubernetes API", " kubeconfig context service-account-dir kube-api-timeout-seconds "
			    "kube-api-qps kube-api-burst " },
	{ "Process", NULL },
};
#define SUBJECT_COUNT (sizeof(subjects) / sizeof(subjects[0]))

static bool is_named(const struct subject *subject, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), " %s ", name);
	return subject->flags && strstr(subject->flags, word);
}

static bool is_about(const struct subject *subject, const char *name)
{
	if (!subject || subject->flags)
		return !subject || is_named(subject, name);
	for (size_t i = 0; i < SUBJECT_COUNT; i++)
		if (is_named(&subjects[i], name))
			return false;
	return true;
}

/* Calls print for every flag of the subject, or of all (NULL). */
static void each_flag(FILE *file, const struct subject *subject,
		      void (*print)(FILE *file, const char *name, const char *unit,
				    const char *initial, const char *help))
{
	char text[64];

	for (size_t i = 0; i < ROW_COUNT; i++)
		if (is_about(subject, rows[i].name))
			print(file, rows[i].name, rows[i].unit,
			      default_text(text, sizeof(text), &rows[i]), rows[i].help);
}

static void print_line(FILE *file, const char *name, const char *unit, const char *initial,
		       const char *help)
{
	AUTO(buf_done) struct buf line;
	char right[256];
	size_t column;

	buf_init(&line, 4096);
	buf_printf(&line, initial[0] ? "  --%s %s" : "  --%s <%s>", name,
		   initial[0] ? initial : unit);
	column = line.size;
	if (column >= HELP_COLUMN) {
		buf_add_char(&line, '\n');
		column = 0;
	}
	buf_printf(&line, "%*s", (int)(HELP_COLUMN - column), "");
	snprintf(right, sizeof(right), initial[0] ? "%s [%s]" : "%s", help, unit);
	text_add_wrapped(&line, right, HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
	fprintf(file, "%s\n", buf_string(&line));
}

void options_print(FILE *file)
{
	for (size_t i = 0; i < SUBJECT_COUNT; i++) {
		fprintf(file, "%s:\n", subjects[i].title);
		each_flag(file, &subjects[i], print_line);
	}
}

static void print_markdown(FILE *file, const char *name, const char *unit, const char *initial,
			   const char *help)
{
	fprintf(file, "| `--%s` | ", name);
	for (; *unit; unit++)
		fputs(*unit == '|' ? ", " : (char[]){ *unit, '\0' }, file);
	fprintf(file, " | %s | %s |\n", initial, help);
}

void options_print_markdown(FILE *file)
{
	fputs("| flag | value | default | meaning |\n| --- | --- | --- | --- |\n", file);
	each_flag(file, NULL, print_markdown);
}

void options_print_values(FILE *file)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &rows[i];

		fputs(row->name, file);
		if (row->kind == SETTINGS_INTEGER)
			fprintf(file, " %" PRId64 "..%" PRId64, row->minimum, row->maximum);
		else if (row->kind == SETTINGS_BOOLEAN || row->kind == SETTINGS_CHOICE)
			fprintf(file, " %s",
				row->kind == SETTINGS_BOOLEAN ? "true|false" : row->unit);
		else if (row->kind == SETTINGS_DURATION)
			fputs(" duration", file);
		else if (strcmp(row->name, "log-level") == 0)
			fputs(" debug|info|warning|error", file);
		fputc('\n', file);
	}
}
