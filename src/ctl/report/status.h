/* GET /status, and of a RayCluster /status, /snapshot, /gpu-holders and the pages of features, each
 * with /NAMESPACE/NAME. These are answered by the next pass over the cluster, which is started for them,
 * so no answers are stored; all but the first two after further requests to Ray
 * (ctl/report/list_page.h). A thread of the pool writes them; the list of all clusters is written
 * while it is read. Answers count for the namespace that they are about (net/serve.h). Values that
 * may be secret are left out of a snapshot: codec/objects/snapshot_json. Owned by ctl/controller;
 * requests belong to net/serve. Decisions must not use it. */
#ifndef CTL_REPORT_STATUS_H
#define CTL_REPORT_STATUS_H

#include <stdbool.h>

#include "ctl/shared/control.h"

#define STATUS_WAIT_MS 5000 /* then 504 */
/* 421 Misdirected Request: another replica that leads answers the same request. */
#define STATUS_NOT_LEADING 421

struct pass_decision;
struct serve_request;
struct status;

#define STATUS_NAME_MAX 253 /* of an object in Kubernetes */

/* /PAGE/NAMESPACE/NAME */
struct status_path {
	char page[STATUS_NAME_MAX + 1];
	char namespace_[STATUS_NAME_MAX + 1], name[STATUS_NAME_MAX + 1];
};

/* `path` is the client's text with %XX decoded: any bytes. false: it does not have this form. */
bool status_parse_path(const char *path, struct status_path *ret_path);

struct status *status_new(const struct control *control);
/* Those that wait get no answer (net/serve closes them). NULL is fine. */
void status_free(struct status *status);

/* Whether it is the path of all clusters' status, or one that status_parse_path accepts and that has
 * a page. */
bool status_is_list(const char *path);
bool status_has_page(const struct status *status, const struct status_path *path);

/* Answers now or later; 404 for an unknown path. all: the client may see all clusters; without it
 * their list and that of the GPU quotas are empty. */
void status_ask(struct status *status, const char *path, bool all, struct serve_request *request);

/* A listener of passes (ctl/cluster.c): answers the waiting requests from a final decision of this
 * cluster. `listener` is a struct status; NULL is fine. */
void status_decided(void *listener, const struct pass_decision *decision);
/* The cluster waits until its objects are read: so do no requests for it. */
void status_unread(struct status *status, const char *namespace_, const char *name);
/* The cluster is deleted, or not ours any more. */
void status_forget(void *listener, const char *namespace_, const char *name);

#endif
