/* The lists of a GCS by which idle termination judges a cluster; the first byte selects the list. Laws:
 * any bytes give a reply whose text is bounded, or a refusal with a text; a smaller budget gives the
 * same reply or a refusal. */
#include "gcs_list_fuzz.h"

#include <string.h>

#include "gcs/gcs_in_use.h"

#define USER_MAX_BYTES 1000

static void check_use(const struct ray_in_use *use)
{
	REQUIRE(strlen(use->user) <= USER_MAX_BYTES);
	REQUIRE(use->ended == TIME_NONE || use->ended > 0);
	REQUIRE(use->missing >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum ray_list lists[] = { RAY_LIST_ACTORS, RAY_LIST_GROUPS, RAY_LIST_JOBS };
	struct list_fuzz fuzz;
	enum ray_list list;

	if (size == 0)
		return 0;
	list = lists[data[0] % (sizeof(lists) / sizeof(lists[0]))];
	list_fuzz_read(&fuzz, &gcs_in_use, list, data + 1, size - 1);
	if (fuzz.read)
		check_use(fuzz.reply.in_use);
	if (fuzz.read_small)
		REQUIRE(strcmp(fuzz.reply_small.in_use->user, fuzz.reply.in_use->user) == 0 &&
			fuzz.reply_small.in_use->ended == fuzz.reply.in_use->ended &&
			fuzz.reply_small.in_use->missing == fuzz.reply.in_use->missing);
	list_fuzz_done(&fuzz);
	return 0;
}
