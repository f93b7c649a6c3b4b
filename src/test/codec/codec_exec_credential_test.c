/* codec/objects/exec_credential_json: the input of a credential plugin, and its valid answers. */
#include "codec/objects/exec_credential_json.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define V1 "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define HEAD "{\"apiVersion\": \"" V1 "\", \"kind\": \"ExecCredential\", \"status\": "

static void test_request(void **state)
{
	struct exec_cluster cluster = { .server = "https://h",
					.server_name = "n",
					.ca_pem = "ABC",
					.config = "{\"a\": 1}",
					.insecure = true };
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 4096);
	assert_int_equal(exec_credential_request_write(V1, false, NULL, &buf), 0);
	assert_string_equal(buf_string(&buf),
			    "{\"apiVersion\": \"" V1 "\", \"kind\": \"ExecCredential\", "
			    "\"spec\": {\"interactive\": false}}");
	buf_clear(&buf);
	assert_int_equal(exec_credential_request_write(V1BETA1, true, &cluster, &buf), 0);
	assert_string_equal(
		buf_string(&buf),
		"{\"apiVersion\": \"" V1BETA1 "\", \"kind\": \"ExecCredential\", "
		"\"spec\": {\"interactive\": true, \"cluster\": {\"server\": \"https://h\", "
		"\"tls-server-name\": \"n\", \"insecure-skip-tls-verify\": true, "
		"\"certificate-authority-data\": \"QUJD\", \"config\": {\"a\": 1}}}}");
	buf_clear(&buf);
	cluster = (struct exec_cluster){ "https://h", "", "", "", false };
	assert_int_equal(exec_credential_request_write(V1, false, &cluster, &buf), 0);
	assert_non_null(strstr(buf_string(&buf), "\"cluster\": {\"server\": \"https://h\"}}}"));
}

static void test_request_has_a_ceiling(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 40);
	assert_int_equal(exec_credential_request_write(V1, false, NULL, &buf), -1);
}

static int decode(const char *text, struct arena *arena, struct exec_credential *ret_credential,
		  struct err *err)
{
	return exec_credential_decode(text, strlen(text), V1, arena, ret_credential, err);
}

static void test_answers(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct exec_credential credential;

	(void)state;
	assert_int_equal(decode(HEAD "{\"token\": \"t\"}}\n", &arena, &credential, NULL), 0);
	assert_string_equal(credential.token, "t");
	assert_string_equal(credential.certificate_pem, "");
	assert_string_equal(credential.key_pem, "");
	assert_true(credential.expires == TIME_NONE);
	assert_int_equal(decode(HEAD "{\"clientCertificateData\": \"-----BEGIN CERTIFICATE-----\", "
				     "\"clientKeyData\": \"-----BEGIN KEY-----\", "
				     "\"expirationTimestamp\": \"1970-01-01T00:00:05Z\"}}",
				&arena, &credential, NULL),
			 0);
	assert_string_equal(credential.token, "");
	assert_string_equal(credential.certificate_pem, "-----BEGIN CERTIFICATE-----");
	assert_string_equal(credential.key_pem, "-----BEGIN KEY-----");
	assert_int_equal(credential.expires, 5000);
}

/* No error repeats the value of an answer. */
static void test_refused_answers(void **state)
{
	static const struct {
		const char *text, *path, *what;
	} bad[] = {
		{ "", "", "empty" },
		{ "secret", "line 1", "a value is expected" },
		{ "\"secret\"", "", "must be an object" },
		{ "{\"apiVersion\": \"" V1 "\", \"kind\": \"secret\"}", "kind",
		  "must be ExecCredential" },
		{ "{\"apiVersion\": \"secret\", \"kind\": \"ExecCredential\"}", "apiVersion",
		  "must be " V1 ", as in the kubeconfig" },
		{ "{\"apiVersion\": \"" V1 "\", \"kind\": \"ExecCredential\"}", "status",
		  "neither token" },
		{ HEAD "\"secret\"}", "status", "must be an object" },
		{ HEAD "{\"token\": \"\"}}", "status", "neither token" },
		{ HEAD "{\"token\": [\"secret\"]}}", "status.token", "must be a string" },
		{ HEAD "{\"token\": \"secret\\r\\nX: y\"}}", "status.token", "white space" },
		{ HEAD "{\"token\": \"secret\\u00e9\"}}", "status.token", "not ASCII" },
		{ HEAD "{\"clientCertificateData\": \"secret\"}}", "status.clientCertificateData",
		  "not PEM" },
		{ HEAD "{\"clientKeyData\": \"secret\"}}", "status.clientKeyData", "not PEM" },
		{ HEAD "{\"clientCertificateData\": \"-----BEGIN secret\"}}", "status",
		  "only one of" },
		{ HEAD "{\"token\": \"secret\", \"clientKeyData\": \"-----BEGIN x\"}}", "status",
		  "only one of" },
		{ HEAD "{\"token\": \"secret\", \"expirationTimestamp\": \"secret\"}}",
		  "status.expirationTimestamp", "not a time" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct exec_credential credential;
		struct err err = { .kind = ERR_NONE };

		assert_int_equal(decode(bad[i].text, &arena, &credential, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		if (!strstr(err.text, bad[i].path) || !strstr(err.text, bad[i].what) ||
		    strstr(err.text, "secret"))
			fail_msg("%zu: \"%s\"", i, err.text);
	}
}

static void test_size_is_bounded(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct exec_credential credential;
	struct err err = { .kind = ERR_NONE };
	size_t size = EXEC_CREDENTIAL_MAX_BYTES + 1;
	AUTO(memory_free_string) char *text = memory_alloc(size + 1);

	(void)state;
	memset(text, ' ', size);
	memcpy(text, HEAD "{\"token\": \"t\"}}", strlen(HEAD "{\"token\": \"t\"}}"));
	assert_int_equal(exec_credential_decode(text, size - 1, V1, &arena, &credential, &err), 0);
	assert_int_equal(exec_credential_decode(text, size, V1, &arena, &credential, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_request_has_a_ceiling),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_refused_answers),
		cmocka_unit_test(test_size_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
