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
	*trouble = (struct trouble){ .conditions = MAP_INIT };
	trouble_lines_init(&trouble->condition_lines, now_ms);
	trouble_lines_init(&trouble->pod_lines, now_ms);
}

/* A condition that was logged. */
struct begun {
	const char *type;
	char *reason, *text; /* of its last line; `text` decides whether it has changed */
	uint64_t count;      /* decisions with it */
};

static void begun_done(void *value)
{
	struct begun *begun = value;

	memory_free(begun->reason);
	memory_free(begun->text);
}

void trouble_done(struct trouble *trouble)
{
	map_drop_all(&trouble->conditions, begun_done);
}

/* ScalingActive and AbleToScale are True at rest, all others False or absent. */
static bool is_at_rest(const struct plan_condition *condition)
{
	bool is_true = strcmp(condition->status, "True") == 0;

	return is_true == (!strcmp(condition->type, "ScalingActive") ||
			   !strcmp(condition->type, "AbleToScale"));
}

/* Conditions of clusters that work. */
static bool is_notice(const struct plan_condition *condition)
{
	return !strcmp(condition->type, "ScalingLimited") || condition->notice ||
	       (condition->aside && strcmp(condition->type, CONDITION_SECOND_CONTROLLER) != 0);
}

static void log_begun(struct trouble *trouble, const char *cluster,
		      const struct plan_condition *condition, int64_t now_ms)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *reason = reason_word(condition->reason);
	const char *line = arena_printf(&scratch, "%s: %s", reason, condition->message);
	/* The message of a limit has figures of the demand. */
	const char *text = strcmp(condition->type, "ScalingLimited") ? line : reason;
	struct begun *begun = map_get(&trouble->conditions, condition->type);

	if (begun)
		begun->count++;
	if (begun && !strcmp(begun->text, text))
		return;
	if (!lines_take(&trouble->condition_lines, now_ms))
		return;
	if (!begun) {
		begun = map_make(&trouble->conditions, condition->type, sizeof(*begun));
		begun->count = 1;
	}
	memory_set_string(&begun->reason, reason);
	memory_set_string(&begun->text, text);
	log_write(is_notice(condition) ? LOG_INFO : LOG_WARNING, "condition", "object", cluster,
		  "condition", condition->type, "error", line, NULL);
}

static void log_ended(struct trouble *trouble, const char *cluster, const char *type,
		      int64_t now_ms)
{
	const struct begun *begun = map_get(&trouble->conditions, type);
	char count[32];

	if (!begun || !lines_take(&trouble->condition_lines, now_ms))
		return;
	(void)snprintf(count, sizeof(count), "%llu", (unsigned long long)begun->count);
	log_info("condition ended", "object", cluster, "condition", type, "reason", begun->reason,
		 "times", count, NULL);
	map_drop(&trouble->conditions, type, begun_done);
}

void trouble_conditions(struct trouble *trouble, const char *cluster, const struct plan *plan,
			int64_t now_ms)
{
	for (size_t i = trouble->conditions.count; i-- > 0;) {
		const char *type = trouble->conditions.entries[i].key;
		const struct plan_condition *now = VEC_FIND(&plan->conditions, type, type);

		if (!now || is_at_rest(now))
			log_ended(trouble, cluster, type, now_ms);
	}
	VEC_EACH(const struct plan_condition, condition, &plan->conditions) {
		if (!is_at_rest(condition))
			log_begun(trouble, cluster, condition, now_ms);
	}
}
