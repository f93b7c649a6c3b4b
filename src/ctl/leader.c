#include "ctl/leader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "ctl/options.h"
#include "kube/kube_client.h"
#include "kube/kube_config.h"
#include "kube/kube_lease.h"
#include "net/log.h"
#include "net/loop.h"

#define TROUBLE "cannot use the Lease (needs get, create and update of leases.coordination.k8s.io)"

struct leader {
	struct kube_client *client;
	struct kube_lease *lease;
	struct leader_callbacks callbacks;
	char *identity, *key; /* "namespace/name" of the Lease */
	struct log_repeat trouble;
	struct loop_timer *release_end;
	void (*released)(void *context);
	void *released_context;
};

/* Two processes with one identity would both believe to hold the Lease: a Pod's name is unique, a
 * host's is not. */
static char *make_identity(void)
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

static void on_leading(void *context)
{
	struct leader *leader = context;

	log_info("leading", "lease", leader->key, "identity", leader->identity, NULL);
	leader->callbacks.begin(leader->callbacks.context);
}

static void on_lost(void *context, const char *why)
{
	struct leader *leader = context;
	struct err err;

	err_set(&err, ERR_DENIED,
		"the Lease %s is lost, another replica may act now: %s; this process ends and has "
		"to be started again",
		leader->key, why);
	leader->callbacks.lost(leader->callbacks.context, &err);
}

static void on_holder(void *context, const char *holder)
{
	const struct leader *leader = context;

	if (!holder[0])
		log_info("nobody leads", "lease", leader->key, NULL);
	else if (strcmp(holder, leader->identity) != 0)
		log_info("another replica leads", "lease", leader->key, "holder", holder, NULL);
}

static void on_error(void *context, const struct err *err)
{
	struct leader *leader = context;

	log_repeat_error(&leader->trouble, TROUBLE, leader->key, err->text);
}

static void on_good(void *context)
{
	struct leader *leader = context;

	log_repeat_end(&leader->trouble, TROUBLE, leader->key);
}

struct leader *leader_new(const struct control *control, struct https *https,
			  struct kube_config *config, const struct leader_callbacks *callbacks)
{
	const struct options *options = control->options;
	struct leader *leader = memory_alloc(sizeof(*leader));
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	/* Two tries within the deadline, whatever the API server does. */
	struct kube_client_options client = { .burst = 1,
					      .timeout_ms =
						      options->leader_elect_renew_deadline_ms / 2,
					      .body_max_bytes = KUBE_LEASE_BODY_MAX };
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

	if (!lease.namespace_[0])
		lease.namespace_ = kube_config_namespace(config);
	leader->callbacks = *callbacks;
	leader->identity = make_identity();
	leader->key = memory_strdup(arena_printf(&scratch, "%s/%s", lease.namespace_, lease.name));
	lease.identity = leader->identity;
	leader->client = kube_client_new(control->loop, https, config, &client);
	leader->lease = kube_lease_new(leader->client, &lease);
	log_info("waiting for the Lease", "lease", leader->key, "identity", leader->identity, NULL);
	return leader;
}

void leader_free(struct leader *leader)
{
	if (!leader)
		return;
	kube_lease_free(leader->lease);
	kube_client_free(leader->client);
	loop_timer_free(leader->release_end);
	log_repeat_done(&leader->trouble);
	memory_free(leader->identity);
	memory_free(leader->key);
	memory_free(leader);
}

bool leader_is_leading(const struct leader *leader)
{
	return !leader || kube_lease_held(leader->lease);
}

const char *leader_holder(const struct leader *leader)
{
	return leader ? kube_lease_holder(leader->lease) : "";
}

const char *leader_identity(const struct leader *leader)
{
	return leader ? leader->identity : "";
}

/* --- release --- */

/* Whatever comes first: the answer or the deadline. */
static void end_release(struct leader *leader, const char *problem)
{
	void (*released)(void *context) = steal(&leader->released);

	if (!released)
		return;
	loop_timer_stop(leader->release_end);
	if (problem)
		log_warning("the Lease could not be given back, it has to run out", "lease",
			    leader->key, "error", problem, NULL);
	else
		log_info("gave the Lease back", "lease", leader->key, NULL);
	released(leader->released_context);
}

static void on_released(void *context, const struct err *err)
{
	end_release(context, err ? err->text : NULL);
}

static void on_release_late(void *context)
{
	end_release(context, "the API server does not answer");
}

bool leader_release(struct leader *leader, void (*done)(void *context), void *context)
{
	if (!leader || leader->release_end)
		return false;
	leader->release_end =
		loop_timer_new(kube_client_loop(leader->client), on_release_late, leader);
	leader->released = done;
	leader->released_context = context;
	if (!kube_lease_release(leader->lease, on_released, leader))
		return false;
	loop_timer_start(leader->release_end, LEADER_RELEASE_MS);
	return true;
}
