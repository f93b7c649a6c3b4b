/* A client and a scripted GCS on one loop, for the tests of gcs/gcs_client. */
#ifndef TEST_SUPPORT_GCS_BENCH_H
#define TEST_SUPPORT_GCS_BENCH_H

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "gcs/gcs_client.h"
#include "gcs/gcs_message.h"
#include "net/grpc.h"
#include "net/loop.h"
#include "ray.pb-c.h"
#include "test/support/h2_server.h"
#include "test/support/support.h"

#define TOKEN "secret-token"
#define BYTES(text) ((ProtobufCBinaryData){ .data = (uint8_t *)(text), .len = sizeof(text) - 1 })

struct fake_gcs {
	struct h2_server server;
	unsigned char cluster_id[28];
	bool check_token;
	unsigned id_calls, refused;
	const ProtobufCMessage *reply; /* to all other methods */
	struct h2_answer fault;        /* instead, when it has a status */
	char path[200];
	char headers[2000];
	struct buf body; /* of the last request, without prefix */
	bool mute;
};

struct gcs_bench {
	struct loop *loop;
	struct loop_timer *timer;
	struct fake_gcs gcs;
	struct gcs_client *client;
	struct arena arena;
	/* how the last call ended */
	unsigned ended;
	bool failed;
	struct err err;
	const struct ray_state *state;
	bool flag; /* accepted */
	char text[500];
	const struct ray_constraint *constraint;
	struct gcs_reply reply; /* of gcs_bench_get_list */
	struct arena sent;      /* rows of a reply that a test builds */
};

extern struct gcs_bench gcs_bench;

/* ---- the GCS ---- */

void fake_gcs_answer(struct h2_stream *stream, const ProtobufCMessage *message);

void fake_gcs_handle(struct h2_server *server, struct h2_stream *stream);

/* ---- the bench ---- */

struct gcs_config gcs_bench_config(void);

void gcs_bench_open(void);

void gcs_bench_close(void);

/* The same as functions of a cmocka test. */
int gcs_bench_setup(void **state);

int gcs_bench_teardown(void **state);

/* The server, with this handler, and the client alone, on a loop of the caller. */
void gcs_bench_open_on(struct loop *loop, h2_server_handler *handler);

void gcs_bench_close_on(void);

void gcs_bench_note(const struct err *err);

void gcs_bench_run_good(void);

void gcs_bench_run_error(enum err_kind kind, const char *why);

void gcs_bench_on_done(void *context, const struct gcs_reply *reply, const struct err *err);

void gcs_bench_on_state(void *context, const struct gcs_reply *reply, const struct err *err);

void gcs_bench_get_state(void);

void gcs_bench_get_list(enum ray_list list, const struct gcs_list_use *use,
			const ProtobufCMessage *reply);

/* A state with one node. */
const ProtobufCMessage *fake_gcs_small_state(void);

/* Runs calls until the client has noticed that its connection is closed. */
void gcs_bench_run_good_again(void);

#endif
