#include "core/nodes/disruption_taint.h"

#include <stdint.h>
#include <string.h>

struct final_taint {
	const char *key;
	bool prefix;
	int64_t notice_seconds;
};

/* The first row that names it: those of single keys come before that of their prefix. */
static const struct final_taint *find(const struct taint *taint)
{
	static const struct final_taint finals[] = {
#define X(key, prefix, notice, source) { key, prefix, notice },
		LEAVING_TAINT_TABLE(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(finals) / sizeof(finals[0]); i++)
		if (finals[i].prefix ?
			    strncmp(taint->key, finals[i].key, strlen(finals[i].key)) == 0 :
			    strcmp(taint->key, finals[i].key) == 0)
			return &finals[i];
	return NULL;
}

bool disruption_taint_is_final(const struct taint *taint)
{
	return find(taint) != NULL;
}

const struct taint *disruption_taint(const struct node *node)
{
	for (size_t i = 0; i < node->taint_count; i++)
		if (disruption_taint_is_final(&node->taints[i]))
			return &node->taints[i];
	return NULL;
}

time_ms disruption_taint_end(const struct taint *taint)
{
	const struct final_taint *final = find(taint);

	if (!final || final->notice_seconds == NOTICE_UNKNOWN || taint->added == TIME_NONE)
		return TIME_NONE;
	return taint->added + final->notice_seconds * MS_PER_SECOND;
}
