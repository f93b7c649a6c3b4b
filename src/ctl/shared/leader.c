#include "ctl/shared/leader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/memory.h"
#include "ctl/shared/options.h"
#include "kube/kube_client.h"
#include "kube/kube_config.h"
#include "kube/kube_lease.h"
#include "net/https.h"
#include "net/log.h"
#include "net/loop_thread.h"

#define TROUBLE "cannot use the Lease (needs get, create and update of leases.coordination.k8s.io)"

/* Used only by the thread of the Lease while it runs. */
struct election {
	struct loop *loop;
	struct https *https;
	struct kube_config *config;
	struct kube_client *client;
	struct kube_lease *lease;
	struct loop_port *port; /* to it: any message asks for the release */
	struct log_repeat trouble;
};

struct leader {
	struct election election;
	struct loop_thread *thread;
	struct loop *main_loop;
	struct loop_port *port; /* to the main loop: struct news */
	atomic_llong
		held_until_ms; /* of loop_boot_ms; written by the thread, read by the main loop */
	/* Const: "namespace/name" of the Lease, and "Lease namespace/name". */
	char *identity, *key, *object;
	/* The members below belong to the main loop. */
	struct leader_callbacks callbacks;
	char *holder;
	struct loop_timer *release_end; /* not NULL: released, it leads no more */
	void (*released)(void *context);
	void *released_context;
};

enum news_kind { NEWS_LEADING = 1, NEWS_LOST, NEWS_HOLDER, NEWS_RELEASED };

struct news {
	enum news_kind kind;
	bool given_back; /* RELEASED: the Lease was held and is released */
	struct err err;  /* LOST, RELEASED: why; ERR_NONE: all is well */
	char holder[];   /* HOLDER, RELEASED */
};

/* Two processes with one identity would both believe to hold the Lease: a Pod's name is unique, a
 * host's is not. */
char *leader_make_identity(void)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *pod = getenv("POD_NAME");
	char host[256] = "";
	uint32_t random = 0;

	if (pod && pod[0])
		return memory_strdup(pod);
	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		snprintf(host, sizeof(host), "rayscaler");
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)getpid();
	return memory_strdup(arena_printf(&scratch, "%s_%08x", host, random));
}

/* --- on the thread of the Lease --- */

static struct news *news_new(enum news_kind kind, const char *holder)
{
	struct news *news = memory_alloc(sizeof(*news) + strlen(holder) + 1);

	news->kind = kind;
	memcpy(news->holder, holder, strlen(holder) + 1);
	return news;
}

static void note_held(struct leader *leader)
{
	atomic_store(&leader->held_until_ms, kube_lease_held_until_ms(leader->election.lease));
}

static void on_leading(void *context)
{
	struct leader *leader = context;

	note_held(leader);
	log_info("leading", "lease", leader->key, "identity", leader->identity, NULL);
	loop_port_send(leader->port, news_new(NEWS_LEADING, ""));
}

static void on_lost(void *context, const char *why)
{
	struct leader *leader = context;
	struct news *news = news_new(NEWS_LOST, "");

	note_held(leader); /* no write from here on */
	err_set(&news->err, ERR_DENIED,
		"the Lease %s is lost, another replica may act now: %s; this process ends and has "
		"to be started again",
		leader->key, why);
	loop_port_send(leader->port, news);
}

static void on_holder(void *context, const char *holder)
{
	struct leader *leader = context;

	if (!holder[0])
		log_info("there is no leader", "lease", leader->key, NULL);
	else if (strcmp(holder, leader->identity) != 0)
		log_info("another replica leads", "lease", leader->key, "holder", holder, NULL);
	loop_port_send(leader->port, news_new(NEWS_HOLDER, holder));
}

static void on_error(void *context, const struct err *err)
{
	struct leader *leader = context;

	log_repeat_error(&leader->election.trouble, TROUBLE, leader->object, err->text);
}

static void on_good(void *context)
{
	struct leader *leader = context;

	note_held(leader);
	log_repeat_end(&leader->election.trouble, TROUBLE, leader->object);
}

static void send_released(struct leader *leader, bool given_back, const struct err *err)
{
	struct news *news = news_new(NEWS_RELEASED, kube_lease_holder(leader->election.lease));

	news->given_back = given_back;
	if (err)
		news->err = *err;
	loop_port_send(leader->port, news);
}

static void on_released(void *context, const struct err *err)
{
	send_released(context, true, err);
}

static void on_release(void *context, void *message UNUSED)
{
	struct leader *leader = context;

	if (!kube_lease_release(leader->election.lease, on_released, leader))
		send_released(leader, false, NULL);
}

/* --- on the main loop --- */

/* Ends the release at the answer or at the deadline, the earlier of the two. */
static void end_release(struct leader *leader, const char *problem)
{
	void (*released)(void *context) = steal(&leader->released);

	if (!released)
		return;
	loop_timer_stop(leader->release_end);
	if (problem)
		log_warning("the Lease could not be released; it expires", "lease", leader->key,
			    "error", problem, NULL);
	released(leader->released_context);
}

static void on_release_late(void *context)
{
	end_release(context, "the API server does not answer");
}

static void on_news(void *context, void *message)
{
	struct leader *leader = context;
	const struct news *news = message;

	if (news->kind == NEWS_HOLDER || news->kind == NEWS_RELEASED)
		memory_set_string(&leader->holder, news->holder);
	if (news->kind == NEWS_RELEASED) {
		if (news->given_back && !news->err.kind && leader->released)
			log_info("gave the Lease back", "lease", leader->key, NULL);
		end_release(leader, news->err.kind ? news->err.text : NULL);
	}
	if (leader->release_end) /* sent before the release was processed */
		return;
	if (news->kind == NEWS_LEADING)
		leader->callbacks.begin(leader->callbacks.context);
	else if (news->kind == NEWS_LOST)
		leader->callbacks.lost(leader->callbacks.context, &news->err);
}

/* --- life --- */

static void election_start(struct leader *leader, const struct options *options,
			   const struct kube_lease_options *lease)
{
	struct election *election = &leader->election;
	/* Two tries within the deadline, however slow the API server is. */
	struct kube_client_options client = { .burst = 1,
					      .timeout_ms =
						      options->leader_elect_renew_deadline_ms / 2,
					      .body_max_bytes = KUBE_LEASE_BODY_MAX };

	election->loop = loop_new();
	election->https = https_new(election->loop, CONTROL_USER_AGENT);
	election->client =
		kube_client_new(election->loop, election->https, election->config, &client);
	election->port = loop_port_new(election->loop, on_release, leader);
	election->lease = kube_lease_new(election->client, lease);
	leader->thread = loop_thread_start(election->loop);
}

static void election_end(struct leader *leader)
{
	struct election *election = &leader->election;

	loop_thread_join(leader->thread);
	kube_lease_free(election->lease);
	kube_client_free(election->client);
	https_free(election->https);
	loop_port_free(election->port);
	loop_free(election->loop);
	kube_config_free(election->config);
	log_repeat_done(&election->trouble);
}

struct leader *leader_new(const struct control *control, struct kube_config *config,
			  const struct leader_callbacks *callbacks)
{
	const struct options *options = control->options;
	struct leader *leader = memory_alloc(sizeof(*leader));
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kube_lease_options lease = {
		.namespace_ = options->leader_elect_resource_namespace,
		.name = options->leader_elect_resource_name,
		.lease_duration_ms = options->leader_elect_lease_duration_ms,
		.renew_deadline_ms = options->leader_elect_renew_deadline_ms,
		.retry_period_ms = options->leader_elect_retry_period_ms,
		.on_leading = on_leading,
		.on_lost = on_lost,
		.on_holder = on_holder,
		.on_error = on_error,
		.on_good = on_good,
		.context = leader,
	};

	leader->election.config = config;
	if (!lease.namespace_[0])
		lease.namespace_ = kube_config_namespace(config);
	leader->callbacks = *callbacks;
	leader->identity = leader_make_identity();
	leader->key = memory_strdup(arena_printf(&scratch, "%s/%s", lease.namespace_, lease.name));
	leader->object = memory_strdup(arena_printf(&scratch, "Lease %s", leader->key));
	leader->holder = memory_strdup("");
	lease.identity = leader->identity;
	leader->main_loop = control->loop;
	leader->port = loop_port_new(control->loop, on_news, leader);
	log_info("waiting for the Lease", "lease", leader->key, "identity", leader->identity, NULL);
	election_start(leader, options, &lease);
	return leader;
}

void leader_free(struct leader *leader)
{
	if (!leader)
		return;
	election_end(leader);
	loop_port_free(leader->port);
	loop_timer_free(leader->release_end);
	memory_free(leader->identity);
	memory_free(leader->holder);
	memory_free(leader->key);
	memory_free(leader->object);
	memory_free(leader);
}

bool leader_is_leading(const struct leader *leader)
{
	return !leader ||
	       (!leader->release_end && loop_boot_ms() < atomic_load(&leader->held_until_ms));
}

const char *leader_holder(const struct leader *leader)
{
	return leader ? leader->holder : "";
}

const char *leader_identity(const struct leader *leader)
{
	return leader ? leader->identity : "";
}

bool leader_release(struct leader *leader, void (*done)(void *context), void *context)
{
	if (!leader || leader->release_end)
		return false;
	leader->release_end = loop_timer_new(leader->main_loop, on_release_late, leader);
	leader->released = done;
	leader->released_context = context;
	loop_timer_start(leader->release_end, LEADER_RELEASE_MS);
	loop_port_send(leader->election.port, memory_alloc(1));
	return true;
}
