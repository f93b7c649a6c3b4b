#include "core/nodes/disruption_taint.h"

#include <string.h>

bool disruption_taint_is_final(const struct taint *taint)
{
	static const struct {
		const char *key;
		bool prefix;
	} finals[] = {
#define X(key, prefix, source) { key, prefix },
		LEAVING_TAINT_TABLE(X)
#undef X
	};
	for (size_t i = 0; i < sizeof(finals) / sizeof(finals[0]); i++)
		if (finals[i].prefix ?
			    strncmp(taint->key, finals[i].key, strlen(finals[i].key)) == 0 :
			    strcmp(taint->key, finals[i].key) == 0)
			return true;
	return false;
}

const struct taint *disruption_taint(const struct node *node)
{
	for (size_t i = 0; i < node->taint_count; i++)
		if (disruption_taint_is_final(&node->taints[i]))
			return &node->taints[i];
	return NULL;
}
