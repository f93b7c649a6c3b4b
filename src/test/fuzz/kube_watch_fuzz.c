/* The bytes of a watch stream. Law: their division into pieces makes no difference to the events
 * and to the end of the watch. The first byte is the size of the pieces. */
#include "fuzz.h"

#include "base/memory.h"
#include "kube/kube_watch.h"
#include "net/loop.h"

/* Replaces the client: the stream is fed from here. The loop never runs, so no line is late. */
static struct kube_stream stream;
static struct loop *loop;

struct loop *kube_client_loop(const struct kube_client *client)
{
	REQUIRE(!client);
	return loop;
}

struct kube_call *kube_client_stream(struct kube_client *client, const char *path,
				     const struct kube_stream *start)
{
	REQUIRE(!client && *path == '/');
	stream = *start;
	return NULL;
}

void kube_client_cancel(struct kube_call *call)
{
	(void)call;
}

void kube_client_resume(struct kube_call *call)
{
	(void)call;
}

struct outcome {
	uint64_t digest; /* of all events, in their order */
	size_t events;
	enum err_kind end;
	int64_t retry_after_ms;
	bool ended;
};

static void digest_text(struct outcome *outcome, const char *text)
{
	for (; *text; text++)
		outcome->digest = (outcome->digest ^ (uint8_t)*text) * UINT64_C(1099511628211);
	outcome->digest = (outcome->digest ^ 0x100) * UINT64_C(1099511628211);
}

static void on_open(void *context)
{
	(void)context;
}

static void on_event(void *context, const struct watch_event *event)
{
	struct outcome *outcome = context;

	REQUIRE(event->type > WATCH_NONE && event->type < WATCH_ERROR && event->object);
	outcome->events++;
	outcome->digest ^= (uint64_t)event->type;
	digest_text(outcome, event->resource_version);
}

static void on_end(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct outcome *outcome = context;

	REQUIRE(!outcome->ended);
	outcome->ended = true;
	outcome->end = err ? err->kind : ERR_NONE;
	outcome->retry_after_ms = answer->retry_after_ms;
	REQUIRE(!err || (err->kind != ERR_NONE && err->text[0] != '\0'));
}

/* piece 0: all at once. */
static void run(const uint8_t *data, size_t size, size_t piece, struct outcome *ret)
{
	const struct kube_watch_callbacks callbacks = {
		.on_open = on_open, .on_event = on_event, .on_end = on_end, .context = ret
	};
	const struct kube_answer answer = { .status = 200, .body = "" };
	int failed = 0;

	*ret = (struct outcome){ .digest = 1 };
	(void)kube_watch_start(NULL, "/api/v1/pods", "1", &callbacks);
	stream.on_open(stream.context);
	for (size_t at = 0; at < size && failed == 0; at += piece ? piece : size) {
		size_t left = size - at;

		failed = stream.on_chunk(stream.context, (const char *)data + at,
					 piece && piece < left ? piece : left);
	}
	stream.done(stream.context, &answer, NULL);
	REQUIRE(ret->ended && (failed == 0 || ret->end != ERR_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces;

	if (size == 0)
		return 0;
	if (!loop)
		loop = loop_new();
	run(data + 1, size - 1, 0, &whole);
	run(data + 1, size - 1, 1 + data[0] % 64, &pieces);
	REQUIRE(whole.events == pieces.events && whole.digest == pieces.digest);
	REQUIRE(whole.end == pieces.end && whole.retry_after_ms == pieces.retry_after_ms);
	return 0;
}
