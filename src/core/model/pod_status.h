/* The words of a Pod's status about the Pod: whether it starts or fails, and why, for workers and heads alike.
 * Read from phase, reason, message, conditions and the states of its containers, init containers first.
 * The one table of the reasons for which a kubelet lets containers wait is in pod_status.c. Must not draw
 * conclusions: how long a failure may last and what follows from it is in core/decide/progress.h. */
#ifndef CORE_MODEL_POD_STATUS_H
#define CORE_MODEL_POD_STATUS_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* From this number of restarts on a container that does not run counts as one that cannot. */
#define POD_RESTARTS_MAX 3

/* Only init containers and the Ray container decide; others are named if they fail. */
enum pod_outlook {
	POD_PROCEEDS = 0, /* no failure is known: it starts, or runs */
	POD_RESTARTS, /* a container has failed and is started again, fewer than POD_RESTARTS_MAX times */
	POD_RETRIES, /* it waits for what the kubelet tries again: it may pass */
	POD_FAILS,   /* it cannot start, or failed POD_RESTARTS_MAX times */
	POD_ENDED,   /* phase Failed or Succeeded */
};

struct pod_status {
	enum pod_outlook outlook;
	bool failed; /* the text is about a failure: of the Pod, or of one of its containers */
	/* "Failed: Evicted: ...", "init container wait-gcs-ready: OOMKilled, exit code 137, 6 restarts
	 * (CrashLoopBackOff)", "Unschedulable: 0/3 nodes ...", "PodInitializing"; "": nothing. */
	const char *text;
	time_ms failed_at; /* of the container in the text; TIME_NONE: unknown, or none has ended */
};

struct pod_status pod_status_read(const struct pod *pod, struct arena *arena);
/* "the Pod is deleted since 2026-11-20T10:00:00Z and still there" */
const char *pod_deletion_text(const struct pod *pod, struct arena *arena);
/* In phase Failed or Succeeded. */
bool pod_has_ended(const struct pod *pod);
/* A failure that `old`, an earlier version of the Pod or NULL, does not have: the Pod or one of its containers
 * has failed, or waits for what it cannot get. */
bool pod_status_is_news(const struct pod *old, const struct pod *pod);

#endif
