#include "feature/requests/ctl/requests_feature.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/requests/core/requests.h"
#include "feature/requests/gcs/cluster_shape_call.h"
#include "net/log.h"

struct requests {
	struct feature_state of; /* clusters: struct requester */
};

struct requester {
	struct cluster_entry of;
	const struct control *control;
	/* Of the shape that was sent last. */
	char *session;
	uint64_t hash; /* 0: none */
	bool accepted; /* or the method is unknown: nothing is to be sent again */
	int64_t sent_ms;
	int64_t asked, held; /* of the last decision, 1/10000 accelerators */
};

static void requester_done(void *one)
{
	struct requester *requester = one;

	memory_free(requester->session);
}

/* ---- the shape ---- */

static void answered(void *context, const struct gcs_reply *reply UNUSED, const struct err *err)
{
	struct requester *requester = context;

	requester->accepted = !err || err->kind == ERR_NOT_FOUND;
	if (!err) {
		log_debug("Ray has the shape of the cluster", "cluster", requester->of.key, NULL);
		return;
	}
	if (!requester->accepted)
		metrics_gcs_failed(requester->control->metrics, err);
	log_debug("Ray did not take the shape of the cluster", "cluster", requester->of.key,
		  "error", err->text, NULL);
}

static bool is_sent(const struct requester *requester, uint64_t hash,
		    const struct pass_decision *decision)
{
	return requester->session && hash == requester->hash &&
	       strcmp(requester->session, decision->ray_state->session_name) == 0 &&
	       (requester->accepted ||
		decision->monotonic_ms - requester->sent_ms < SHAPE_RETRY_MS);
}

static void send_shape(struct requester *requester, const struct cluster_shape *shape,
		       const struct pass_decision *decision)
{
	AUTO(buf_done) struct buf bytes = BUF_INIT(CLUSTER_SHAPE_BYTES_MAX);
	uint64_t hash;

	if (cluster_shape_write(shape, &bytes) < 0)
		return;
	hash = hash_bytes(HASH_START, bytes.data, bytes.size);
	if (is_sent(requester, hash, decision))
		return;
	memory_set_string(&requester->session, decision->ray_state->session_name);
	requester->hash = hash;
	requester->accepted = false;
	requester->sent_ms = decision->monotonic_ms;
	cluster_shape_send(decision->gcs,
			   requester->control->options->gcs_timeout_seconds * MS_PER_SECOND, &bytes,
			   answered, requester);
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct requests *requests = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const struct plan_requests *plan = decision->plan->requests;
	struct requester *requester;

	if (!plan)
		return;
	requester = cluster_map_make(&requests->of.clusters, cluster->namespace_, cluster->name);
	requester->control = requests->of.control;
	requester->asked = plan->asked;
	requester->held = plan->held;
	if (plan->shape && decision->gcs && decision->ray_state)
		send_shape(requester, plan->shape, decision);
}

static void status(const void *self UNUSED, const struct pass_decision *decision,
		   struct arena *arena UNUSED, struct autoscaler_parts *parts)
{
	const struct plan_requests *plan = decision->plan->requests;

	parts->requests = plan && plan->kept.asked > 0 ? &plan->kept : NULL;
}

/* ---- metrics ---- */

static void write_amount(const struct requests *requests, const struct metrics_cluster *cluster,
			 bool held, struct metrics_family *family)
{
	const char *const labels[] = { cluster->of.namespace_, cluster->of.name };
	const struct requester *requester =
		cluster_map_get(&requests->of.clusters, cluster->of.namespace_, cluster->of.name);

	if (requester)
		metrics_text_amount(family, labels, held ? requester->held : requester->asked);
}

static void write_asked(const void *self, const struct metrics_cluster *cluster,
			struct metrics_family *family)
{
	write_amount(self, cluster, false, family);
}

static void write_held(const void *self, const struct metrics_cluster *cluster,
		       struct metrics_family *family)
{
	write_amount(self, cluster, true, family);
}

static const struct feature_metric metrics[] = {
	{ .row = { METRICS_GAUGE, "rayscaler_request_accelerators", "namespace,raycluster",
		   "Accelerators that request_resources asks for, also for Ray Data and Ray Train." },
	  .need = METRICS_SCALED,
	  .write = write_asked },
	{ .row = { METRICS_GAUGE, "rayscaler_request_accelerators_unused", "namespace,raycluster",
		   "Those on idle workers that nothing else keeps." },
	  .need = METRICS_SCALED,
	  .write = write_held },
};

const struct feature requests_feature = {
	.state_size = sizeof(struct requests),
	.cluster_size = sizeof(struct requester),
	.cluster_done = requester_done,
	.decided = decided,
	.status = status,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
};
