/* Files for lint. Laws: any bytes give a report that is in order and whose JSON and SARIF the
 * strict reader accepts; a line is one of the text's; unreadable parts are reported once. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_document.h"
#include "feature/lint/objects/lint_write.h"

#define TEXT_BYTES_MAX ((size_t)256 << 20)

static const struct json_limits limits = {
	.bytes = TEXT_BYTES_MAX,
	.depth = 64,
	.elements = 10000000,
	.unique_names = true,
};

static void check_order(const struct lint_report *report, uint32_t lines)
{
	size_t unreadable = 0;

	for (size_t i = 0; i < report->list.count; i++) {
		const struct lint_entry *entry = &report->list.at[i];

		REQUIRE(entry->at.line <= lines);
		REQUIRE((entry->at.line == 0) == (entry->at.column == 0));
		REQUIRE(entry->finding.message[0] != '\0');
		REQUIRE(i == 0 || entry[-1].document < entry->document ||
			(entry[-1].document == entry->document &&
			 entry[-1].at.line <= entry->at.line));
		/* A document of an empty kind has no object either. */
		unreadable += entry->object[0] == '\0' &&
			      strcmp(entry->finding.rule, "cannot-be-read") == 0;
	}
	REQUIRE(unreadable <= 1);
}

static void check_written(const struct lint_report *report, bool sarif)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf text;
	struct err err;

	buf_init(&text, TEXT_BYTES_MAX);
	REQUIRE((sarif ? lint_sarif_write(report, "0", &text, &err) :
			 lint_json_write(report, &text, &err)) == 0);
	REQUIRE(json_parse(buf_string(&text), text.size, &limits, &tree, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct settings settings;
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };
	struct lint_report report;
	uint32_t lines = 2; /* an error may be behind the last line end */

	/* YAML knows more line ends than \n: each takes at least one byte. */
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80;
	settings_init(&settings);
	lint_report_init(&report, &arena);
	lint_text_add(&report, "f", (const char *)data, size, &context);
	lint_report_finish(&report, &context);
	REQUIRE(report.files == 1);
	check_order(&report, lines);
	check_written(&report, false);
	check_written(&report, true);
	return 0;
}
