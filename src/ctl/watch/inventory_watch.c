#include "ctl/watch/inventory_watch.h"

#include "base/memory.h"
#include "core/model/pod_status.h"
#include "core/nodes/node_digest.h"
#include "core/nodes/pod_digest.h"
#include "kube/kube_client.h"
#include "kube/kube_informer.h"
#include "net/loop.h"

/* Pods that hold no resources are filtered out by the server. */
#define POD_SELECTOR "status.phase!=Succeeded,status.phase!=Failed"

struct inventory_watch {
	struct inventory_watch_limits limits;
	inventory_watch_done *done;
	void *context;
	struct loop_timer *timer;
	struct kube_informer *node_list, *pod_list;
	bool nodes_here, pods_here;
	struct err err;      /* the error that ended it */
	struct err pods_err; /* Pods may not be listed */
	struct arena arena;  /* of the Nodes */
	VEC(struct node) nodes;
	struct pod_digest digest;
	size_t unreadable;
	struct inventory_list list; /* set at the end */
};

static void look_again(struct inventory_watch *inventory_watch)
{
	if (inventory_watch->err.kind != ERR_NONE ||
	    (inventory_watch->nodes_here && inventory_watch->pods_here))
		loop_timer_start(inventory_watch->timer, 0);
}

static void fail(struct inventory_watch *inventory_watch, const struct err *err)
{
	if (inventory_watch->err.kind == ERR_NONE)
		inventory_watch->err = *err;
	look_again(inventory_watch);
}

/* The informer restarts the list: with smaller pages, or because its list was too old. */
static bool begins_anew(const struct err *err)
{
	return err->kind == ERR_LIMIT || err->kind == ERR_GONE;
}

/* ---- Nodes ---- */

static void node_listed(void *context, enum kube_change change, const char *key UNUSED,
			const void *old UNUSED, const void *new_object)
{
	struct inventory_watch *inventory_watch = context;

	if (inventory_watch->nodes_here || inventory_watch->err.kind != ERR_NONE)
		return;
	if (!new_object) {
		inventory_watch->unreadable += change == KUBE_BAD;
	} else if (inventory_watch->nodes.count >= inventory_watch->limits.nodes) {
		struct err err;

		err_set(&err, ERR_LIMIT, "the cluster has more than %zu Nodes",
			inventory_watch->limits.nodes);
		fail(inventory_watch, &err);
	} else {
		node_digest(new_object, &inventory_watch->arena,
			    VEC_ADD(&inventory_watch->arena, &inventory_watch->nodes));
	}
}

static void nodes_failed(void *context, const struct err *err)
{
	struct inventory_watch *inventory_watch = context;

	if (inventory_watch->nodes_here)
		return;
	if (begins_anew(err)) {
		inventory_watch->nodes.at = NULL;
		inventory_watch->nodes.count = inventory_watch->nodes.capacity = 0;
		arena_reset(&inventory_watch->arena);
	} else {
		fail(inventory_watch, err);
	}
}

static void nodes_synced(void *context)
{
	struct inventory_watch *inventory_watch = context;

	inventory_watch->nodes_here = true;
	look_again(inventory_watch);
}

/* ---- Pods ---- */

static void pod_listed(void *context, enum kube_change change, const char *key UNUSED,
		       const void *old UNUSED, const void *new_object)
{
	struct inventory_watch *inventory_watch = context;

	if (inventory_watch->pods_here || inventory_watch->err.kind != ERR_NONE)
		return;
	inventory_watch->unreadable += change == KUBE_BAD;
	if (new_object && change != KUBE_BAD)
		pod_digest_add(&inventory_watch->digest, new_object);
}

static void pods_failed(void *context, const struct err *err)
{
	struct inventory_watch *inventory_watch = context;

	if (inventory_watch->pods_here)
		return;
	if (begins_anew(err)) {
		const struct device_table *devices = inventory_watch->digest.devices;

		pod_digest_done(&inventory_watch->digest);
		pod_digest_init(&inventory_watch->digest, devices, inventory_watch->limits.pods);
		return;
	}
	if (err->kind != ERR_DENIED) {
		fail(inventory_watch, err);
		return;
	}
	inventory_watch->pods_err = *err;
	inventory_watch->pods_here = true;
	look_again(inventory_watch);
}

static void pods_synced(void *context)
{
	struct inventory_watch *inventory_watch = context;

	inventory_watch->pods_here = true;
	look_again(inventory_watch);
}

/* ---- the end ---- */

static void finish(struct inventory_watch *inventory_watch)
{
	struct inventory_list *list = &inventory_watch->list;
	const struct kube_informer *cached = inventory_watch->limits.cached;
	const struct pod *pod;
	size_t at = 0;

	while (cached && inventory_watch->pods_err.kind == ERR_NONE &&
	       (pod = kube_informer_next(cached, &at)))
		if (!pod_has_ended(pod)) /* as POD_SELECTOR */
			pod_digest_add(&inventory_watch->digest, pod);
	list->nodes = inventory_watch->nodes.at;
	list->node_count = inventory_watch->nodes.count;
	list->pods_problem = inventory_watch->pods_err.text;
	list->unreadable = inventory_watch->unreadable;
	if (inventory_watch->pods_err.kind == ERR_NONE) {
		list->pods_problem = "";
		list->pods = pod_digest_finish(&inventory_watch->digest, &list->pod_count);
	}
	if (inventory_watch->digest.overflowed && inventory_watch->err.kind == ERR_NONE)
		err_set(&inventory_watch->err, ERR_LIMIT,
			"the Pods of the cluster are more than %zu that use accelerators, or sums",
			inventory_watch->limits.pods);
}

static void on_timer(void *context)
{
	struct inventory_watch *inventory_watch = context;

	if (inventory_watch->err.kind == ERR_NONE &&
	    !(inventory_watch->nodes_here && inventory_watch->pods_here))
		err_set(&inventory_watch->err, ERR_TIMEOUT,
			"the API server did not list Nodes and Pods within %lld s",
			(long long)(inventory_watch->limits.within_ms / MS_PER_SECOND));
	kube_informer_free(inventory_watch->node_list);
	kube_informer_free(inventory_watch->pod_list);
	inventory_watch->node_list = inventory_watch->pod_list = NULL;
	if (inventory_watch->err.kind == ERR_NONE)
		finish(inventory_watch);
	inventory_watch->done(inventory_watch->context,
			      inventory_watch->err.kind != ERR_NONE ? &inventory_watch->err : NULL);
}

struct inventory_watch *inventory_watch_new(struct kube_client *client,
					    const struct device_table *devices,
					    const struct inventory_watch_limits *limits,
					    inventory_watch_done *done, void *context)
{
	struct inventory_watch *inventory_watch = memory_alloc(sizeof(*inventory_watch));
	const struct kube_informer_options nodes = {
		.type = &kube_type_node,
		.passing = true,
		.callbacks = { .on_change = node_listed,
			       .on_synced = nodes_synced,
			       .on_error = nodes_failed,
			       .context = inventory_watch },
	};
	const struct kube_informer_options pods = {
		.type = &kube_type_pod,
		.label_selector = limits->cached ? "!" LABEL_CLUSTER : NULL,
		.field_selector = POD_SELECTOR,
		.passing = true,
		.callbacks = { .on_change = pod_listed,
			       .on_synced = pods_synced,
			       .on_error = pods_failed,
			       .context = inventory_watch },
	};

	inventory_watch->limits = *limits;
	inventory_watch->done = done;
	inventory_watch->context = context;
	inventory_watch->err.kind = inventory_watch->pods_err.kind = ERR_NONE;
	pod_digest_init(&inventory_watch->digest, devices, limits->pods);
	inventory_watch->timer =
		loop_timer_new(kube_client_loop(client), on_timer, inventory_watch);
	loop_timer_start(inventory_watch->timer, limits->within_ms);
	inventory_watch->node_list = kube_informer_new(client, &nodes);
	inventory_watch->pod_list = kube_informer_new(client, &pods);
	return inventory_watch;
}

void inventory_watch_free(struct inventory_watch *inventory_watch)
{
	if (!inventory_watch)
		return;
	kube_informer_free(inventory_watch->node_list);
	kube_informer_free(inventory_watch->pod_list);
	loop_timer_free(inventory_watch->timer);
	pod_digest_done(&inventory_watch->digest);
	arena_done(&inventory_watch->arena);
	memory_free(inventory_watch);
}

const struct inventory_list *inventory_watch_list(const struct inventory_watch *inventory_watch)
{
	return &inventory_watch->list;
}
