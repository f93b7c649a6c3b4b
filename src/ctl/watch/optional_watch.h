/* A watch that the program can do without: of Events, Nodes and RayClusterAutoscalers. When the
 * API server refuses it (no right, no CRD) that is logged once and tried again every five minutes;
 * other errors are logged when they begin and end, and the informer retries them. */
#ifndef CTL_WATCH_OPTIONAL_WATCH_H
#define CTL_WATCH_OPTIONAL_WATCH_H

#include "base/err.h"
#include "kube/kube_informer.h"
#include "net/log.h"

/* It is `context` of on_change and on_synced: as the first member of its owner's struct, or with `owner`. */
struct optional_watch {
	struct kube_informer *informer;
	enum err_kind refused; /* ERR_DENIED, ERR_NOT_FOUND; ERR_NONE */
	struct log_repeat trouble;
	const char *plural;
	enum log_level level;            /* of the line about a refusal */
	const char *without, *again;     /* the messages of a refusal and of its end */
	const char *absent;              /* of a kind that is not served; NULL: `without` */
	void (*on_refused)(void *watch); /* NULL: not called */
	void *owner;                     /* of one that is not the first member */
};

/* The members from `level` on are set. Of the informer's options denied_retry_ms, on_error, on_live
 * and context are replaced. */
void optional_watch_start(struct optional_watch *watch, struct kube_client *client,
			  struct kube_informer_options informer);
/* All objects are read, or are known to be unreadable. */
bool optional_watch_known(const struct optional_watch *watch);
void optional_watch_done(struct optional_watch *watch);

#endif
