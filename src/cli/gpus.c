#include "cli/gpus.h"

#include <string.h>

#include "cli/gpu_holders.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/controller_client.h"
#include "core/report/gpu_holders.h"
#include "ctl/watch/inventory_watch.h"
#include "feature_cli.h"

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

int gpus_look(struct connection *connection, const struct device_table *devices,
	      struct arena *arena, struct gpus_answer *ret_answer, struct err *err)
{
	const struct inventory_watch_limits limits = { NODES_MAX, PODS_MAX, WITHIN_MS, NULL };
	static const struct gpus_devices *const devices_of[] = { FEATURE_GPUS_DEVICES NULL };
	struct wait wait = { .connection = connection, .err = { .kind = ERR_NONE } };
	const struct inventory_list *list;
	struct inventory_list filled;

	ret_answer->inventory_watch = inventory_watch_new(
		api_connection_client(connection), devices, &limits, inventory_watch_ended, &wait);
	(void)api_connection_wait(connection, has_ended, &wait, 2 * WITHIN_MS);
	list = inventory_watch_list(ret_answer->inventory_watch);
	if (check(&wait, list, err))
		return -1;
	filled = *list;
	for (size_t i = 0; devices_of[i]; i++)
		devices_of[i]->read(connection, devices, arena, &filled, &ret_answer->stocks);
	inventory_make(&ret_answer->inventory, filled.nodes, filled.node_count, filled.pods,
		       filled.pod_count, devices, arena);
	ret_answer->unreadable = list->unreadable;
	return 0;
}

const char *gpus_sign_of(const struct node *node, struct arena *arena)
{
	static const struct gpus_sign *const signs[] = { FEATURE_GPUS_SIGNS NULL };

	for (size_t i = 0; signs[i]; i++) {
		const char *sign = signs[i]->of(node, arena);

		if (sign)
			return sign;
	}
	return "";
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
			 struct cluster_holders *clusters, struct gpus_answer *answer)
{
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
			add_clusters(&answer->inventory.nodes[n].at[i], arena, clusters, answer);
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
