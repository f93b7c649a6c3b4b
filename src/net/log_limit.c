#include "net/log_limit.h"

#include <pthread.h>
#include <stddef.h>

#include "base/map.h"
#include "base/token_bucket.h"

#define OTHERS "other namespaces"

struct part {
	const char *namespace_; /* of the map */
	struct token_bucket bucket;
	uint64_t left_out; /* since the last report */
};

static struct {
	pthread_mutex_t mutex;
	struct map parts; /* by namespace */
	uint64_t left_out;
	int64_t reported_ms;
} limit = { .mutex = PTHREAD_MUTEX_INITIALIZER, .parts = { .entries = NULL } };

/* From the end, as removing moves the last one into the gap. */
static void drop_rested(int64_t now_ms)
{
	for (size_t i = limit.parts.count; i-- > 0;) {
		struct part *part = limit.parts.entries[i].value;

		if (part->left_out == 0 && token_bucket_has(&part->bucket, LOG_LIMIT_BURST, now_ms))
			map_drop(&limit.parts, part->namespace_, NULL);
	}
}

static struct part *part_of(const char *namespace_, int64_t now_ms)
{
	struct part *part = map_get(&limit.parts, namespace_);

	if (part)
		return part;
	if (limit.parts.count >= LOG_LIMIT_NAMESPACES)
		drop_rested(now_ms);
	if (limit.parts.count >= LOG_LIMIT_NAMESPACES)
		namespace_ = OTHERS;
	part = map_make(&limit.parts, namespace_, sizeof(*part));
	if (part->bucket.burst == 0)
		token_bucket_init(&part->bucket, LOG_LIMIT_PER_SECOND, LOG_LIMIT_BURST, now_ms);
	return part;
}

bool log_limit_take(const char *namespace_, int64_t now_ms)
{
	bool taken;

	(void)pthread_mutex_lock(&limit.mutex);
	struct part *part = part_of(namespace_, now_ms);
	taken = token_bucket_take(&part->bucket, 1, now_ms);
	part->left_out += !taken;
	if (!taken && limit.left_out++ == 0)
		limit.reported_ms = now_ms;
	(void)pthread_mutex_unlock(&limit.mutex);
	return taken;
}

void log_limit_report(int64_t now_ms, void (*report)(const char *namespace_, uint64_t lines))
{
	(void)pthread_mutex_lock(&limit.mutex);
	if (limit.left_out > 0 && now_ms - limit.reported_ms >= LOG_LIMIT_REPORT_MS) {
		for (size_t i = 0; i < limit.parts.count; i++) {
			struct part *part = limit.parts.entries[i].value;

			if (part->left_out > 0)
				report(part->namespace_, part->left_out);
			part->left_out = 0;
		}
		limit.left_out = 0;
		limit.reported_ms = now_ms;
	}
	(void)pthread_mutex_unlock(&limit.mutex);
}
