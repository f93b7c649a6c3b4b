#include "ctl/report/access.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/token_bucket.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/sha256.h"

#define AUTHENTICATION_VERSION "authentication.k8s.io/v1"
#define AUTHORIZATION_VERSION "authorization.k8s.io/v1"
#define SCHEME "Bearer "
#define TOKEN_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="
#define REVIEW_MAX_BYTES ((size_t)256 << 10) /* of a body that is sent */
#define USER_MAX_BYTES ((size_t)16 << 10)    /* of the members of one user */
#define USER_NAME_SHOWN_MAX 200

static const struct json_limits limits = { .bytes = (size_t)1 << 20,
					   .depth = 32,
					   .elements = 10000 };

/* The API server's judgement of one right of a token. */
struct judged {
	struct list_item item; /* of token->rights, the one used longest ago first */
	char key[SHA256_TEXT_SIZE];
	struct token *token;
	bool allowed;
	int64_t until_ms;       /* 0: not judged yet */
	struct kube_call *call; /* SubjectAccessReview that is on its way; NULL: none */
	struct list waits;      /* questions */
};

/* The members of a user in a TokenReview, and in a SubjectAccessReview. */
static const struct {
	const char *reviewed, *sent;
} user_members[] = {
	{ "username", "user" }, { "uid", "uid" }, { "groups", "groups" }, { "extra", "extra" }
};
#define USER_MEMBERS (sizeof(user_members) / sizeof(user_members[0]))

enum token_state {
	TOKEN_NEW = 0, /* its first review is on its way */
	TOKEN_GOOD,
	TOKEN_BAD,
};

struct token {
	struct list_item item; /* of the list of its state in struct access */
	char key[SHA256_TEXT_SIZE];
	struct access *access;
	enum token_state state;
	int64_t until_ms;         /* of the answer that made the state */
	struct kube_call *call;   /* TokenReview that is on its way; NULL: none */
	struct list waits;        /* questions that wait for it */
	char *user[USER_MEMBERS]; /* of a good one, as JSON; NULL: absent */
	char *name;               /* for messages */
	struct token_bucket bucket;
	struct list rights; /* struct judged */
};

/* A client that has sent tokens that were not known. */
struct peer {
	struct list_item item; /* of access->peers, the one that asked longest ago first */
	char *address;
	struct token_bucket bucket;
	size_t waiting; /* its part of fresh_waiting */
};

struct access_question {
	struct list_item item; /* of token->waits or judged->waits */
	struct access *access;
	struct peer *fresh; /* waits for the review of a token that is not good; NULL: it does not */
	struct access_right right;
	access_done *done;
	void *context;
};

struct access {
	struct kube_client *client;
	struct loop *loop;
	struct access_options options;
	struct map tokens; /* digest to struct token */
	struct list fresh, good, bad, peers;
	size_t fresh_waiting; /* questions about tokens that are not good */
	struct token_bucket fresh_bucket;
	struct access_question *asking; /* in access_ask and not answered; NULL: none */
	struct log_repeat token_trouble, right_trouble;
};

static int64_t now_of(const struct access *access)
{
	return loop_monotonic_ms(access->loop);
}

/* ---- questions ---- */

/* Takes it out of the list in which it waits. */
static void question_remove(struct access_question *question)
{
	list_remove(&question->item);
	if (!question->fresh)
		return;
	question->access->fresh_waiting--;
	question->fresh->waiting--;
	question->fresh = NULL;
}

static void question_free(struct access_question *question)
{
	question_remove(question);
	if (question->access->asking == question)
		question->access->asking = NULL;
	memory_free(memory_without_const(question->right.path));
	memory_free(memory_without_const(question->right.namespace_));
	memory_free(memory_without_const(question->right.name));
	memory_free(question);
}

static struct access_question *question_new(struct access *access, const struct access_right *right,
					    access_done *done, void *context)
{
	struct access_question *question = memory_alloc(sizeof(*question));

	question->access = access;
	if (right->path)
		question->right.path = memory_strdup(right->path);
	question->right.namespace_ = memory_strdup(right->path ? "" : right->namespace_);
	question->right.name = memory_strdup(right->path ? "" : right->name);
	question->done = done;
	question->context = context;
	return question;
}

static void answer(struct access_question *question, int status, const char *text)
{
	question->done(question->context,
		       &(struct access_verdict){ .status = status, .text = text });
	question_free(question);
}

static void answer_unknown(struct access_question *question)
{
	answer(question, 401, "the API server does not accept this bearer token; is it expired?");
}

static void answer_unanswered(struct access_question *question)
{
	answer(question, 503,
	       "the API server does not answer who may read this; the controller's log has the "
	       "cause");
}

static void answer_too_many(struct access_question *question)
{
	answer(question, 429, "too many reviews of credentials, try again");
}

static void answer_forbidden(struct access_question *question, const char *user)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct access_right *right = &question->right;
	const char *need =
		right->path ?
			arena_printf(&scratch, "nonResourceURLs %s (ClusterRole)", right->path) :
			arena_printf(&scratch,
				     "resource rayclusterautoscalers/status of API group "
				     "rayscaler.dev in %s%s",
				     right->namespace_[0] ? "namespace " : "all namespaces",
				     right->namespace_);

	answer(question, 403,
	       arena_printf(&scratch, "%s may not read this; it needs the verb get on %s", user,
			    need));
}

/* ---- the tables ---- */

static bool is_judged_in_use(const struct judged *judged)
{
	return judged->call || judged->waits.count > 0;
}

static void judged_free(struct judged *judged)
{
	CHECK(judged->waits.count == 0);
	kube_client_cancel(judged->call);
	list_remove(&judged->item);
	memory_free(judged);
}

static void forget_rights(struct token *token)
{
	LIST_EACH(struct judged, judged, &token->rights, item)
		if (is_judged_in_use(judged))
			judged->until_ms = 0;
		else
			judged_free(judged);
}

static void forget_user(struct token *token)
{
	for (size_t i = 0; i < USER_MEMBERS; i++)
		memory_free(steal(&token->user[i]));
	memory_free(steal(&token->name));
}

static void token_free(struct token *token)
{
	CHECK(token->waits.count == 0);
	kube_client_cancel(token->call);
	LIST_EACH(struct judged, judged, &token->rights, item)
		judged_free(judged);
	forget_user(token);
	(void)map_remove(&token->access->tokens, token->key);
	list_remove(&token->item);
	memory_free(token);
}

static bool is_in_use(const struct token *token)
{
	bool in_use = token->call || token->waits.count > 0;

	LIST_EACH(const struct judged, judged, &token->rights, item)
		in_use |= is_judged_in_use(judged);
	return in_use;
}

/* Moves it to the end of the list of this state, and frees the first one of a list that is full;
 * those in use are few. */
static void set_state(struct token *token, enum token_state state)
{
	struct access *access = token->access;
	struct list *const lists[] = {
		[TOKEN_NEW] = &access->fresh, [TOKEN_GOOD] = &access->good, [TOKEN_BAD] = &access->bad
	};

	token->state = state;
	list_remove(&token->item);
	list_add(lists[state], &token->item);
	if (lists[state]->count <= access->options.tokens_max)
		return;
	LIST_EACH(struct token, old, lists[state], item)
		if (old != token && !is_in_use(old)) {
			token_free(old);
			break;
		}
}

static struct token *token_new(struct access *access, const char *key)
{
	struct token *token = memory_alloc(sizeof(*token));

	token->access = access;
	memcpy(token->key, key, sizeof(token->key));
	map_set(&access->tokens, key, token);
	set_state(token, TOKEN_NEW);
	return token;
}

/* NULL: all places are taken by reviews that are on their way. */
static struct judged *judged_new(struct token *token, const char *key)
{
	struct judged *judged;

	if (token->rights.count >= ACCESS_RIGHTS_MAX)
		LIST_EACH(struct judged, old, &token->rights, item)
			if (!is_judged_in_use(old)) {
				judged_free(old);
				break;
			}
	if (token->rights.count >= ACCESS_RIGHTS_MAX)
		return NULL;
	judged = memory_alloc(sizeof(*judged));
	memcpy(judged->key, key, sizeof(judged->key));
	judged->token = token;
	list_add(&token->rights, &judged->item);
	return judged;
}

/* make: a new one if there is none; else NULL then. */
static struct judged *judged_find(struct token *token, const struct access_right *right, bool make)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	char key[SHA256_TEXT_SIZE];

	/* A namespace has no "/" and a path begins with one. */
	sha256_text(right->path ? right->path :
				  arena_printf(&scratch, "%s/%s", right->namespace_, right->name),
		    key);
	LIST_EACH(struct judged, judged, &token->rights, item)
		if (strcmp(judged->key, key) == 0)
			return judged;
	return make ? judged_new(token, key) : NULL;
}

static bool is_allowed_already(struct token *token, const struct access_right *right)
{
	const struct judged *judged = judged_find(token, right, false);

	return judged && judged->allowed && judged->until_ms > now_of(token->access);
}

/* ---- reviews ---- */

static void begin_review(struct json_writer *writer, struct buf *body, const char *version,
			 const char *kind)
{
	buf_init(body, REVIEW_MAX_BYTES);
	json_write_init(writer, body, JSON_STYLE_LINE);
	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "apiVersion", version }, { "kind", kind });
	json_write_object(writer, "spec");
}

static struct kube_call *send_review(struct access *access, struct json_writer *writer,
				     const char *version, const char *plural,
				     kube_client_done *done, void *context)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	json_write_object_end(writer);
	json_write_object_end(writer);
	CHECK(!writer->buf->overflowed); /* its parts are bounded */
	return kube_client_send(access->client, KUBE_CREATE,
				kube_path(&scratch, version, NULL, plural, NULL, NULL),
				writer->buf->data, writer->buf->size, done, context);
}

/* Logs the failure, or the end of it. */
static void note(struct log_repeat *trouble, const char *plural, const struct err *err)
{
	static const char message[] = "cannot check bearer tokens";

	if (err->kind)
		(void)log_repeat_error(trouble, message, plural, err->text);
	else
		log_repeat_end(trouble, message, plural);
}

/* The member `status` of an answer. */
static int parse_status(const struct kube_answer *reply, struct json_reader *reader,
			struct cJSON **ret_json, struct json_at *root, struct json_at *ret_status)
{
	if (json_parse(reply->body, reply->body_size, &limits, ret_json, reader->err) < 0)
		return -1;
	*root = json_root(*ret_json, "", reader);
	return json_expect(root, JSON_OBJECT) || json_object(root, "status", ret_status) ? -1 : 0;
}

/* ---- rights ---- */

static void authorize(struct token *token, struct access_question *question);

/* Takes all questions out of the list, for `each` to answer them or let them wait again. */
static void for_waits(struct list *waits, struct token *token,
		      void (*each)(struct token *token, struct access_question *question))
{
	for (size_t count = waits->count; count > 0; count--) {
		struct access_question *question =
			LIST_MEMBER(waits->first, struct access_question, item);

		question_remove(question);
		each(token, question);
	}
}

static void give_up(struct token *token UNUSED, struct access_question *question)
{
	answer_unanswered(question);
}

static void on_right(void *context, const struct kube_answer *reply, const struct err *err)
{
	struct judged *judged = context;
	struct token *token = judged->token;
	struct access *access = token->access;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	struct err problem = { .kind = ERR_NONE };
	struct json_reader reader = { .arena = &scratch, .err = &problem };
	struct json_at root, status;

	judged->call = NULL;
	if (err)
		problem = *err;
	else if (parse_status(reply, &reader, &json, &root, &status) == 0)
		(void)json_boolean(&status, "allowed", &judged->allowed);
	note(&access->right_trouble, "subjectaccessreviews", &problem);
	if (problem.kind) {
		for_waits(&judged->waits, token, give_up);
		return;
	}
	judged->until_ms = now_of(access) + access->options.kept_ms;
	for_waits(&judged->waits, token, authorize);
}

static void write_attributes(struct json_writer *writer, const struct access_right *right)
{
	json_write_object(writer, right->path ? "nonResourceAttributes" : "resourceAttributes");
	json_write_text(writer, "verb", "get");
	if (right->path) {
		json_write_text(writer, "path", right->path);
	} else {
		JSON_WRITE_TEXTS(writer, { "group", "rayscaler.dev" },
				 { "resource", "rayclusterautoscalers" },
				 { "subresource", "status" });
		if (right->namespace_[0])
			json_write_text(writer, "namespace", right->namespace_);
		if (right->name[0])
			json_write_text(writer, "name", right->name);
	}
	json_write_object_end(writer);
}

static void review_right(struct judged *judged, const struct access_right *right)
{
	const struct token *token = judged->token;
	AUTO(buf_done) struct buf body;
	struct json_writer writer;

	begin_review(&writer, &body, AUTHORIZATION_VERSION, "SubjectAccessReview");
	for (size_t i = 0; i < USER_MEMBERS; i++)
		if (token->user[i])
			json_write_raw(&writer, user_members[i].sent, token->user[i]);
	write_attributes(&writer, right);
	judged->call = send_review(token->access, &writer, AUTHORIZATION_VERSION,
				   "subjectaccessreviews", on_right, judged);
}

/* 1 allowed, 0 refused, -1: the question waits for the review or has been answered. */
static int judge(struct token *token, const struct access_right *right,
		 struct access_question *question)
{
	int64_t now_ms = now_of(token->access);
	struct judged *judged = judged_find(token, right, true);

	if (judged && judged->until_ms > now_ms) {
		struct list *rights = judged->item.list;

		list_remove(&judged->item);
		list_add(rights, &judged->item);
		return judged->allowed;
	}
	if (!judged || (!judged->call && !token_bucket_take(&token->bucket, 1, now_ms))) {
		answer_too_many(question);
		return -1;
	}
	if (!judged->call)
		review_right(judged, right);
	list_add(&judged->waits, &question->item);
	return -1;
}

/* The right to all namespaces is used where it is known, and asked for only by itself; that to a
 * namespace is asked for first, because one answer then serves all of its clusters. */
static void authorize(struct token *token, struct access_question *question)
{
	const struct access_right *right = &question->right;
	const struct access_right all = { .namespace_ = "", .name = "" };
	const struct access_right all_names = { .namespace_ = right->namespace_, .name = "" };
	int allowed = !right->path && is_allowed_already(token, &all);

	if (token->state != TOKEN_GOOD) { /* since the question waits */
		answer_unknown(question);
		return;
	}
	if (!allowed && !right->path && right->name[0])
		allowed = judge(token, &all_names, question);
	if (allowed == 0)
		allowed = judge(token, right, question);
	if (allowed == 1)
		answer(question, 200, "");
	else if (allowed == 0)
		answer_forbidden(question, token->name);
}

/* ---- tokens ---- */

static void refuse(struct token *token UNUSED, struct access_question *question)
{
	answer_unknown(question);
}

/* The member as JSON, NULL when it is absent. */
static char *member_json(const struct json_at *user, const char *name)
{
	struct json_at member = json_member(user, name);

	return json_is_given(&member) ? memory_strdup(json_print(&member)) : NULL;
}

static int read_user(struct token *token, const struct json_at *user)
{
	const char *name = "";
	size_t size = 0;
	bool same = true;

	for (size_t i = 0; i < USER_MEMBERS; i++) {
		char *text = member_json(user, user_members[i].reviewed);

		size += text ? strlen(text) : 0;
		same &= text_same(text, token->user[i]);
		memory_free(token->user[i]);
		token->user[i] = text;
	}
	if (!same)
		forget_rights(token);
	if (json_text(user, "username", &name) < 0)
		return -1;
	if (size > USER_MAX_BYTES)
		return json_fail(user, "has more than %zu bytes", USER_MAX_BYTES);
	if (!name[0])
		return json_fail(user, "has no username");
	memory_free(token->name);
	token->name = memory_strndup(name, text_fit(name, USER_NAME_SHOWN_MAX));
	return 0;
}

/* Sets the state from the answer; -1: it is none. */
static int read_review(struct token *token, const struct kube_answer *reply, struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = &scratch, .err = err };
	struct access *access = token->access;
	struct json_at root, status, user;
	bool authenticated = false;

	if (parse_status(reply, &reader, &json, &root, &status) < 0 ||
	    json_boolean(&status, "authenticated", &authenticated) < 0 ||
	    json_object(&status, "user", &user) < 0 ||
	    (authenticated && read_user(token, &user) < 0))
		return -1;
	if (authenticated && token->state != TOKEN_GOOD)
		token_bucket_init(&token->bucket, ACCESS_RIGHTS_PER_SECOND, ACCESS_RIGHTS_BURST,
				  now_of(access));
	token->until_ms = now_of(access) + access->options.kept_ms;
	set_state(token, authenticated ? TOKEN_GOOD : TOKEN_BAD);
	return 0;
}

static void on_token(void *context, const struct kube_answer *reply, const struct err *err)
{
	struct token *token = context;
	struct access *access = token->access;
	struct err problem = { .kind = ERR_NONE };

	if (err)
		problem = *err;
	else
		(void)read_review(token, reply, &problem);
	token->call = NULL;
	note(&access->token_trouble, "tokenreviews", &problem);
	if (problem.kind) {
		for_waits(&token->waits, token, give_up);
		if (token->state == TOKEN_NEW)
			token_free(token);
		return;
	}
	if (token->state == TOKEN_GOOD) {
		for_waits(&token->waits, token, authorize);
	} else {
		for_waits(&token->waits, token, refuse);
		forget_rights(token);
		forget_user(token);
	}
}

static void review_token(struct token *token, const char *text)
{
	AUTO(buf_done) struct buf body;
	struct json_writer writer;

	begin_review(&writer, &body, AUTHENTICATION_VERSION, "TokenReview");
	json_write_text(&writer, "token", text);
	token->call = send_review(token->access, &writer, AUTHENTICATION_VERSION, "tokenreviews",
				  on_token, token);
}

static void peer_free(struct peer *peer)
{
	list_remove(&peer->item);
	memory_free(peer->address);
	memory_free(peer);
}

/* Moves it to the end of the list. */
static struct peer *peer_of(struct access *access, const char *address)
{
	struct peer *peer = NULL;

	LIST_EACH(struct peer, known, &access->peers, item)
		if (strcmp(known->address, address) == 0)
			peer = known;
	if (!peer) {
		peer = memory_alloc(sizeof(*peer));
		peer->address = memory_strdup(address);
		token_bucket_init(&peer->bucket, ACCESS_PEER_NEW_PER_SECOND, ACCESS_PEER_NEW_BURST,
				  now_of(access));
	}
	list_remove(&peer->item);
	list_add(&access->peers, &peer->item);
	LIST_EACH(struct peer, old, &access->peers, item)
		if (access->peers.count > ACCESS_PEERS_MAX && old != peer && old->waiting == 0)
			peer_free(old);
	return peer;
}

/* The second half of the tokens of all is for clients that have not asked for a while. */
static bool may_review(struct access *access, struct peer *peer)
{
	int64_t now_ms = now_of(access);
	bool rested = token_bucket_has(&peer->bucket, ACCESS_PEER_NEW_BURST, now_ms);
	int64_t least = rested ? 1 : ACCESS_NEW_BURST / 2 + 1;

	return token_bucket_has(&access->fresh_bucket, least, now_ms) &&
	       token_bucket_take(&peer->bucket, 1, now_ms) &&
	       token_bucket_take(&access->fresh_bucket, 1, now_ms);
}

/* A token that is not known, or was refused a while ago: as costly as a forged one may be. */
static void ask_about_new(struct access *access, struct token *token, const char *key,
			  const char *text, const char *address, struct access_question *question)
{
	struct peer *peer = peer_of(access, address);

	if (access->fresh_waiting >= ACCESS_NEW_WAITING_MAX ||
	    peer->waiting >= ACCESS_PEER_NEW_WAITING_MAX ||
	    ((!token || !token->call) && !may_review(access, peer))) {
		answer_too_many(question);
		return;
	}
	if (!token)
		token = token_new(access, key);
	if (!token->call)
		review_token(token, text);
	access->fresh_waiting++;
	peer->waiting++;
	question->fresh = peer;
	list_add(&token->waits, &question->item);
}

static void ask_about_good(struct token *token, const char *text, struct access_question *question)
{
	int64_t now_ms = now_of(token->access);

	set_state(token, TOKEN_GOOD); /* used last */
	if (token->until_ms > now_ms) {
		authorize(token, question);
		return;
	}
	if (!token->call && !token_bucket_take(&token->bucket, 1, now_ms)) {
		answer_too_many(question);
		return;
	}
	if (!token->call)
		review_token(token, text);
	list_add(&token->waits, &question->item);
}

/* The token of the header field's value; NULL: it has none. */
static const char *token_of(const char *value)
{
	if (!value || strncasecmp(value, SCHEME, strlen(SCHEME)) != 0)
		return NULL;
	value += strlen(SCHEME);
	value += strspn(value, " ");
	return value[0] && strspn(value, TOKEN_CHARACTERS) == strlen(value) ? value : NULL;
}

static void ask(struct access *access, const char *text, const char *peer,
		struct access_question *question)
{
	char key[SHA256_TEXT_SIZE];
	struct token *token;

	sha256_text(text, key);
	token = map_get(&access->tokens, key);
	if (token && token->state == TOKEN_GOOD) {
		ask_about_good(token, text, question);
	} else if (token && token->state == TOKEN_BAD && token->until_ms > now_of(access)) {
		set_state(token, TOKEN_BAD); /* used last */
		answer_unknown(question);
	} else {
		ask_about_new(access, token, key, text, peer, question);
	}
}

struct access_question *access_ask(struct access *access, const char *token, const char *peer,
				   const struct access_right *right, access_done *done,
				   void *context)
{
	struct access_question *question = question_new(access, right, done, context);
	const char *text = token_of(token);

	access->asking = question;
	if (text)
		ask(access, text, peer, question);
	else
		answer(question, 401,
		       "this page needs a bearer token: Authorization: Bearer TOKEN of a user of "
		       "the API server");
	return steal(&access->asking);
}

void access_cancel(struct access_question *question)
{
	question_free(question);
}

struct access *access_new(struct kube_client *client, const struct access_options *options)
{
	struct access *access = memory_alloc(sizeof(*access));

	access->client = client;
	access->loop = kube_client_loop(client);
	access->options = *options;
	if (access->options.kept_ms == 0)
		access->options.kept_ms = ACCESS_KEPT_MS;
	if (access->options.tokens_max == 0)
		access->options.tokens_max = ACCESS_TOKENS_MAX;
	token_bucket_init(&access->fresh_bucket, ACCESS_NEW_PER_SECOND, ACCESS_NEW_BURST,
			  now_of(access));
	return access;
}

static void free_questions(struct list *waits)
{
	LIST_EACH(struct access_question, question, waits, item)
		question_free(question);
}

static void free_questions_of(struct token *token)
{
	free_questions(&token->waits);
	LIST_EACH(struct judged, judged, &token->rights, item)
		free_questions(&judged->waits);
}

static void free_tokens(struct list *tokens)
{
	LIST_EACH(struct token, token, tokens, item) {
		free_questions_of(token);
		token_free(token);
	}
}

void access_free(struct access *access)
{
	if (!access)
		return;
	free_tokens(&access->fresh);
	free_tokens(&access->good);
	free_tokens(&access->bad);
	LIST_EACH(struct peer, peer, &access->peers, item)
		peer_free(peer);
	map_done(&access->tokens);
	log_repeat_done(&access->token_trouble);
	log_repeat_done(&access->right_trouble);
	memory_free(access);
}
