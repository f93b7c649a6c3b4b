#include "cli/gpus.h"

#include <string.h>

#include "cli/gpu_holders.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/controller_client.h"
#include "cli/shared/device_lists.h"
#include "core/report/gpu_holders.h"
#include "ctl/watch/inventory_watch.h"
#include "feature/device_claims/core/device_nodes.h"
#include "feature/device_claims/core/resolve.h"

/* Memory limit of one command: a cluster of this size takes a few hundred MiB. */
#define NODES_MAX 20000
#define PODS_MAX 200000
#define WITHIN_MS 60000

struct wait {
	struct connection *connection;
	bool ended;
	struct err err; /* kind ERR_NONE: success */
};

static void inventory_watch_ended(void *context, const struct err *err)
{
	struct wait *wait = context;

	wait->ended = true;
	if (err)
		wait->err = *err;
	api_connection_wake(wait->connection);
}

static bool has_ended(void *context)
{
	return ((const struct wait *)context)->ended;
}

/* Without its Pods the use of a Node is unknown: allocated GPUs would be shown as free. */
static int check(const struct wait *wait, const struct inventory_list *list, struct err *err)
{
	if (!wait->ended)
		return err_set(err, ERR_TIMEOUT, "interrupted before Nodes and Pods were listed");
	if (wait->err.kind != ERR_NONE) {
		*err = wait->err;
		return -1;
	}
	if (*list->pods_problem != '\0')
		return err_set(err, ERR_DENIED,
			       "the Pods of all namespaces are needed to count GPUs in use: %s",
			       list->pods_problem);
	return 0;
}

/* NULL: no ResourceSlices. *ret_problem: NULL, or why it is unknown which devices are claimed. */
static const struct device_objects *read_devices(struct connection *connection, struct arena *arena,
						 const char **ret_problem)
{
	struct device_objects *objects = ARENA_NEW(arena, struct device_objects);

	*ret_problem = NULL;
	if (device_lists_read(connection, DEVICE_LIST_SLICES, NULL, objects, arena) ||
	    objects->slice_count == 0)
		return NULL;
	(void)device_lists_read(connection, DEVICE_LIST_CLASSES, NULL, objects, arena);
	*ret_problem = device_lists_read(connection, DEVICE_LIST_CLAIMS, NULL, objects, arena);
	return objects;
}

/* Nodes and Pods as they are with device plugins. */
static void make_inventory(const struct device_objects *objects, const struct inventory_list *list,
			   const struct device_table *devices, struct arena *arena,
			   struct gpus_answer *answer)
{
	const struct node *nodes = list->nodes;
	const struct pod *pods = list->pods;

	if (objects) {
		const struct device_free *free =
			device_claims_attach(objects, devices, arena)->claims->devices;

		answer->stocks = device_nodes_stocks(free, arena, &answer->stock_count);
		nodes = device_nodes_fill(free, nodes, list->node_count, arena);
		pods = device_nodes_fill_pods(free, pods, list->pod_count, arena);
	}
	inventory_make(&answer->inventory, nodes, list->node_count, pods, list->pod_count, devices,
		       arena);
}

int gpus_look(struct connection *connection, const struct device_table *devices,
	      struct arena *arena, struct gpus_answer *ret_answer, struct err *err)
{
	const struct inventory_watch_limits limits = { NODES_MAX, PODS_MAX, WITHIN_MS, NULL };
	struct wait wait = { .connection = connection, .err = { .kind = ERR_NONE } };
	const struct inventory_list *list;

	ret_answer->inventory_watch = inventory_watch_new(
		api_connection_client(connection), devices, &limits, inventory_watch_ended, &wait);
	(void)api_connection_wait(connection, has_ended, &wait, 2 * WITHIN_MS);
	list = inventory_watch_list(ret_answer->inventory_watch);
	if (check(&wait, list, err))
		return -1;
	make_inventory(read_devices(connection, arena, &ret_answer->stocks_problem), list, devices,
		       arena, ret_answer);
	ret_answer->unreadable = list->unreadable;
	return 0;
}

/* ---- holders ---- */

static const struct cluster_holders *find_cluster(const struct gpus_answer *answer,
						  const struct inventory_user *user)
{
	for (size_t i = 0; i < answer->cluster_count; i++)
		if (strcmp(answer->clusters[i].name, user->cluster) == 0 &&
		    strcmp(answer->clusters[i].namespace_, user->pod->namespace_) == 0)
			return &answer->clusters[i];
	return NULL;
}

const struct gpu_worker *gpus_worker(const struct gpus_answer *answer,
				     const struct inventory_user *user,
				     const struct gpu_holders **ret_holders)
{
	const struct cluster_holders *cluster = find_cluster(answer, user);

	*ret_holders = cluster ? &cluster->holders : NULL;
	return cluster ? gpu_holders_find(&cluster->holders, user->pod->name) : NULL;
}

static void add_clusters(const struct inventory_resource *resource, struct arena *arena,
			 struct gpus_answer *answer)
{
	struct cluster_holders *clusters = (struct cluster_holders *)answer->clusters;

	VEC_EACH(const struct inventory_user, user, &resource->users) {
		if (*user->cluster == '\0' || find_cluster(answer, user))
			continue;
		if (answer->cluster_count == GPUS_CLUSTERS_MAX) {
			answer->left_out++;
			continue;
		}
		clusters[answer->cluster_count++] = (struct cluster_holders){
			.namespace_ = arena_strdup(arena, user->pod->namespace_),
			.name = arena_strdup(arena, user->cluster),
		};
	}
}

int gpus_ask_holders(struct connection *connection, struct arena *arena, struct gpus_answer *answer,
		     struct err *err)
{
	struct cluster_holders *clusters = arena_array(arena, GPUS_CLUSTERS_MAX, sizeof(*clusters));
	struct controller controller;

	answer->clusters = clusters;
	for (size_t n = 0; n < answer->inventory.node_count; n++)
		for (size_t i = 0; i < answer->inventory.nodes[n].count; i++)
			add_clusters(&answer->inventory.nodes[n].at[i], arena, answer);
	if (answer->cluster_count == 0)
		return 0;
	if (controller_client_open(connection, arena, &controller, err))
		return -1;
	answer->holders_asked = true;
	answer->holders_problem = controller.problem;
	if (controller.found)
		gpu_holders_ask(connection, &controller, clusters, answer->cluster_count, arena);
	return 0;
}

void gpus_done(struct gpus_answer *answer)
{
	inventory_watch_free(answer->inventory_watch);
	answer->inventory_watch = NULL;
}
