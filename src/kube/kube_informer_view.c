#include "kube/kube_informer.h"

#include "base/memory.h"
#include "kube/kube_informer_intern.h"

bool kube_informer_synced(const struct kube_informer *informer)
{
	return informer->synced;
}

/* Its own deadlines notice a server that hangs; this notices a process that was stopped. */
static bool kube_informer_is_live(const struct kube_informer *informer)
{
	return informer->live && loop_boot_ms() - informer->proof_ms <=
					 KUBE_INFORMER_SILENCE_MAX_MS + informer->options.poll_ms;
}

bool kube_informer_fresh(const struct kube_informer *informer)
{
	return informer->synced && kube_informer_is_live(informer);
}

const char *kube_informer_problem(const struct kube_informer *informer)
{
	if (!informer->live)
		return informer->problem.text;
	return kube_informer_is_live(informer) ? "" : "nothing was heard of it for too long";
}

const char *kube_informer_api_version(const struct kube_informer *informer)
{
	return informer->api_version ? informer->api_version : "";
}

static char *kube_informer_key(struct arena *arena, const char *namespace_, const char *name)
{
	return arena_printf(arena, "%s%s%s", namespace_, *namespace_ ? "/" : "", name);
}

const void *kube_informer_get(const struct kube_informer *informer, const char *namespace_,
			      const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	return kube_store_get(&informer->store, kube_informer_key(&arena, namespace_, name));
}

const char *kube_informer_bad(const struct kube_informer *informer, const char *namespace_,
			      const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	return kube_store_bad(&informer->store, kube_informer_key(&arena, namespace_, name));
}

bool kube_informer_unread(const struct kube_informer *informer, const char *namespace_,
			  const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	return kube_store_unread(&informer->store, kube_informer_key(&arena, namespace_, name));
}

bool kube_informer_indexed_unread(const struct kube_informer *informer, const char *key)
{
	return kube_store_indexed_unread(&informer->store, key) > 0;
}

const char *kube_informer_incomplete(const struct kube_informer *informer, const char *namespace_)
{
	return kube_store_incomplete(&informer->store, namespace_);
}

size_t kube_informer_bad_count(const struct kube_informer *informer)
{
	return informer->store.bad_count;
}

const void *kube_informer_next(const struct kube_informer *informer, size_t *at)
{
	return kube_store_next(&informer->store, at);
}

size_t kube_informer_count(const struct kube_informer *informer)
{
	return informer->store.good_count;
}

const void *const *kube_informer_indexed(const struct kube_informer *informer, const char *key,
					 size_t *ret_count)
{
	return kube_store_indexed(&informer->store, key, ret_count);
}

size_t kube_informer_bytes(const struct kube_informer *informer, const char *namespace_,
			   const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	return kube_store_bytes(&informer->store, kube_informer_key(&arena, namespace_, name));
}

size_t kube_informer_indexed_bytes(const struct kube_informer *informer, const char *key)
{
	return kube_store_indexed_bytes(&informer->store, key);
}

size_t kube_informer_leading(const struct kube_informer *informer, const char *key)
{
	return kube_store_leading(&informer->store, key);
}

struct kube_informer_counters kube_informer_counters(const struct kube_informer *informer)
{
	return informer->counters;
}
