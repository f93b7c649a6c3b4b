/* docs/REASONS.md, made from the tables of core/model/reason.h: for the tool that writes it and the test
 * that compares. */
#ifndef TEST_SUPPORT_REASONS_MARKDOWN_H
#define TEST_SUPPORT_REASONS_MARKDOWN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/reason.h"

struct reasons_row {
	const char *where, *word, *meaning, *cure;
};

#define REASONS_SEVERITY_NORMAL "Event"
#define REASONS_SEVERITY_WARNING "Event (Warning)"

static const struct reasons_row reasons_rows[] = {
#define X(identifier, severity, word, meaning, cure)                                               \
	{ REASONS_SEVERITY_##severity, word, meaning, cure },
	REASON_EVENT_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, cure) { "condition", word, meaning, cure },
		REASON_CONDITION_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, cure) { "group", word, meaning, cure },
			REASON_GROUP_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, cure) { "worker", word, meaning, cure },
				REASON_WORKER_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, cure) { "termination", word, meaning, cure },
					REASON_TERMINATE_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, cure) { "demand", word, meaning, cure },
						REASON_DEMAND_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, cure) { "backoff cause", word, meaning, cure },
							REASON_CAUSE_TABLE(X)
#undef X
};

#define REASONS_ROW_COUNT (sizeof(reasons_rows) / sizeof(reasons_rows[0]))

static const char reasons_head[] =
	"# Reasons\n\n"
	"<!-- Made from the tables of src/core/model/reason.h: make docs -->\n\n"
	"Every change, and every refusal to change, has one of these reasons. The column *where*:\n\n"
	"| where | look at |\n| --- | --- |\n"
	"| Event | `kubectl describe raycluster NAME`, `kubectl get events` (not in sidecar mode) |\n"
	"| condition | `conditions` of the plan and of the RayClusterAutoscaler, the log |\n"
	"| group | `groups[].reason` of the plan, the log line `scaled` |\n"
	"| worker | `workers[].reason` of the plan: why a worker is kept or terminated |\n"
	"| termination | `groups[].toTerminate[].reason` of the plan: why a worker is terminated |\n"
	"| demand | `infeasible` and `unserved` of the plan: why a request is not served |\n"
	"| backoff cause | `groups[].backoff.cause` of the plan |\n\n"
	"The table is sorted by reason. A reason is never renamed, so alerts and searches can rely on it.\n\n"
	"| reason | where | means | what to do |\n| --- | --- | --- | --- |\n";

static const char reasons_tail[] =
	"\n## When is a worker called blocked?\n\n"
	"`ScaleDownBlocked` answers \"why is my GPU worker kept?\". It is reported for a worker when one\n"
	"of these holds for longer than the idle timeout of its group:\n\n"
	"* It has accelerators (or no worker of its group has any), none of them is in use, and Ray\n"
	"  reports it busy: a small actor, a task on the CPU, objects, a placement group. The message\n"
	"  has Ray's report.\n"
	"* It is idle and kept: for `request_resources`, for pending demand, for another host of its\n"
	"  replica, because something in the cluster is invalid or suspended, or because Ray has not\n"
	"  accepted its drain. Workers kept by `minReplicas` are not reported.\n"
	"* It is busy and its group is above `maxReplicas`.\n\n"
	"There is one Event per group and kind; its message names the first worker and counts the others.\n\n"
	"## How often Events are sent\n\n"
	"A new fact is an Event of its own. A fact that persists is counted in the existing Event, after 30\n"
	"seconds, later every 15 minutes. Per RayCluster at most 25 new Events are sent at once, then one\n"
	"every 30 seconds; further ones are counted in the last one of the same reason and group.\n";

/* By word, and by the order of the tables above within a word. */
static int reasons_compare(const void *a, const void *b)
{
	const struct reasons_row *left = *(const struct reasons_row *const *)a;
	const struct reasons_row *right = *(const struct reasons_row *const *)b;
	int order = strcmp(left->word, right->word);

	return order ? order : (left > right) - (left < right);
}

static void reasons_print(FILE *file)
{
	const struct reasons_row *sorted[REASONS_ROW_COUNT];

	for (size_t i = 0; i < REASONS_ROW_COUNT; i++)
		sorted[i] = &reasons_rows[i];
	qsort(sorted, REASONS_ROW_COUNT, sizeof(sorted[0]), reasons_compare);
	fputs(reasons_head, file);
	for (size_t i = 0; i < REASONS_ROW_COUNT; i++)
		fprintf(file, "| `%s` | %s | %s | %s |\n", sorted[i]->word, sorted[i]->where,
			sorted[i]->meaning, sorted[i]->cure);
	fputs(reasons_tail, file);
}

#endif
