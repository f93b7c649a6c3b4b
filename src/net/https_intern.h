/* Internals of net/https, shared by https.c (requests) and https_socket.c (what calls libcurl: the
 * events of sockets, and the turns of streams). Internal to these files. */
#ifndef NET_HTTPS_INTERN_H
#define NET_HTTPS_INTERN_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "net/https.h"
#include "net/https_setup.h"
#include "net/loop.h"

struct https_socket;

/* libcurl must not be called from inside its own callbacks, and a user may start and cancel
 * requests there. So `inside` is raised around each call that can call back, starts wait as QUEUED,
 * cancels only mark, and https_settle does the rest when curl has returned. on_done never runs
 * inside https_start: a chain of requests must not recurse. */
enum https_state {
	HTTPS_QUEUED = 1, /* not yet passed to curl */
	HTTPS_ACTIVE,
	HTTPS_BROKEN, /* could not be set up or continued: reported in the next turn */
	HTTPS_DONE,   /* on_done runs */
};

struct https_request {
	struct https *https;
	struct list_item item;
	enum https_state state;
	bool added; /* to curl's multi handle */
	bool cancelled;
	bool paused; /* has delivered HTTPS_TURN_BYTES: continues in the next turn */
	size_t turn_bytes;
	int64_t turn_ms; /* of turn_bytes */
	struct https_easy easy;
	char *origin; /* for messages */
	const char *(*may_send)(void *context);
	https_open *on_open;
	https_chunk *on_chunk;
	https_done *on_done;
	void *context;
	struct loop_timer *timer;
	int64_t first_byte_deadline_ms, stall_ms, last_piece_ms;
	bool opened; /* the header of the final answer is complete */
	int status;
	size_t header_bytes;
	int64_t retry_after_ms;
	struct buf body;
	struct err stop; /* why this module ended it */
};

struct https {
	struct loop *loop;
	CURLM *multi;
	char *user_agent;
	struct loop_timer *timer; /* curl's own */
	uv_idle_t *resume;        /* active while a request is paused */
	struct list requests, sockets;
	unsigned inside;
	int64_t distrust_ms; /* monotonic, of the last deadline that passed; below 0: none */
};

/* Converts curl's result to an error of the caller. */
void https_error(const struct https_request *request, CURLcode code, struct err *err);
/* Lets curl handle an event, and then its results. */
void https_action(struct https *https, curl_socket_t fd, int events);
/* After curl has returned. */
void https_settle(struct https *https);

void https_sockets_init(struct https *https);
/* After the end of curl's multi handle. */
void https_sockets_done(struct https *https);
/* curl: watch this socket for these events. */
int https_on_socket(CURL *curl, curl_socket_t fd, int what, void *context, void *assigned);
/* True: the receiver of a stream gets this piece in the next turn of the loop. */
bool https_is_turn_over(struct https_request *request, size_t bytes);

#endif
