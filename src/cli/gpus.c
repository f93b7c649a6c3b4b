#include "cli/gpus.h"

#include "cli/session.h"
#include "ctl/watch/stock.h"

/* Memory limit of one command: a cluster of this size takes a few hundred MiB. */
#define NODES_MAX 20000
#define PODS_MAX 200000
#define WITHIN_MS 60000

struct wait {
	struct session *session;
	bool ended;
	struct err err; /* kind ERR_NONE: success */
};

static void stock_ended(void *context, const struct err *err)
{
	struct wait *wait = context;

	wait->ended = true;
	if (err)
		wait->err = *err;
	session_wake(wait->session);
}

static bool has_ended(void *context)
{
	return ((const struct wait *)context)->ended;
}

/* Without its Pods the use of a Node is unknown: allocated GPUs would be shown as free. */
static int check(const struct wait *wait, const struct stock *stock, struct err *err)
{
	if (!wait->ended)
		return err_set(err, ERR_TIMEOUT, "interrupted before Nodes and Pods were listed");
	if (wait->err.kind != ERR_NONE) {
		*err = wait->err;
		return -1;
	}
	if (*stock_pods_problem(stock) != '\0')
		return err_set(err, ERR_DENIED,
			       "the Pods of all namespaces are needed to know what is in use: %s",
			       stock_pods_problem(stock));
	return 0;
}

int gpus_look(struct session *session, const struct device_table *devices, struct arena *arena,
	      struct gpus_answer *ret_answer, struct err *err)
{
	const struct stock_limits limits = { NODES_MAX, PODS_MAX, WITHIN_MS };
	struct wait wait = { .session = session, .err = { .kind = ERR_NONE } };
	size_t node_count, pod_count;
	const struct node *nodes;
	const struct pod *pods;

	ret_answer->stock =
		stock_new(session_client(session), devices, &limits, stock_ended, &wait);
	(void)session_wait(session, has_ended, &wait, 2 * WITHIN_MS);
	if (check(&wait, ret_answer->stock, err))
		return -1;
	nodes = stock_nodes(ret_answer->stock, &node_count);
	pods = stock_pods(ret_answer->stock, &pod_count);
	inventory_make(&ret_answer->inventory, nodes, node_count, pods, pod_count, devices, arena);
	ret_answer->unreadable = stock_unreadable(ret_answer->stock);
	return 0;
}

void gpus_done(struct gpus_answer *answer)
{
	stock_free(answer->stock);
	answer->stock = NULL;
}
