/* The output of a credential plugin. Laws: an error has a text that repeats nothing of the answer;
 * an accepted answer has a token that is valid in a header, or a certificate with its key. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/exec_credential_json.h"

static void check(const struct exec_credential *credential)
{
	REQUIRE(*credential->token || *credential->certificate_pem);
	REQUIRE(!*credential->certificate_pem == !*credential->key_pem);
	for (const char *c = credential->token; *c; c++)
		REQUIRE((unsigned char)*c > ' ' && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = { "client.authentication.k8s.io/v1",
						"client.authentication.k8s.io/v1beta1" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct err err = { .kind = ERR_NONE };
		struct exec_credential credential;

		if (exec_credential_decode((const char *)data, size, versions[i], &arena,
					   &credential, &err) == 0)
			check(&credential);
		else
			REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0' &&
				!strstr(err.text, "S3CR3T"));
	}
	return 0;
}
