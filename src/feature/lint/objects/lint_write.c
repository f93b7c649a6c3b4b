#include "feature/lint/objects/lint_write.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/json_write.h"
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

static void write_entry(struct json_writer *json, const struct lint_entry *entry)
{
	const struct lint_finding *finding = &entry->finding;

	json_write_object(json, NULL);
	JSON_WRITE_TEXTS(json, { "severity", lint_severity_name(finding->severity) },
			 { "rule", finding->rule }, { "object", entry->object },
			 { "file", entry->file }, { "path", finding->path });
	json_write_integer(json, "line", entry->at.line);
	json_write_integer(json, "column", entry->at.column);
	JSON_WRITE_TEXTS(json, { "message", finding->message }, { "fix", finding->fix });
	json_write_object_end(json);
}

int lint_json_write(const struct lint_report *report, struct buf *buf, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, buf, JSON_STYLE_PRETTY);
	json_write_array(&json, NULL);
	for (size_t i = 0; i < report->list.count; i++)
		write_entry(&json, &report->list.at[i]);
	json_write_array_end(&json);
	buf_add_char(buf, '\n');
	return check_size(buf, err);
}

/* ---- SARIF ---- */

static const char *level(enum lint_severity severity)
{
	static const char *const levels[] = { "note", "warning", "error" };

	return levels[severity];
}

static void write_rules(struct json_writer *json)
{
	const struct lint_rule *rules = lint_rules();

	json_write_array(json, "rules");
	for (size_t i = 0; i < LINT_RULE_COUNT; i++) {
		json_write_object(json, NULL);
		json_write_text(json, "id", rules[i].name);
		JSON_WRITE_TEXTS_LINE(json, "shortDescription", { "text", rules[i].what });
		JSON_WRITE_TEXTS_LINE(json, "help", { "text", rules[i].cure });
		JSON_WRITE_TEXTS_LINE(json, "defaultConfiguration",
				      { "level", level(rules[i].severity) });
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

static void write_tool(struct json_writer *json, const char *version)
{
	json_write_object(json, "tool");
	json_write_object(json, "driver");
	JSON_WRITE_TEXTS(json, { "name", "rayscaler" }, { "version", version });
	write_rules(json);
	json_write_object_end(json);
	json_write_object_end(json);
}

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
	AUTO(buf_done) struct buf uri;

	buf_init(&uri, (size_t)64 << 10);
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
	AUTO(buf_done) struct buf name;

	buf_init(&name, (size_t)64 << 10);
	buf_printf(&name, "%s%s%s", entry->object, *entry->finding.path != '\0' ? " " : "",
		   entry->finding.path);
	json_write_array(json, "logicalLocations");
	JSON_WRITE_TEXTS_LINE(json, NULL, { "fullyQualifiedName", buf_string(&name) });
	json_write_array_end(json);
}

static void write_locations(struct json_writer *json, const struct lint_entry *entry)
{
	json_write_array(json, "locations");
	json_write_object(json, NULL);
	if (*entry->file != '\0')
		write_physical(json, entry);
	if (*entry->object != '\0')
		write_logical(json, entry);
	json_write_object_end(json);
	json_write_array_end(json);
}

static void write_result_message(struct json_writer *json, const struct lint_finding *finding)
{
	AUTO(buf_done) struct buf text;

	buf_init(&text, LINT_REPORT_BYTES_MAX);
	buf_add_string(&text, finding->message);
	if (*finding->fix != '\0')
		buf_printf(&text, "\nWrite:\n%s", finding->fix);
	JSON_WRITE_TEXTS_LINE(json, "message", { "text", buf_string(&text) });
}

static void write_result(struct json_writer *json, const struct lint_entry *entry)
{
	const struct lint_finding *finding = &entry->finding;

	json_write_object(json, NULL);
	json_write_text(json, "ruleId", finding->rule);
	json_write_integer(json, "ruleIndex", (int64_t)lint_rule_id(finding->rule));
	json_write_text(json, "level", level(finding->severity));
	write_result_message(json, finding);
	write_locations(json, entry);
	json_write_object_end(json);
}

int lint_sarif_write(const struct lint_report *report, const char *version, struct buf *buf,
		     struct err *err)
{
	struct json_writer json;

	json_write_init(&json, buf, JSON_STYLE_PRETTY);
	json_write_object(&json, NULL);
	JSON_WRITE_TEXTS(&json, { "$schema", SARIF_SCHEMA }, { "version", "2.1.0" });
	json_write_array(&json, "runs");
	json_write_object(&json, NULL);
	write_tool(&json, version);
	json_write_text(&json, "columnKind", "unicodeCodePoints");
	json_write_array(&json, "results");
	for (size_t i = 0; i < report->list.count; i++)
		write_result(&json, &report->list.at[i]);
	json_write_array_end(&json);
	json_write_object_end(&json);
	json_write_array_end(&json);
	json_write_object_end(&json);
	buf_add_char(buf, '\n');
	return check_size(buf, err);
}
