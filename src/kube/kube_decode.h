/* Decodes large objects beside the loop: one after another for all informers of a client, so that the memory
 * of one tree is the most that is used. The order of one informer is its own: it reads nothing further
 * until its object has been decoded. Only for kube_informer and kube_watch. */
#ifndef KUBE_KUBE_DECODE_H
#define KUBE_KUBE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"

struct cJSON;
struct kube_decode;
struct kube_type;
struct loop;

/* A smaller text is decoded on the loop: in 8 ms at most, and a tenth of it for most objects. */
#define KUBE_DECODE_INLINE_BYTES ((size_t)64 << 10)

/* Zeroed, with its loop. Owns nothing when no object is being decoded. */
struct kube_decoder {
	struct loop *loop;
	struct list waiting; /* the first one is decoded */
};

/* The result of a text. */
struct kube_decoded {
	struct cJSON *
		json; /* the skeleton (codec/objects/foreign_object) of the text, or all of one that was parsed and not decoded */
	/* Why there is no object, and then `json` is all that is known; NULL: there is one. */
	const char *problem;
	/* Of the object and the version, in a block of their size. Its receiver may take it. */
	struct arena arena;
	void *object;
	const char *resource_version;
};

/* Copies the text. `watch`: it is a watch event with the object in it. Calls done on the loop; what it gets
 * is valid until it returns, but for an arena that it takes. */
struct kube_decode *kube_decode_start(struct kube_decoder *decoder, const struct kube_type *type,
				      const char *text, size_t size, bool watch,
				      void (*done)(void *context, struct kube_decoded *decoded),
				      void *context);
/* No callback any more. NULL is fine. */
void kube_decode_cancel(struct kube_decode *decode);

#endif
