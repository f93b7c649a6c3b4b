/* docs/REASONS.md, made from the tables of core/reason.h: for the tool that writes it and the test
 * that compares. */
#ifndef TEST_REASONS_MARKDOWN_H
#define TEST_REASONS_MARKDOWN_H

#include <stdio.h>

#include "core/reason.h"

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
#define X(identifier, word, meaning, cure) { "condition", word, meaning, cure },
		REASON_CONDITION_TABLE(X)
#undef X
#define X(identifier, word, meaning, cure) { "group", word, meaning, cure },
			REASON_GROUP_TABLE(X)
#undef X
#define X(identifier, word, meaning, cure) { "worker", word, meaning, cure },
				REASON_WORKER_TABLE(X)
#undef X
#define X(identifier, word, meaning, cure) { "termination", word, meaning, cure },
					REASON_TERMINATE_TABLE(X)
#undef X
#define X(identifier, word, meaning, cure) { "demand", word, meaning, cure },
						REASON_DEMAND_TABLE(X)
#undef X
#define X(identifier, word, meaning, cure) { "back-off cause", word, meaning, cure },
							REASON_CAUSE_TABLE(X)
#undef X
};

#define REASONS_ROW_COUNT (sizeof(reasons_rows) / sizeof(reasons_rows[0]))

static const char reasons_head[] =
	"# Reasons\n\n"
	"<!-- Made from the tables of src/core/reason.h: make docs -->\n\n"
	"Every decision gives its reasons with these words. Where they appear:\n\n"
	"| where | look at |\n| --- | --- |\n"
	"| Event | `kubectl describe raycluster NAME`, `kubectl get events` (not in sidecar mode) |\n"
	"| condition | `conditions` of the plan and of the RayClusterAutoscaler, the log |\n"
	"| group | `groups[].reason` of the plan, the log line `scaled` |\n"
	"| worker | `workers[].reason` of the plan: why a worker stays or goes |\n"
	"| termination | `groups[].toTerminate[].reason` of the plan: why a worker goes |\n"
	"| demand | `infeasible` and `unserved` of the plan: why a request is not served |\n"
	"| back-off cause | `groups[].backoff.cause` of the plan |\n\n"
	"A name is never changed, so that it can be searched for and alerted on.\n\n"
	"| reason | where | means | what to do |\n| --- | --- | --- | --- |\n";

static const char reasons_tail[] =
	"\n## When is a worker called blocked?\n\n"
	"`ScaleDownBlocked` answers \"my GPU worker does not go away: why?\". It is said of a worker\n"
	"of which one of these has been true for longer than the idle timeout of its group:\n\n"
	"* It has accelerators (or its group has none at all), none of them is in use, and Ray calls\n"
	"  it busy all the same: a small actor, a task on the CPU, objects, a placement group. The\n"
	"  message says what Ray reports.\n"
	"* It is idle and stays: for `request_resources`, for pending demand, for another host of its\n"
	"  replica, because something in the cluster is invalid or suspended, or because Ray has not\n"
	"  accepted its drain. Workers that `minReplicas` keeps are not meant: that is as asked for.\n"
	"* It is busy and its group is above `maxReplicas`.\n\n"
	"There is one Event for a group and kind; its message names the first worker and counts the others.\n\n"
	"## How often Events are sent\n\n"
	"Something new is an Event of its own. What goes on is counted in the Event that is there: after\n"
	"30 seconds, then after twice as long each time, at most every 15 minutes, so that it outlives the\n"
	"hour for which API servers keep Events. A cluster at rest costs no request. Of one RayCluster at\n"
	"most 25 new Events are sent at once and then one every 30 seconds; above that they are counted in\n"
	"the last one with the same reason and group. All RayClusters together send at most 50 at once and\n"
	"10 a second. Nothing waits for an Event: what cannot be sent is lost.\n";

static void reasons_print(FILE *file)
{
	fputs(reasons_head, file);
	for (size_t i = 0; i < REASONS_ROW_COUNT; i++)
		fprintf(file, "| `%s` | %s | %s | %s |\n", reasons_rows[i].word,
			reasons_rows[i].where, reasons_rows[i].meaning, reasons_rows[i].cure);
	fputs(reasons_tail, file);
}

#endif
