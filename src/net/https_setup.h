/* One libcurl easy handle, set up from a struct https_call: method, headers, body, TLS, deadlines.
 * The caller owns struct https_easy. Only for net/https. */
#ifndef NET_HTTPS_SETUP_H
#define NET_HTTPS_SETUP_H

#include <curl/curl.h>

#include "base/err.h"
#include "net/https.h"

struct https_easy {
	CURL *curl;
	struct curl_slist *headers;
	struct curl_slist *connect_to; /* with a server name of its own */
	void *body;
	char error[CURL_ERROR_SIZE];
};

/* 0, or -1 with ERR_FATAL (texts never hold a header). https_easy_done is needed either way, and
 * the struct must not move in between. */
int https_easy_init(struct https_easy *easy, const struct https_call *call, const char *user_agent,
		    struct err *err);
/* Prevents the use of connections that have idled since before since_ms ago. -1 with ERR_FATAL. */
int https_easy_distrust(struct https_easy *easy, int64_t since_ms, struct err *err);
void https_easy_done(struct https_easy *easy);

/* "https://host:port" of a URL, for messages; memory_free. */
char *https_origin(const char *url);

#endif
