/* For the fuzz targets of the lists of a GCS. Laws of all of them: a refusal has a text, and a smaller
 * budget gives a refusal where the larger one gave one. */
#ifndef TEST_GCS_LIST_FUZZ_H
#define TEST_GCS_LIST_FUZZ_H

#include "fuzz.h"

#include "base/budget.h"
#include "base/memory.h"
#include "gcs/gcs_list.h"

struct list_fuzz {
	struct budget budget;
	struct arena arena, small;
	bool read, read_small;
	struct gcs_reply reply, reply_small; /* of what was read */
};

static void list_fuzz_read(struct list_fuzz *fuzz, const struct gcs_list_use *use,
			   enum ray_list list, const uint8_t *data, size_t size)
{
	struct err err = { .kind = ERR_NONE };

	*fuzz = (struct list_fuzz){
		.budget = { .name = "all answers", .limit_bytes = (size_t)256 << 10 },
		.arena = ARENA_INIT,
		.small = { .budget = &fuzz->budget },
	};
	fuzz->read =
		gcs_list_decode(use, list, data, size, NULL, &fuzz->arena, &fuzz->reply, &err) == 0;
	REQUIRE(fuzz->read || (err.kind != ERR_NONE && err.text[0] != '\0'));
	fuzz->read_small = gcs_list_decode(use, list, data, size, NULL, &fuzz->small,
					   &fuzz->reply_small, &err) == 0;
	REQUIRE(fuzz->read || !fuzz->read_small);
}

static void list_fuzz_done(struct list_fuzz *fuzz)
{
	arena_done(&fuzz->arena);
	arena_done(&fuzz->small);
}

#endif
