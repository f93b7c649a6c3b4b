#include "feature/lint/objects/lint_write.h"

#include <string.h>

#include "base/memory.h"
#include "codec/schema/field.h"
#include "feature/lint/core/lint_rule.h"

#define SARIF_SCHEMA                                                                               \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                      \
	"sarif-schema-2.1.0.json"

static int check_size(const struct buf *buf, struct err *err)
{
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the findings have more than %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}

/* ---- JSON ---- */

static const char *severity_word(unsigned severity)
{
	return lint_severity_name((enum lint_severity)severity);
}

static void write_number(struct json_writer *json, const struct field *field, const void *object)
{
	const uint32_t *number = field_value_read(field, object);

	json_write_integer(json, field->name, *number);
}

#define TEXT(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS)
#define ENTRY struct lint_entry
#define SEVERITY(T, m, words, n)                                                                   \
	FIELD_WORD(T, m, enum lint_severity, words, n, .flags = FIELD_ALWAYS)
#define NUMBER(m, n)                                                                               \
	FIELD_HOOK(n, .offset = FIELD_OFFSET(ENTRY, m, uint32_t), .write = write_number)

static const struct field entry_fields[] = {
	SEVERITY(ENTRY, finding.severity, severity_word, "severity"),
	TEXT(ENTRY, finding.rule, "rule"),
	TEXT(ENTRY, object, "object"),
	TEXT(ENTRY, file, "file"),
	TEXT(ENTRY, finding.path, "path"),
	NUMBER(at.line, "line"),
	NUMBER(at.column, "column"),
	TEXT(ENTRY, finding.message, "message"),
	TEXT(ENTRY, finding.fix, "fix"),
	FIELD_END,
};

int lint_json_write(const struct lint_report *report, struct buf *buf, struct err *err)
{
	static const struct field all = FIELD_VEC(struct lint_report, list, entry_fields, NULL);
	struct json_writer json;

	json_write_init(&json, buf, JSON_STYLE_PRETTY);
	field_write_value(&json, &all, report);
	buf_add_char(buf, '\n');
	return check_size(buf, err);
}

/* ---- SARIF ---- */

static const char *level_word(unsigned severity)
{
	static const char *const levels[] = { "note", "warning", "error" };

	return levels[severity];
}

/* The file has one run. */
struct sarif {
	const char *version;
	const struct lint_rule *rules;
	size_t rule_count;
	const struct lint_entry *results;
	size_t result_count;
};

struct sarif_file {
	const struct sarif *runs;
	size_t count;
};

#define RULE struct lint_rule

static const struct field what_fields[] = { TEXT(RULE, what, "text"), FIELD_END };
static const struct field cure_fields[] = { TEXT(RULE, cure, "text"), FIELD_END };
static const struct field level_fields[] = {
	SEVERITY(RULE, severity, level_word, "level"),
	FIELD_END,
};

static const struct field rule_fields[] = {
	TEXT(RULE, name, "id"),
	FIELD_OBJECT(what_fields, "shortDescription", .flags = FIELD_LINE),
	FIELD_OBJECT(cure_fields, "help", .flags = FIELD_LINE),
	FIELD_OBJECT(level_fields, "defaultConfiguration", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_END,
};

static const struct field driver_fields[] = {
	FIELD_FIXED("name", "rayscaler"),
	TEXT(struct sarif, version, "version"),
	FIELD_LIST(struct sarif, rules, rule_count, rule_fields, "rules"),
	FIELD_END,
};

static const struct field tool_fields[] = { FIELD_OBJECT(driver_fields, "driver"), FIELD_END };

/* A file's name as a URI reference (RFC 3986): escapes all but unreserved characters and "/". */
static void add_uri(struct buf *buf, const char *file)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";

	if (*file == '/')
		buf_add_string(buf, "file://");
	for (; *file != '\0'; file++) {
		if (strchr(plain, *file))
			buf_add_char(buf, *file);
		else
			buf_printf(buf, "%%%02X", (unsigned char)*file);
	}
}

static void write_physical(struct json_writer *json, const struct lint_entry *entry)
{
	AUTO(buf_done) struct buf uri = BUF_INIT((size_t)64 << 10);

	add_uri(&uri, entry->file);
	json_write_object(json, "physicalLocation");
	JSON_WRITE_TEXTS_LINE(json, "artifactLocation", { "uri", buf_string(&uri) });
	if (entry->at.line > 0) {
		json_write_object_line(json, "region");
		json_write_integer(json, "startLine", entry->at.line);
		json_write_integer(json, "startColumn", entry->at.column);
		json_write_object_end(json);
	}
	json_write_object_end(json);
}

static void write_logical(struct json_writer *json, const struct lint_entry *entry)
{
	AUTO(buf_done) struct buf name = BUF_INIT((size_t)64 << 10);

	buf_printf(&name, "%s%s%s", entry->object, *entry->finding.path != '\0' ? " " : "",
		   entry->finding.path);
	json_write_array(json, "logicalLocations");
	JSON_WRITE_TEXTS_LINE(json, NULL, { "fullyQualifiedName", buf_string(&name) });
	json_write_array_end(json);
}

static void write_locations(struct json_writer *json, const struct field *field, const void *object)
{
	const struct lint_entry *entry = object;

	json_write_array(json, field->name);
	json_write_object(json, NULL);
	if (*entry->file != '\0')
		write_physical(json, entry);
	if (*entry->object != '\0')
		write_logical(json, entry);
	json_write_object_end(json);
	json_write_array_end(json);
}

static void write_message(struct json_writer *json, const struct field *field, const void *object)
{
	const struct lint_finding *finding = &((const struct lint_entry *)object)->finding;
	AUTO(buf_done) struct buf text = BUF_INIT(LINT_REPORT_BYTES_MAX);

	buf_add_string(&text, finding->message);
	if (*finding->fix != '\0')
		buf_printf(&text, "\nWrite:\n%s", finding->fix);
	JSON_WRITE_TEXTS_LINE(json, field->name, { "text", buf_string(&text) });
}

static void write_rule_index(struct json_writer *json, const struct field *field,
			     const void *object)
{
	const struct lint_entry *entry = object;

	json_write_integer(json, field->name, (int64_t)lint_rule_id(entry->finding.rule));
}

static const struct field result_fields[] = {
	TEXT(ENTRY, finding.rule, "ruleId"),
	FIELD_HOOK("ruleIndex", .write = write_rule_index),
	SEVERITY(ENTRY, finding.severity, level_word, "level"),
	FIELD_HOOK("message", .write = write_message),
	FIELD_HOOK("locations", .write = write_locations),
	FIELD_END,
};

static const struct field run_fields[] = {
	FIELD_OBJECT(tool_fields, "tool"),
	FIELD_FIXED("columnKind", "unicodeCodePoints"),
	FIELD_LIST(struct sarif, results, result_count, result_fields, "results",
		   .flags = FIELD_ALWAYS),
	FIELD_END,
};

static const struct field file_fields[] = {
	FIELD_FIXED("$schema", SARIF_SCHEMA),
	FIELD_FIXED("version", "2.1.0"),
	FIELD_LIST(struct sarif_file, runs, count, run_fields, "runs"),
	FIELD_END,
};

int lint_sarif_write(const struct lint_report *report, const char *version, struct buf *buf,
		     struct err *err)
{
	const struct sarif run = { version, lint_rules(), LINT_RULE_COUNT, report->list.at,
				   report->list.count };
	const struct sarif_file file = { &run, 1 };

	field_write_page(file_fields, &file, buf);
	return check_size(buf, err);
}
