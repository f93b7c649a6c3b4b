#include <stdio.h>
#include <string.h>

#include "feature/repair/core/repair.h"

#define DETAIL_BYTES_MAX 103

/* ---- what is read ---- */

/* The status of a published condition while it is sick; NULL: it is not published. */
static const char *sick_status(const char *type)
{
#define X(known, sick, source)                                                                     \
	if (strcmp(type, known) == 0)                                                              \
		return sick;
	REPAIR_CONDITION_TABLE(X)
#undef X
	return NULL;
}

const char *repair_condition_hint(const char *entry, char text[static NEAREST_HINT_SIZE])
{
	char type[NEAREST_BYTES_MAX + 1];
	struct nearest nearest;

	snprintf(type, sizeof(type), "%.*s", (int)strcspn(entry, "="), entry);
	nearest = nearest_start(sick_status(type) ? "" : type);
#define X(known, sick, source) nearest_offer(&nearest, known);
	REPAIR_CONDITION_TABLE(X)
#undef X
	return nearest_hint(&nearest, text);
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

/* ---- the sign ---- */

static void offer(struct repair_signal *first, const struct repair_signal *signal)
{
	if (!first->name || (signal->acts && !first->acts))
		*first = *signal;
}

/* Kubernetes taints a cordoned Node. TIME_NONE: unknown. */
static time_ms cordoned_since(const struct node *node)
{
	const struct taint *taint = ARRAY_FIND(node->taints, node->taint_count, key,
					       "node.kubernetes.io/unschedulable");

	return taint ? taint->added : TIME_NONE;
}

bool repair_signal_of(const struct settings *settings, const struct node *node, struct arena *arena,
		      struct repair_signal *ret_signal)
{
	int64_t after_ms = settings->repair_after_seconds * MS_PER_SECOND;
	struct repair_signal first = { .name = NULL };

	ARRAY_EACH(const struct taint, taint, node->taints, node->taint_count)
		if (reads_taint(settings, taint->key))
			offer(&first,
			      &(struct repair_signal){ REPAIR_BY_TAINT, taint->key, "",
						       taint->added, true, after_ms, NULL });
	ARRAY_EACH(const struct condition, condition, node->conditions, node->condition_count)
		if (repair_reads_condition(settings, condition))
			offer(&first,
			      &(struct repair_signal){
				      REPAIR_BY_CONDITION, condition->type,
				      arena_cut(arena,
						condition->message[0] != '\0' ? condition->message :
										condition->reason,
						DETAIL_BYTES_MAX),
				      condition->last_transition,
				      acts_by_settings(settings, condition), after_ms, NULL });
	if (node->unschedulable)
		offer(&first, &(struct repair_signal){
				      REPAIR_BY_CORDON, "", "", cordoned_since(node),
				      settings->repair_cordon_seconds > 0,
				      settings->repair_cordon_seconds * MS_PER_SECOND, NULL });
	*ret_signal = first;
	return first.name != NULL;
}

bool drain_request_is_complete(const struct drain_request *request)
{
	const struct condition *complete =
		condition_find(request->conditions, request->condition_count, DRAIN_COMPLETE);

	return complete && strcmp(complete->status, "True") == 0;
}

static const struct strings *names_in(const struct drain_request *request, const char *namespace_)
{
	static const struct strings none;
	const struct drain_pods *pods =
		ARRAY_FIND(request->pods, request->pods_count, namespace_, namespace_);

	return pods ? &pods->names : &none;
}

bool drain_request_names(const struct drain_request *request, const struct pod *pod)
{
	const struct strings *names = names_in(request, pod->namespace_);

	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->at[i], pod->name) == 0)
			return true;
	return !request->has_pods;
}

bool repair_signal_of_request(const struct drain_request *request, const char *namespace_,
			      struct arena *arena, struct repair_signal *ret_signal)
{
	const struct strings *pods = names_in(request, namespace_);

	if (request->node[0] == '\0' || drain_request_is_complete(request) ||
	    (request->has_pods && pods->count == 0))
		return false;
	*ret_signal = (struct repair_signal){
		.source = REPAIR_BY_REQUEST,
		.name = arena_printf(arena, "%s/%s", request->namespace_, request->name),
		.detail = arena_cut(arena,
				    request->reason[0] != '\0' ? request->reason : request->check,
				    DETAIL_BYTES_MAX),
		.since = request->created,
		.acts = true,
		.pods = request->has_pods ? pods : NULL,
	};
	return true;
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
		.pods = ARENA_PUT(arena, (struct strings){ ARENA_PUT(arena, sign->pod->name), 1 }),
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
