/* Electors on one loop against the server of lease_server.h, for the tests of kube/kube_lease. */
#ifndef TEST_SUPPORT_LEASE_BENCH_H
#define TEST_SUPPORT_LEASE_BENCH_H

#include "kube/kube_lease.h"
#include "test/support/lease_server.h"

#define LEASE_MS 1000
#define RENEW_MS 800
#define RETRY_MS 50
#define TIMEOUT_MS 300
#define LATE_MS 700 /* delay of a loaded machine */

extern struct kube_script lease_script;

struct elector {
	struct kube_lease *lease;
	const char *identity;
	int leading, lost, errors, goods, released;
	bool released_well;
	char why[512], holder[300];
	struct err err, released_err;
	int64_t leading_ms, lost_ms;
};

extern struct elector one, two;

void lease_bench_on_released(void *context, const struct err *err);

struct kube_lease_options usual_options(struct elector *elector, const char *identity);

void enter(struct elector *elector, const char *identity);

int lease_bench_setup(void **state);

int lease_bench_teardown(void **state);

bool leads(void *context);

bool has_lost(void *context);

bool has_released(void *context);

bool has_errors(void *context);

/* Ten tries of a follower, or renewals of a leader, ended well. */
bool is_settled(void *context);

void until(bool (*holds)(void *context), struct elector *elector);

/* The value of a member in the body of the accepted write `number`; a copy in a static buffer. */
const char *written(size_t number, const char *name);

#endif
