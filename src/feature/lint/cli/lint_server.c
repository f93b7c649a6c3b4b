#include "feature/lint/cli/lint_server.h"

#include <string.h>

#include "base/memory.h"
#include "feature/lint/core/lint_rule.h"
#include "kube/kube_path.h"

/* Sent at a time. */
#define BATCH 50

/* Of an object that exists it is a merge patch. */
static struct fetch fetch_of(const struct lint_question *question, const char *namespace_,
			     bool exists, struct arena *arena)
{
	char *path = kube_path(arena, question->api_version,
			       !question->namespaced         ? NULL :
			       *question->namespace_ != '\0' ? question->namespace_ :
							       namespace_,
			       question->plural, exists ? question->name : NULL, NULL);

	path = kube_path_query(arena, path, "dryRun", "All");
	return (struct fetch){
		.path = kube_path_managed(arena, kube_path_query(arena, path, "fieldValidation",
								 "Strict")),
		.verb = exists ? KUBE_MERGE_PATCH : KUBE_CREATE,
		.body = question->body,
	};
}

/* The text of the server, without the request before it and the reason. */
static const char *said(const struct err *err)
{
	const char *text = strstr(err->text, ": "), *after;

	text = text ? text + 2 : err->text;
	after = strstr(text, ": ");
	return after ? after + 2 : text;
}

/* The user's own rights do not allow the question. */
static bool is_denied(const struct fetch *fetch)
{
	return fetch->status == 403 && strstr(fetch->err.text, " cannot ");
}

/* Without a Status of the object's own, as for a namespace that is not there. */
static bool is_unknown_kind(const struct fetch *fetch)
{
	return fetch->status == 404 && !strstr(fetch->err.text, "not found");
}

static void add_answer(const struct lint_question *question, const struct fetch *fetch,
		       struct lint_report *report)
{
	const struct lint_rule *rule = &lint_rules()[LINT_RULE_SERVER_REFUSES];
	struct lint_entry entry = question->entry;
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	entry.finding.rule = rule->name;
	entry.finding.severity = is_denied(fetch) ? LINT_WARNING : rule->severity;
	entry.finding.fix = "";
	entry.finding.message =
		is_unknown_kind(fetch) ?
			arena_printf(&arena,
				     "the API server does not know the kind of %s: install the "
				     "custom resource definitions of KubeRay or rayscaler",
				     question->what) :
		is_denied(fetch) ?
			arena_printf(&arena, "the API server could not be asked about %s: %s",
				     question->what, fetch->err.text) :
			arena_printf(&arena, "the API server refuses %s: %s", question->what,
				     said(&fetch->err));
	lint_report_add(report, &entry);
}

/* The server gave a verdict, and not an error of the connection or the credentials. */
static bool is_verdict(const struct fetch *fetch)
{
	return fetch->err.kind == ERR_NONE || (fetch->status >= 400 && fetch->status < 500 &&
					       fetch->status != 401 && fetch->status != 429);
}

static int ask_batch(struct connection *connection, const struct lint_question *questions,
		     size_t count, struct lint_report *report, struct err *err)
{
	const char *namespace_ = api_connection_namespace(connection);
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct fetch fetches[BATCH];
	int result = 0;

	for (size_t i = 0; i < count; i++)
		fetches[i] = fetch_of(&questions[i], namespace_, false, &arena);
	api_connection_fetch(connection, fetches, count);
	for (size_t i = 0; i < count; i++) {
		if (fetches[i].status == 409 && *questions[i].name != '\0') {
			struct err ignored;

			fetch_done(&fetches[i]);
			fetches[i] = fetch_of(&questions[i], namespace_, true, &arena);
			(void)api_connection_fetch_one(connection, &fetches[i], &ignored);
		}
		if (!is_verdict(&fetches[i])) {
			*err = fetches[i].err;
			result = -1;
		} else if (fetches[i].err.kind != ERR_NONE) {
			add_answer(&questions[i], &fetches[i], report);
		}
		fetch_done(&fetches[i]);
	}
	return result;
}

int lint_server_ask(const struct api_connection_flags *flags, struct lint_report *report,
		    struct err *err)
{
	AUTO(api_connection_done) struct connection *connection = api_connection_new(flags, err);
	size_t count = report->questions.count;

	if (!connection)
		return -1;
	for (size_t i = 0; i < count; i += BATCH)
		if (ask_batch(connection, &report->questions.at[i],
			      count - i < BATCH ? count - i : BATCH, report, err))
			return -1;
	return 0;
}
