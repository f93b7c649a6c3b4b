/* The lists of a GCS by which idle termination judges a cluster; the first byte selects the list. Laws:
 * any bytes give a reply whose text is bounded, or a refusal with a text; a smaller budget gives the
 * same reply or a refusal. */
#include "fuzz.h"

#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "gcs/gcs_in_use.h"
#include "gcs/gcs_list.h"

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
	struct budget budget = { .name = "all answers", .limit_bytes = (size_t)256 << 10 };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(arena_done) struct arena small = { .budget = &budget };
	struct err err = { .kind = ERR_NONE };
	struct gcs_reply reply, again;
	enum ray_list list;
	int status;

	if (size == 0)
		return 0;
	list = lists[data[0] % (sizeof(lists) / sizeof(lists[0]))];
	status = gcs_list_decode(&gcs_in_use, list, data + 1, size - 1, NULL, &arena, &reply, &err);
	REQUIRE(status == 0 || (err.kind != ERR_NONE && err.text[0] != '\0'));
	if (status == 0)
		check_use(reply.in_use);
	if (gcs_list_decode(&gcs_in_use, list, data + 1, size - 1, NULL, &small, &again, &err) == 0)
		REQUIRE(status == 0 && strcmp(again.in_use->user, reply.in_use->user) == 0 &&
			again.in_use->ended == reply.in_use->ended &&
			again.in_use->missing == reply.in_use->missing);
	return 0;
}
