/* The right to read a page of the HTTP endpoints: the API server names the user of a bearer token by
 * TokenReview and judges the user's right by SubjectAccessReview. Owned by ctl/endpoints. Keeps
 * digests of tokens, never a token, and logs none.
 *
 * Answers, yes and no, are kept for ACCESS_KEPT_MS. A review has the deadline of the client.
 *
 * Bounded against a flood: unknown tokens have a token bucket and few places that wait, of all and of
 * each client, and are refused at once above them. A client that has not asked for a while finds half
 * of the tokens of all left, so forged tokens of one do not delay another. Up to ACCESS_TOKENS_MAX refused tokens are remembered apart from as
 * many accepted ones, so forged tokens replace only each other. A token that was accepted before is
 * reviewed again without the bucket, one review at a time, and has a bucket of its own for reviews of
 * rights. In both tables the entry that was used longest ago is replaced first. */
#ifndef CTL_REPORT_ACCESS_H
#define CTL_REPORT_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access;
struct access_question;
struct kube_client;

#define ACCESS_KEPT_MS 60000
#define ACCESS_TOKENS_MAX 512 /* of each kind */
#define ACCESS_RIGHTS_MAX 64  /* judged ones of a token */
#define ACCESS_PEERS_MAX 256
/* Reviews of unknown tokens, of all clients and of each. */
#define ACCESS_NEW_PER_SECOND 20
#define ACCESS_NEW_BURST 40
#define ACCESS_NEW_WAITING_MAX 16
#define ACCESS_PEER_NEW_PER_SECOND 5
#define ACCESS_PEER_NEW_BURST 10
#define ACCESS_PEER_NEW_WAITING_MAX 6
#define ACCESS_RIGHTS_PER_SECOND 10
#define ACCESS_RIGHTS_BURST 64

struct access_right {
	const char *path; /* verb get of this path (nonResourceURLs); NULL: of the following */
	/* Verb get of rayclusterautoscalers/status; "": all namespaces, all names of a namespace. A
	 * right to more than is asked for is enough. */
	const char *namespace_, *name;
};

struct access_verdict {
	int status;       /* 200, 401, 403, 429, 503 */
	const char *text; /* for the client; "" with 200 */
};
/* Both arguments are valid until it returns. */
typedef void access_done(void *context, const struct access_verdict *verdict);

struct access_options {
	int64_t kept_ms;   /* 0: ACCESS_KEPT_MS */
	size_t tokens_max; /* 0: ACCESS_TOKENS_MAX */
};

/* `client` sends the reviews and outlives it; it must not refuse writes of a replica that does not
 * lead. */
struct access *access_new(struct kube_client *client, const struct access_options *options);
/* Questions that wait get no verdict. Not from inside access_done. NULL is fine. */
void access_free(struct access *access);

/* token: the value of the header field, "Bearer ..."; NULL: none. peer: the client's address. Calls back before it returns, with
 * the result NULL; or later, exactly once, unless the question is cancelled. Texts are copied. */
struct access_question *access_ask(struct access *access, const char *token, const char *peer,
				   const struct access_right *right, access_done *done,
				   void *context);
void access_cancel(struct access_question *question);

#endif
