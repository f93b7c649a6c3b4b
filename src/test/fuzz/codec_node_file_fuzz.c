/* Nodes of a file, as `kubectl get nodes -o yaml` writes them. Laws: a refusal has a reason; each
 * Node that is read has the texts that later code reads. */
#include "fuzz.h"

#include "base/memory.h"
#include "feature/lint/objects/node_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	const struct node *nodes = NULL;
	size_t count = 0;

	if (node_file_read((const char *)data, size, &arena, &nodes, &count, &err)) {
		REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		return 0;
	}
	REQUIRE(count <= size);
	for (size_t i = 0; i < count; i++)
		REQUIRE(nodes[i].name != NULL);
	return 0;
}
