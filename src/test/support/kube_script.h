/* A client of the API server against a server that follows a list of steps: request n gets step n,
 * on any connection; after the last step the server only holds connections. */
#ifndef TEST_SUPPORT_KUBE_SCRIPT_H
#define TEST_SUPPORT_KUBE_SCRIPT_H

#include "base/buf.h"
#include "kube/kube_client.h"
#include "test/support/loop_wait.h"
#include "test/support/scripted_server.h"
#include "test/support/support.h"
#include "test/support/temp_files.h"

#define WAIT_MS 20000

enum step_kind {
	STEP_ANSWER = 0,   /* status, headers, text as the body */
	STEP_STREAM,       /* 200 and text in one chunk, then the regular end */
	STEP_STREAM_HOLD,  /* ..., then silence */
	STEP_STREAM_CUT,   /* ..., then FIN in the middle */
	STEP_STREAM_HALF,  /* ..., then FIN in the middle, and reads on */
	STEP_STREAM_RESET, /* ..., then RST, which may overtake the text */
	STEP_STREAM_BYTES, /* each byte in a chunk of its own, then silence */
	STEP_HOLD,         /* no answer at all */
	STEP_RESET,
};

/* In text a ' means ". */
struct step {
	const char *expect; /* part of "METHOD /path?query", NULL: anything */
	enum step_kind kind;
	int status; /* 0: 200 */
	const char *headers, *text;
};

struct kube_script {
	struct loop *loop;
	struct https *https;
	struct scripted_server *server;
	struct kube_config *config;
	struct kube_client *client;
	char *directory;  /* made by script_start unless it is there already */
	const char *user; /* of the kubeconfig; NULL: the file token, with t1 in it */
	int64_t exec_pause_ms;
	const struct step *steps;
	size_t step_count;
	_Atomic size_t step;
	_Atomic bool surprised; /* a request was not the expected one */
	struct buf seen;        /* for the tests: a record of the callbacks */
	int calls_done;
};

char *script_text(const char *text);

void script_request(struct exchange *exchange, void *context);

/* The configuration of the client, once more; the caller owns it. */
struct kube_config *script_config(const struct kube_script *script);

void script_start(struct kube_script *script, server_script *answer,
		  const struct kube_client_options *options);

void script_steps(struct kube_script *script, const struct step *steps, size_t count);

void script_done(struct kube_script *script);

#endif
