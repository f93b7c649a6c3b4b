/* The address of a GCS and its token in a head Pod and a Secret. Laws: an address has a host and a
 * port that a socket accepts; a token is valid in a header; errors do not repeat it. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/pod_json.h"
#include "gcs/gcs_address.h"
#include "gcs/gcs_auth.h"

static void check_token(const char *data, size_t size)
{
	AUTO(memory_free_string) char *token = NULL;
	struct err err = { .kind = ERR_NONE };

	if (gcs_auth_parse_token("secret a", data, size, &token, &err)) {
		REQUIRE(err.text[0] != '\0' && !strstr(err.text, "S3CR3T"));
		return;
	}
	REQUIRE(*token && strlen(token) <= GCS_AUTH_MAX_TOKEN_BYTES);
	for (const char *c = token; *c; c++)
		REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_address(const struct pod *pod)
{
	struct err err = { .kind = ERR_NONE };
	struct gcs_address address;

	if (gcs_address_of_pod(pod, &address, &err))
		REQUIRE(err.text[0] != '\0');
	else
		REQUIRE(*address.host && address.port > 0 && address.port < 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err = { .kind = ERR_NONE };
	struct pod pod;

	check_token((const char *)data, size);
	if (json_parse((const char *)data, size, &fuzz_limits, &tree, &err) == 0 &&
	    pod_decode(tree, "", &arena, &pod, &err) == 0)
		check_address(&pod);
	return 0;
}
