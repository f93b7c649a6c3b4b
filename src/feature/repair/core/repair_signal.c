#include "feature/repair/core/repair_signal.h"

#include <string.h>

#include "feature/repair/model/repair.h"

#define DETAIL_MAX 100

/* ---- what is read ---- */

/* The status of a published condition while it is sick; NULL: it is not published. */
static const char *sick_status(const char *type)
{
	static const struct {
		const char *type, *sick;
	} known[] = {
#define X(type, sick, source) { type, sick },
		REPAIR_CONDITION_TABLE(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].type, type) == 0)
			return known[i].sick;
	return NULL;
}

/* An entry of --repair-conditions, TYPE or TYPE=STATUS, names this condition with its status. */
static bool acts_by_settings(const struct settings *settings, const struct condition *condition)
{
	const char *sick = sick_status(condition->type);
	size_t size = strlen(condition->type);

	for (size_t i = 0; i < settings->repair_conditions.count; i++) {
		const char *entry = settings->repair_conditions.at[i];

		if (strncmp(entry, condition->type, size) != 0 ||
		    (entry[size] != '=' && entry[size] != '\0'))
			continue;
		if (strcmp(condition->status, entry[size] == '=' ? entry + size + 1 :
					      sick               ? sick :
								   "True") == 0)
			return true;
	}
	return false;
}

bool repair_reads_condition(const struct settings *settings, const struct condition *condition)
{
	const char *sick = sick_status(condition->type);

	return (sick && strcmp(condition->status, sick) == 0) ||
	       acts_by_settings(settings, condition);
}

static bool reads_taint(const struct settings *settings, const char *key)
{
#define X(taint, source) || strcmp(key, taint) == 0
	bool is_published = false REPAIR_TAINT_TABLE(X);
#undef X

	for (size_t i = 0; i < settings->repair_taints.count; i++)
		if (strcmp(key, settings->repair_taints.at[i]) == 0)
			return true;
	return is_published;
}

/* ---- the signal ---- */

/* The first one that acts counts, else the first one. */
bool repair_signal_is_first(const struct repair_signal *signal, const struct repair_signal *other)
{
	return !other->name || (signal->acts && !other->acts);
}

static void offer(struct repair_signal *first, const struct repair_signal *signal)
{
	if (repair_signal_is_first(signal, first))
		*first = *signal;
}

static const char *short_text(struct arena *arena, const char *text)
{
	return strlen(text) > DETAIL_MAX ? arena_printf(arena, "%.*s...", DETAIL_MAX, text) : text;
}

bool drain_request_is_complete(const struct drain_request *request)
{
	const struct condition *complete =
		condition_find(request->conditions, request->condition_count, DRAIN_COMPLETE);

	return complete && strcmp(complete->status, "True") == 0;
}

struct repair_signal repair_signal_of_request(const struct drain_request *request,
					      struct arena *arena)
{
	return (struct repair_signal){
		.source = REPAIR_BY_REQUEST,
		.name = arena_printf(arena, "%s/%s", request->namespace_, request->name),
		.detail = short_text(arena,
				     request->reason[0] != '\0' ? request->reason : request->check),
		.since = request->created,
		.acts = true,
	};
}

/* Kubernetes taints a cordoned Node. TIME_NONE: unknown. */
static time_ms cordoned_since(const struct node *node)
{
	ARRAY_EACH(const struct taint, taint, node->taints, node->taint_count)
		if (strcmp(taint->key, "node.kubernetes.io/unschedulable") == 0)
			return taint->added;
	return TIME_NONE;
}

bool repair_signal_of(const struct settings *settings, const struct node *node, struct arena *arena,
		      struct repair_signal *ret_signal)
{
	int64_t after_ms = settings->repair_after_seconds * MS_PER_SECOND;
	struct repair_signal first = { .name = NULL };

	ARRAY_EACH(const struct taint, taint, node->taints, node->taint_count)
		if (reads_taint(settings, taint->key))
			offer(&first, &(struct repair_signal){ REPAIR_BY_TAINT, taint->key, "",
							       taint->added, true, after_ms });
	ARRAY_EACH(const struct condition, condition, node->conditions, node->condition_count)
		if (repair_reads_condition(settings, condition))
			offer(&first, &(struct repair_signal){
					      REPAIR_BY_CONDITION, condition->type,
					      short_text(arena, condition->message[0] != '\0' ?
									condition->message :
									condition->reason),
					      condition->last_transition,
					      acts_by_settings(settings, condition), after_ms });
	if (node->unschedulable)
		offer(&first,
		      &(struct repair_signal){ REPAIR_BY_CORDON, "", "", cordoned_since(node),
					       settings->repair_cordon_seconds > 0,
					       settings->repair_cordon_seconds * MS_PER_SECOND });
	*ret_signal = first;
	return first.name != NULL;
}

struct repair_signal repair_signal_of_device(const struct settings *settings,
					     const struct device_sign *sign, struct arena *arena)
{
	const struct taint *taint = sign->taint;
	bool has_effect = strcmp(taint->effect, "NoSchedule") == 0 ||
			  strcmp(taint->effect, "NoExecute") == 0;

	return (struct repair_signal){
		.source = REPAIR_BY_DEVICE,
		.name = sign->device,
		.detail = arena_printf(arena, "taint %s%s%s", taint->key,
				       taint->value[0] != '\0' ? "=" : "", taint->value),
		.since = taint->added,
		.acts = has_effect && reads_taint(settings, taint->key),
		.after_ms = settings->repair_after_seconds * MS_PER_SECOND,
	};
}

const char *repair_signal_text(const struct repair_signal *signal, struct arena *arena)
{
	static const char *const words[] = {
		[REPAIR_BY_REQUEST] = "DrainRequest ", [REPAIR_BY_TAINT] = "taint ",
		[REPAIR_BY_CONDITION] = "condition ",  [REPAIR_BY_CORDON] = "cordoned",
		[REPAIR_BY_DEVICE] = "device ",
	};

	return arena_printf(arena, "%s%s%s%s", words[signal->source], signal->name,
			    signal->detail[0] != '\0' ? ": " : "", signal->detail);
}
