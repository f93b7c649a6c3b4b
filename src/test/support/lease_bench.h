/* Electors on one loop against the server of lease_server.h, for the tests of kube/kube_lease. Header
 * only. */
#ifndef TEST_SUPPORT_LEASE_BENCH_H
#define TEST_SUPPORT_LEASE_BENCH_H

#include "kube/kube_lease.h"
#include "test/support/lease_server.h"

#define LEASE_MS 1000
#define RENEW_MS 800
#define RETRY_MS 50
#define TIMEOUT_MS 300
#define LATE_MS 700 /* delay of a loaded machine */

static struct kube_script script;

struct elector {
	struct kube_lease *lease;
	const char *identity;
	int leading, lost, errors, goods, released;
	bool released_well;
	char why[512], holder[300];
	struct err err, released_err;
	int64_t leading_ms, lost_ms;
};

static struct elector one, two;

static void on_leading(void *context)
{
	struct elector *elector = context;

	elector->leading++;
	elector->leading_ms = loop_boot_ms();
	assert_true(kube_lease_held(elector->lease));
}

static void on_lost(void *context, const char *why)
{
	struct elector *elector = context;

	elector->lost++;
	elector->lost_ms = loop_boot_ms();
	(void)snprintf(elector->why, sizeof(elector->why), "%s", why);
	assert_false(kube_lease_held(elector->lease));
}

static void on_holder(void *context, const char *holder)
{
	struct elector *elector = context;

	(void)snprintf(elector->holder, sizeof(elector->holder), "%s", holder);
}

static void on_error(void *context, const struct err *err)
{
	struct elector *elector = context;

	elector->errors++;
	elector->err = *err;
}

static void on_good(void *context)
{
	((struct elector *)context)->goods++;
}

static inline void on_released(void *context, const struct err *err)
{
	struct elector *elector = context;

	elector->released++;
	elector->released_well = !err;
	if (err)
		elector->released_err = *err;
}

static inline struct kube_lease_options usual_options(struct elector *elector, const char *identity)
{
	return (struct kube_lease_options){ .namespace_ = "a",
					    .name = "rayscaler",
					    .identity = identity,
					    .lease_duration_ms = LEASE_MS,
					    .renew_deadline_ms = RENEW_MS,
					    .retry_period_ms = RETRY_MS,
					    .on_leading = on_leading,
					    .on_lost = on_lost,
					    .on_holder = on_holder,
					    .on_error = on_error,
					    .on_good = on_good,
					    .context = elector };
}

static inline void enter(struct elector *elector, const char *identity)
{
	struct kube_lease_options options = usual_options(elector, identity);

	elector->identity = identity;
	elector->lease = kube_lease_new(script.client, &options);
}

static inline int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	one = two = (struct elector){ .lease = NULL };
	lease_server_reset();
	script_start(&script, lease_server_answer,
		     &(struct kube_client_options){ .burst = 1,
						    .timeout_ms = TIMEOUT_MS,
						    .body_max_bytes = KUBE_LEASE_BODY_MAX });
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	kube_lease_free(one.lease);
	kube_lease_free(two.lease);
	script_done(&script);
	lease_server_reset();
	return 0;
}

static inline bool leads(void *context)
{
	return ((const struct elector *)context)->leading > 0;
}

static inline bool has_lost(void *context)
{
	return ((const struct elector *)context)->lost > 0;
}

static inline bool has_released(void *context)
{
	return ((const struct elector *)context)->released > 0;
}

static inline bool has_errors(void *context)
{
	return ((const struct elector *)context)->errors >= 3;
}

/* Ten tries of a follower, or renewals of a leader, ended well. */
static inline bool is_settled(void *context)
{
	return ((const struct elector *)context)->goods >= 10;
}

static inline void until(bool (*holds)(void *context), struct elector *elector)
{
	assert_true(loop_wait_until(script.loop, holds, elector, WAIT_MS));
}

/* The value of a member in the body of the accepted write `number`; a copy in a static buffer. */
static inline const char *written(size_t number, const char *name)
{
	static char value[512];
	const char *body = lease_server_body(number);
	char key[64];
	const char *at;

	(void)snprintf(key, sizeof(key), "\"%s\": ", name);
	at = strstr(body, key);
	if (!at)
		return "";
	at += strlen(key);
	(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, ",}"), at);
	return value;
}

#endif
