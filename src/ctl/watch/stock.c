#include "ctl/watch/stock.h"

#include "base/memory.h"
#include "core/nodes/node_digest.h"
#include "core/nodes/pod_digest.h"
#include "kube/kube_client.h"
#include "kube/kube_informer.h"
#include "net/loop.h"

/* Pods that hold no resources are filtered out by the server. */
#define POD_SELECTOR "status.phase!=Succeeded,status.phase!=Failed"

struct stock {
	struct stock_limits limits;
	stock_done *done;
	void *context;
	struct loop_timer *timer;
	struct kube_informer *node_list, *pod_list;
	bool nodes_here, pods_here;
	struct err err;      /* the error that ended it */
	struct err pods_err; /* Pods may not be listed */
	struct arena arena;  /* of the Nodes */
	VEC(struct node) nodes;
	struct pod_digest digest;
	const struct pod *pods;
	size_t pod_count, unreadable;
};

static void look_again(struct stock *stock)
{
	if (stock->err.kind != ERR_NONE || (stock->nodes_here && stock->pods_here))
		loop_timer_start(stock->timer, 0);
}

static void fail(struct stock *stock, const struct err *err)
{
	if (stock->err.kind == ERR_NONE)
		stock->err = *err;
	look_again(stock);
}

/* The informer restarts the list: with smaller pages, or because its list was too old. */
static bool begins_anew(const struct err *err)
{
	return err->kind == ERR_LIMIT || err->kind == ERR_GONE;
}

/* ---- Nodes ---- */

static void node_listed(void *context, enum kube_change change, const char *key, const void *old,
			const void *new_object)
{
	struct stock *stock = context;

	(void)key;
	(void)old;
	if (stock->nodes_here || stock->err.kind != ERR_NONE)
		return;
	if (!new_object) {
		stock->unreadable += change == KUBE_BAD;
	} else if (stock->nodes.count >= stock->limits.nodes) {
		struct err err;

		err_set(&err, ERR_LIMIT, "the cluster has more than %zu Nodes",
			stock->limits.nodes);
		fail(stock, &err);
	} else {
		node_digest(new_object, &stock->arena, VEC_ADD(&stock->arena, &stock->nodes));
	}
}

static void nodes_failed(void *context, const struct err *err)
{
	struct stock *stock = context;

	if (stock->nodes_here)
		return;
	if (begins_anew(err)) {
		stock->nodes.at = NULL;
		stock->nodes.count = stock->nodes.capacity = 0;
		arena_reset(&stock->arena);
	} else {
		fail(stock, err);
	}
}

static void nodes_synced(void *context)
{
	struct stock *stock = context;

	stock->nodes_here = true;
	look_again(stock);
}

/* ---- Pods ---- */

static void pod_listed(void *context, enum kube_change change, const char *key, const void *old,
		       const void *new_object)
{
	struct stock *stock = context;

	(void)key;
	(void)old;
	if (stock->pods_here || stock->err.kind != ERR_NONE)
		return;
	stock->unreadable += change == KUBE_BAD;
	if (new_object && change != KUBE_BAD)
		pod_digest_add(&stock->digest, new_object);
}

static void pods_failed(void *context, const struct err *err)
{
	struct stock *stock = context;

	if (stock->pods_here)
		return;
	if (begins_anew(err)) {
		const struct device_table *devices = stock->digest.devices;

		pod_digest_done(&stock->digest);
		pod_digest_init(&stock->digest, devices, stock->limits.pods);
		return;
	}
	if (err->kind != ERR_DENIED) {
		fail(stock, err);
		return;
	}
	stock->pods_err = *err;
	stock->pods_here = true;
	look_again(stock);
}

static void pods_synced(void *context)
{
	struct stock *stock = context;

	stock->pods_here = true;
	look_again(stock);
}

/* ---- the end ---- */

static void finish(struct stock *stock)
{
	if (stock->pods_err.kind == ERR_NONE)
		stock->pods = pod_digest_finish(&stock->digest, &stock->pod_count);
	if (stock->digest.overflowed && stock->err.kind == ERR_NONE)
		err_set(&stock->err, ERR_LIMIT,
			"the Pods of the cluster are more than %zu that use accelerators, or sums",
			stock->limits.pods);
}

static void on_timer(void *context)
{
	struct stock *stock = context;

	if (stock->err.kind == ERR_NONE && !(stock->nodes_here && stock->pods_here))
		err_set(&stock->err, ERR_TIMEOUT,
			"the API server did not list Nodes and Pods within %lld s",
			(long long)(stock->limits.within_ms / MS_PER_SECOND));
	kube_informer_free(stock->node_list);
	kube_informer_free(stock->pod_list);
	stock->node_list = stock->pod_list = NULL;
	if (stock->err.kind == ERR_NONE)
		finish(stock);
	stock->done(stock->context, stock->err.kind != ERR_NONE ? &stock->err : NULL);
}

struct stock *stock_new(struct kube_client *client, const struct device_table *devices,
			const struct stock_limits *limits, stock_done *done, void *context)
{
	struct stock *stock = memory_alloc(sizeof(*stock));
	const struct kube_informer_options nodes = {
		.type = &kube_type_node,
		.passing = true,
		.callbacks = { .on_change = node_listed,
			       .on_synced = nodes_synced,
			       .on_error = nodes_failed,
			       .context = stock },
	};
	const struct kube_informer_options pods = {
		.type = &kube_type_pod,
		.field_selector = POD_SELECTOR,
		.passing = true,
		.callbacks = { .on_change = pod_listed,
			       .on_synced = pods_synced,
			       .on_error = pods_failed,
			       .context = stock },
	};

	stock->limits = *limits;
	stock->done = done;
	stock->context = context;
	stock->err.kind = stock->pods_err.kind = ERR_NONE;
	pod_digest_init(&stock->digest, devices, limits->pods);
	stock->timer = loop_timer_new(kube_client_loop(client), on_timer, stock);
	loop_timer_start(stock->timer, limits->within_ms);
	stock->node_list = kube_informer_new(client, &nodes);
	stock->pod_list = kube_informer_new(client, &pods);
	return stock;
}

void stock_free(struct stock *stock)
{
	if (!stock)
		return;
	kube_informer_free(stock->node_list);
	kube_informer_free(stock->pod_list);
	loop_timer_free(stock->timer);
	pod_digest_done(&stock->digest);
	arena_done(&stock->arena);
	memory_free(stock);
}

const struct node *stock_nodes(const struct stock *stock, size_t *ret_count)
{
	*ret_count = stock->nodes.count;
	return stock->nodes.at;
}

const struct pod *stock_pods(const struct stock *stock, size_t *ret_count)
{
	*ret_count = stock->pod_count;
	return stock->pods;
}

const char *stock_pods_problem(const struct stock *stock)
{
	return stock->pods_err.kind != ERR_NONE ? stock->pods_err.text : "";
}

size_t stock_unreadable(const struct stock *stock)
{
	return stock->unreadable;
}
