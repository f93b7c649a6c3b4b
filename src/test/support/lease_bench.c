#include "test/support/lease_bench.h"

struct kube_script lease_script;
struct elector one, two;

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

void lease_bench_on_released(void *context, const struct err *err)
{
	struct elector *elector = context;

	elector->released++;
	elector->released_well = !err;
	if (err)
		elector->released_err = *err;
}

struct kube_lease_options usual_options(struct elector *elector, const char *identity)
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

void enter(struct elector *elector, const char *identity)
{
	struct kube_lease_options options = usual_options(elector, identity);

	elector->identity = identity;
	elector->lease = kube_lease_new(lease_script.client, &options);
}

int lease_bench_setup(void **state)
{
	(void)state;
	lease_script = (struct kube_script){ .loop = NULL };
	one = two = (struct elector){ .lease = NULL };
	lease_server_reset();
	script_start(&lease_script, lease_server_answer,
		     &(struct kube_client_options){ .burst = 1,
						    .timeout_ms = TIMEOUT_MS,
						    .body_max_bytes = KUBE_LEASE_BODY_MAX });
	return 0;
}

int lease_bench_teardown(void **state)
{
	(void)state;
	kube_lease_free(one.lease);
	kube_lease_free(two.lease);
	script_done(&lease_script);
	lease_server_reset();
	return 0;
}

bool leads(void *context)
{
	return ((const struct elector *)context)->leading > 0;
}

bool has_lost(void *context)
{
	return ((const struct elector *)context)->lost > 0;
}

bool has_released(void *context)
{
	return ((const struct elector *)context)->released > 0;
}

bool has_errors(void *context)
{
	return ((const struct elector *)context)->errors >= 3;
}

bool is_settled(void *context)
{
	return ((const struct elector *)context)->goods >= 10;
}

void until(bool (*holds)(void *context), struct elector *elector)
{
	assert_true(loop_wait_until(lease_script.loop, holds, elector, WAIT_MS));
}

const char *written(size_t number, const char *name)
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
