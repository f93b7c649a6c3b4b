#include "feature/lint/core/lint_rule.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"

const char *lint_severity_name(enum lint_severity severity)
{
	static const char *const names[] = { "info", "warning", "error" };
	return names[severity];
}

const struct lint_rule *lint_rules(void)
{
	static const struct lint_rule rules[] = {
#define X(identifier, severity, name, check, what, cure)                                           \
	{ LINT_##severity, name, what, cure, true },
#define T X
#define N(identifier, severity, name, what, cure) { LINT_##severity, name, what, cure, false },
#define S(identifier, severity, name, problem, what, cure)                                         \
	{ LINT_##severity, name, what, cure, false },
		LINT_RULE_TABLE(X, T, N, S)
#undef S
#undef N
#undef T
#undef X
	};
	return rules;
}

enum lint_rule_id lint_rule_id(const char *name)
{
	const struct lint_rule *rules = lint_rules();
	const struct lint_rule *found = ARRAY_FIND(rules, LINT_RULE_COUNT, name, name);
	CHECK(found);
	return (enum lint_rule_id)(found - rules);
}

const char *lint_count_text(struct arena *arena, size_t count, const char *what)
{
	return arena_printf(arena, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

/* In quotes, as JSON has them. */
static const char *quoted(struct arena *arena, const char *name)
{
	char *text = arena_alloc(arena, 2 * strlen(name) + 1), *to = text;
	for (; *name != '\0'; name++) {
		if (*name == '"' || *name == '\\')
			*to++ = '\\';
		*to++ = *name;
	}
	*to = '\0';
	return text;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text_is_digit(c) || c == '_' ||
	       c == '-';
}

const char *lint_path_member(struct arena *arena, const char *path, const char *name)
{
	size_t before = strlen(path), size = 0;
	char *text;

	while (is_plain(name[size]))
		size++;
	if (size == 0 || name[size] != '\0')
		return arena_printf(arena, "%s[\"%s\"]", path, quoted(arena, name));
	/* Not formatted: this is called for each place that lint looks at. */
	text = arena_alloc(arena, before + size + 2);
	memcpy(text, path, before + 1);
	if (before > 0)
		text[before++] = '.';
	memcpy(text + before, name, size);
	return text;
}

const char *lint_member_name(const char *path)
{
	const char *found = path, *dot = strrchr(path, '.');
	for (const char *at = path; (at = strstr(at, "[\"")) != NULL; at++)
		found = at;
	return found > path || !dot ? found : dot + 1;
}

const char *lint_shown_path(const char *path)
{
	return strncmp(path, "spec.", 5) == 0 ? path + 5 : path;
}

struct lint_finding *lint_add(struct arena *arena, struct lint_findings *findings,
			      enum lint_rule_id rule, const char *path, const char *message,
			      const char *fix)
{
	const struct lint_rule *row = &lint_rules()[rule];
	struct lint_finding *finding = VEC_ADD(arena, &findings->list);
	*finding = (struct lint_finding){ row->severity, row->name, path, message, fix, false };
	return finding;
}

void lint_add_problem(struct arena *arena, struct lint_findings *findings, enum lint_rule_id id,
		      const struct object_problem *problem)
{
	struct lint_finding *finding =
		lint_add(arena, findings, id == LINT_RULE_COUNT ? lint_rule_id(problem->rule) : id,
			 problem->path, problem->message, problem->fix);

	if (problem->warning)
		finding->severity = LINT_WARNING;
	finding->decided = problem->decided;
}
