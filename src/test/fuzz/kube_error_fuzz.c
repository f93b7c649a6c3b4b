/* An answer of the API server, or of a proxy in front of it, that is not a success. Laws: there is
 * a kind and a text; the pause that it asks for is at most a day and never shorter than in the
 * header. */
#include "fuzz.h"

#include "kube/kube_error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int codes[] = { 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 302, 599 };
	struct kube_error_call call = { .path = "/apis/ray.io/v1/namespaces/a/rayclusters/b?x=y",
					.source = "in-cluster",
					.problem = "" };
	int64_t retry_after_ms = 1500;
	struct err err = { .kind = ERR_NONE };

	if (size == 0)
		return 0;
	call.verb = KUBE_GET + data[0] / 16 % KUBE_DELETE;
	call.watch = call.verb == KUBE_GET && data[0] & 128;
	kube_error_set(&call, codes[data[0] % (sizeof(codes) / sizeof(codes[0]))],
		       (const char *)data + 1, size - 1, &retry_after_ms, &err);
	REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
	REQUIRE(retry_after_ms >= 1500 && retry_after_ms < INT64_C(86400000));
	return 0;
}
