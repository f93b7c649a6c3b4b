#include "cli/lint_text.h"

#include <string.h>

#include "base/memory.h"
#include "cli/table.h"
#include "codec/text/text.h"
#include "core/lint/lint_rule.h"

#define FIX_INDENT 4
#define RULE_WIDTH 78

/* Line by line, because a fix may have several lines. */
static void add_fix(struct buf *buf, const char *fix)
{
	while (*fix != '\0') {
		size_t size = strcspn(fix, "\n");
		AUTO(memory_free_string) char *line = memory_strndup(fix, size);

		buf_printf(buf, "%*s", FIX_INDENT, "");
		text_add_clean(buf, line);
		buf_add_char(buf, '\n');
		fix += size + (fix[size] == '\n');
	}
}

static void add_place(struct buf *buf, const struct lint_entry *entry)
{
	if (*entry->file == '\0') {
		text_add_clean(buf, entry->object);
		if (*entry->finding.path != '\0') {
			buf_add_string(buf, ": ");
			text_add_clean(buf, entry->finding.path);
		}
		return;
	}
	text_add_clean(buf, entry->file);
	if (entry->at.line > 0)
		buf_printf(buf, ":%u:%u", entry->at.line, entry->at.column);
}

void lint_text_write(const struct lint_report *report, bool colours, struct buf *buf)
{
	static const enum table_colour severities[] = {
		[LINT_ERROR] = TABLE_BAD, [LINT_WARNING] = TABLE_BUSY, [LINT_INFO] = TABLE_FAINT
	};

	VEC_EACH(const struct lint_entry, entry, &report->list) {
		add_place(buf, entry);
		buf_add_string(buf, ": ");
		table_add_text(buf, severities[entry->finding.severity],
			       lint_severity_name(entry->finding.severity), colours);
		buf_add_string(buf, ": ");
		text_add_clean(buf, entry->finding.message);
		buf_printf(buf, " [%s]\n", entry->finding.rule);
		add_fix(buf, entry->finding.fix);
	}
}

static void add_count(struct buf *buf, size_t count, const char *noun)
{
	buf_printf(buf, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

void lint_text_write_summary(const struct lint_report *report, bool live, struct buf *buf)
{
	if (!live) {
		add_count(buf, report->files, "file");
		buf_add_string(buf, ", ");
	}
	add_count(buf, report->objects, "RayCluster");
	buf_add_string(buf, ": ");
	add_count(buf, report->counts[LINT_ERROR], "error");
	buf_add_string(buf, ", ");
	add_count(buf, report->counts[LINT_WARNING], "warning");
	buf_add_string(buf, ", ");
	add_count(buf, report->counts[LINT_INFO], "info");
	if (report->dropped > 0)
		buf_printf(buf, "; %zu of them are not shown", report->dropped);
}

void lint_text_write_rules(struct buf *buf)
{
	const struct lint_rule *rules = lint_rules();

	for (size_t i = 0; i < LINT_RULE_COUNT; i++) {
		buf_printf(buf, "%s (%s)\n", rules[i].name, lint_severity_name(rules[i].severity));
		buf_printf(buf, "%*s", FIX_INDENT, "");
		text_add_wrapped(buf, rules[i].what, FIX_INDENT, FIX_INDENT, RULE_WIDTH);
		buf_printf(buf, "\n%*s", FIX_INDENT, "");
		text_add_wrapped(buf, rules[i].cure, FIX_INDENT, FIX_INDENT, RULE_WIDTH);
		buf_add_char(buf, '\n');
	}
}
