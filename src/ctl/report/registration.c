#include "ctl/report/registration.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/memory.h"
#include "core/model/kubernetes.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "net/log.h"
#include "net/loop.h"

struct registration {
	const struct control *control;
	char *bind_address;
	int port;
	char *session; /* of Ray, when it was last written */
	int64_t next_ms;
	struct log_repeat trouble;
};

struct registration *registration_new(const struct control *control, const char *bind_address,
				      int port)
{
	struct registration *registration = memory_alloc(sizeof(*registration));

	registration->control = control;
	registration->bind_address = memory_strdup(bind_address);
	registration->port = port;
	registration->session = memory_strdup("");
	return registration;
}

void registration_free(struct registration *registration)
{
	if (!registration)
		return;
	log_repeat_done(&registration->trouble);
	memory_free(registration->bind_address);
	memory_free(registration->session);
	memory_free(registration);
}

const char *registration_address(const char *bind_address, int port, const char *pod_ip,
				 struct arena *arena)
{
	size_t size = (size_t)(strrchr(bind_address, ':') - bind_address);
	const char *host = arena_strndup(arena, bind_address, size);

	if (host[0] && strcmp(host, "0.0.0.0") != 0 && strcmp(host, "[::]") != 0)
		return arena_printf(arena, "%s:%d", host, port);
	return arena_printf(arena, strchr(pod_ip, ':') ? "[%s]:%d" : "%s:%d", pod_ip, port);
}

static void written(void *context, const struct gcs_reply *reply UNUSED, const struct err *err)
{
	struct registration *registration = context;

	if (!err) {
		log_repeat_end(&registration->trouble,
			       "the address of the metrics is not announced to Ray",
			       REGISTRATION_KEY);
		return;
	}
	metrics_gcs_failed(registration->control->metrics, err);
	log_repeat_error(&registration->trouble,
			 "the address of the metrics is not announced to Ray", REGISTRATION_KEY,
			 err->text);
	registration->next_ms =
		loop_monotonic_ms(registration->control->loop) + REGISTRATION_RETRY_MS;
}

static const char *head_ip(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (pod_is_head(snapshot->pods[i]) && !snapshot->pods[i]->deleting)
			return snapshot->pods[i]->pod_ip;
	return "";
}

void registration_decided(void *listener, const struct pass_decision *decision)
{
	struct registration *registration = listener;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *session, *pod_ip, *address;
	int64_t now_ms;

	if (!registration || !decision->gcs || !decision->ray_state)
		return;
	now_ms = loop_monotonic_ms(registration->control->loop);
	session = decision->ray_state->session_name;
	pod_ip = head_ip(decision->snapshot);
	if (pod_ip[0] == '\0' ||
	    (now_ms < registration->next_ms && !strcmp(session, registration->session)))
		return;
	memory_set_string(&registration->session, session);
	registration->next_ms = now_ms + REGISTRATION_AGAIN_MS;
	address = registration_address(registration->bind_address, registration->port, pod_ip,
				       &scratch);
	(void)gcs_client_kv_put(decision->gcs,
				registration->control->options->gcs_timeout_seconds * MS_PER_SECOND,
				"", REGISTRATION_KEY, address, strlen(address), written,
				registration);
}
