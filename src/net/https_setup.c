#include "net/https_setup.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define HTTPS_RECEIVE_BYTES 16384L /* a piece of a body is not larger */
#define HTTPS_IDLE_MAX_S 118L      /* libcurl's own CURLOPT_MAXAGE_CONN */
#define HTTPS_KEEPALIVE_IDLE_S 15L
#define HTTPS_KEEPALIVE_INTERVAL_S 5L

/* A setopt that is refused is a fault of the libcurl build: reported, never ignored. */
#define HTTPS_SET(easy, option, value)                                                             \
	do {                                                                                       \
		CURLcode code_ = curl_easy_setopt((easy)->curl, (option), (value));                \
		if (code_ != CURLE_OK)                                                             \
			return err_set(err, ERR_FATAL, "libcurl refuses " #option ": %s",          \
				       curl_easy_strerror(code_));                                 \
	} while (0)

char *https_origin(const char *url)
{
	const char *host = strstr(url, "://");
	size_t size = host ? (size_t)(host - url) + 3 : 0;

	size += strcspn(url + size, "/?#");
	return memory_strndup(url, size);
}

/* A line end inside a header (a token file with two lines) would inject another header. */
static int https_add_header(struct https_easy *easy, const char *name, const char *value,
			    struct err *err)
{
	size_t size = strlen(name) + strlen(value) + 1;

	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7F)
			return err_set(err, ERR_FATAL,
				       "a control character in the value of header %s",
				       *name ? name : "(own)");
	}
	char *line = memory_alloc(size);
	(void)snprintf(line, size, "%s%s", name, value);
	struct curl_slist *list = curl_slist_append(easy->headers, line);
	memory_free(line);
	if (!list)
		return err_set(err, ERR_FATAL, "out of memory for a header");
	easy->headers = list;
	return 0;
}

static int https_set_headers(struct https_easy *easy, const struct https_call *call,
			     struct err *err)
{
	/* "Expect: 100-continue" would cost a round trip of up to a second for large bodies. */
	if (https_add_header(easy, "Expect:", "", err) < 0)
		return -1;
	for (size_t i = 0; i < call->header_count; i++) {
		if (https_add_header(easy, "", call->headers[i], err) < 0)
			return -1;
	}
	if (call->bearer_token &&
	    https_add_header(easy, "Authorization: Bearer ", call->bearer_token, err) < 0)
		return -1;
	HTTPS_SET(easy, CURLOPT_HTTPHEADER, easy->headers);
	return 0;
}

static int https_set_request(struct https_easy *easy, const struct https_call *call,
			     struct err *err)
{
	bool plain = call->allow_plain && strncmp(call->url, "http://", 7) == 0;

	/* curl has the same error code for this as for an answer that is not HTTP. */
	if (!plain && strncmp(call->url, "https://", 8) != 0)
		return err_set(err, ERR_FATAL, "the address must begin with https://");
	HTTPS_SET(easy, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
	if (call->body_size > 0) {
		easy->body = memory_alloc(call->body_size);
		memcpy(easy->body, call->body, call->body_size);
		HTTPS_SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_size);
		HTTPS_SET(easy, CURLOPT_POSTFIELDS, (char *)easy->body);
	}
	HTTPS_SET(easy, CURLOPT_CUSTOMREQUEST, call->method);
	HTTPS_SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	HTTPS_SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
	HTTPS_SET(easy, CURLOPT_PROXY, ""); /* else curl reads the environment */
	HTTPS_SET(easy, CURLOPT_PATH_AS_IS, 1L);
	return 0;
}

static int https_set_limits(struct https_easy *easy, const struct https_call *call, struct err *err)
{
	HTTPS_SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
	HTTPS_SET(easy, CURLOPT_TIMEOUT_MS, (long)call->total_ms);
	HTTPS_SET(easy, CURLOPT_BUFFERSIZE, HTTPS_RECEIVE_BYTES);
	/* No SIGALRM, and no wait for a resolver thread when a request is cancelled. */
	HTTPS_SET(easy, CURLOPT_NOSIGNAL, 1L);
	HTTPS_SET(easy, CURLOPT_QUICK_EXIT, 1L);
	HTTPS_SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	HTTPS_SET(easy, CURLOPT_TCP_KEEPIDLE, HTTPS_KEEPALIVE_IDLE_S);
	HTTPS_SET(easy, CURLOPT_TCP_KEEPINTVL, HTTPS_KEEPALIVE_INTERVAL_S);
	return 0;
}

static int https_set_pem(struct https_easy *easy, CURLoption option, const char *pem,
			 struct err *err)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };

	if (!pem || !*pem)
		return 0;
	blob.data = (void *)(uintptr_t)pem;
	blob.len = strlen(pem);
	if (curl_easy_setopt(easy->curl, option, &blob) != CURLE_OK)
		return err_set(err, ERR_FATAL, "libcurl refuses a certificate or key");
	return 0;
}

/* SNI and verification use `name`, while the connection is made to the host of the URL. */
static int https_set_server_name(struct https_easy *easy, const struct https_call *call,
				 const char *name, struct err *err)
{
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL, *changed = NULL;
	char target[1024], header[512];
	int result = -1;

	if (!url || curl_url_set(url, CURLUPART_URL, call->url, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
	    curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_URL, &changed, 0) != CURLUE_OK) {
		err_set(err, ERR_FATAL, "the address or the server name \"%s\" cannot be used",
			name);
		goto out;
	}
	if (snprintf(target, sizeof(target), "::%s:%s", host, port) >= (int)sizeof(target) ||
	    snprintf(header, sizeof(header), "%s:%s", host, port) >= (int)sizeof(header)) {
		err_set(err, ERR_FATAL, "the host of the address is too long");
		goto out;
	}
	easy->connect_to = curl_slist_append(NULL, target);
	if (!easy->connect_to ||
	    curl_easy_setopt(easy->curl, CURLOPT_CONNECT_TO, easy->connect_to) != CURLE_OK ||
	    curl_easy_setopt(easy->curl, CURLOPT_URL, changed) != CURLE_OK) {
		err_set(err, ERR_FATAL, "libcurl refuses the server name \"%s\"", name);
		goto out;
	}
	result = https_add_header(easy, "Host: ", header, err);
out:
	curl_free(host);
	curl_free(port);
	curl_free(changed);
	curl_url_cleanup(url);
	return result;
}

static int https_set_tls(struct https_easy *easy, const struct https_call *call, struct err *err)
{
	const struct https_tls *tls = call->tls;

	HTTPS_SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (!tls)
		return 0;
	if (tls->insecure) {
		HTTPS_SET(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		HTTPS_SET(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (tls->ca_pem && *tls->ca_pem) {
		/* The blob replaces CAINFO only; Debian's libcurl would also trust all of
		 * /etc/ssl/certs. */
		HTTPS_SET(easy, CURLOPT_CAPATH, (char *)NULL);
	}
	if (https_set_pem(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem, err) < 0 ||
	    https_set_pem(easy, CURLOPT_SSLCERT_BLOB, tls->certificate_pem, err) < 0 ||
	    https_set_pem(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem, err) < 0)
		return -1;
	if (tls->server_name && *tls->server_name)
		return https_set_server_name(easy, call, tls->server_name, err);
	return 0;
}

int https_easy_init(struct https_easy *easy, const struct https_call *call, const char *user_agent,
		    struct err *err)
{
	easy->curl = curl_easy_init();
	if (!easy->curl)
		return err_set(err, ERR_FATAL, "libcurl cannot make a handle");
	HTTPS_SET(easy, CURLOPT_ERRORBUFFER, easy->error);
	HTTPS_SET(easy, CURLOPT_USERAGENT, user_agent);
	HTTPS_SET(easy, CURLOPT_URL, call->url);
	if (https_set_request(easy, call, err) < 0 || https_set_limits(easy, call, err) < 0 ||
	    https_set_tls(easy, call, err) < 0)
		return -1;
	return https_set_headers(easy, call, err);
}

int https_easy_distrust(struct https_easy *easy, int64_t since_ms, struct err *err)
{
	long seconds = (long)(since_ms / MS_PER_SECOND);

	/* libcurl closes connections that idled for more whole seconds than this; 0 means no
	 * limit. */
	if (seconds < 2)
		HTTPS_SET(easy, CURLOPT_FRESH_CONNECT, 1L);
	else if (seconds <= HTTPS_IDLE_MAX_S)
		HTTPS_SET(easy, CURLOPT_MAXAGE_CONN, seconds - 1);
	return 0;
}

void https_easy_done(struct https_easy *easy)
{
	curl_easy_cleanup(easy->curl);
	curl_slist_free_all(easy->headers);
	curl_slist_free_all(easy->connect_to);
	memory_free(easy->body);
}
