#include "ctl/report/trouble.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "core/model/reason.h"

#define LINE_TOKENS 10 /* with one token a second: a line every ten seconds */
#define TOKENS_PER_SECOND 1

void trouble_lines_init(struct trouble_lines *lines, int64_t now_ms)
{
	lines->held_back = 0;
	token_bucket_init(&lines->bucket, TOKENS_PER_SECOND, TROUBLE_LINES * LINE_TOKENS, now_ms);
}

static bool lines_take(struct trouble_lines *lines, int64_t now_ms)
{
	return token_bucket_take(&lines->bucket, LINE_TOKENS, now_ms);
}

bool trouble_unreadable(struct trouble_lines *lines, const char *message, const char *kind,
			const char *key, const char *problem, int64_t now_ms)
{
	char held_back[32];

	if (!lines_take(lines, now_ms)) {
		lines->held_back++;
		return false;
	}
	(void)snprintf(held_back, sizeof(held_back), "%llu", (unsigned long long)lines->held_back);
	lines->held_back = 0;
	log_error(message, kind, key, "error", problem, "linesHeldBack", held_back, NULL);
	return true;
}

void trouble_init(struct trouble *trouble, int64_t now_ms)
{
	*trouble = (struct trouble){ .conditions = { .text = NULL } };
	trouble_lines_init(&trouble->condition_lines, now_ms);
	trouble_lines_init(&trouble->pod_lines, now_ms);
}

void trouble_done(struct trouble *trouble)
{
	log_repeat_done(&trouble->conditions);
}

static bool is_trouble(const struct plan_condition *condition)
{
	bool is_true = strcmp(condition->status, "True") == 0;

	if (!strcmp(condition->type, "InvalidRequest") ||
	    !strcmp(condition->type, CONDITION_FOREIGN_PODS) ||
	    !strcmp(condition->type, "ReplicasReverted"))
		return is_true;
	return (!strcmp(condition->type, "ScalingActive") ||
		!strcmp(condition->type, "AbleToScale")) &&
	       !is_true;
}

/* The conditions that report a problem, as one text; "" when there is none. */
static const char *text_of(const struct plan *plan, struct arena *arena)
{
	const char *text = "";

	VEC_EACH(const struct plan_condition, condition, &plan->conditions) {
		if (is_trouble(condition))
			text = arena_printf(arena, "%s%s%s: %s", text, text[0] ? "; " : "",
					    condition->reason, condition->message);
	}
	return text;
}

void trouble_conditions(struct trouble *trouble, const char *cluster, const struct plan *plan,
			int64_t now_ms)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *text = text_of(plan, &scratch);
	const char *last = trouble->conditions.text ? trouble->conditions.text : "";

	if (strcmp(text, last) != 0 && !lines_take(&trouble->condition_lines, now_ms))
		return;
	if (text[0])
		log_repeat_error(&trouble->conditions, "condition", cluster, text);
	else
		log_repeat_end(&trouble->conditions, "condition", cluster);
}
