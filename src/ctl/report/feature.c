#include "ctl/report/feature.h"

#include "base/arena.h"
#include "base/memory.h"
#include "core/model/snapshot.h"

struct features {
	const struct feature *const *table;
	size_t count;
	void **selves;
};

static void *begin(const struct feature *feature, const struct control *control)
{
	struct feature_state *state;

	if (feature->state_size == 0)
		return NULL;
	state = memory_alloc(feature->state_size);
	state->control = control;
	state->clusters = (struct cluster_map){ .size = feature->cluster_size,
						.done = feature->cluster_done };
	if (feature->begin)
		feature->begin(state);
	return state;
}

static void end(const struct feature *feature, void *self)
{
	struct feature_state *state = self;

	if (feature->end)
		feature->end(self);
	if (state)
		cluster_map_done(&state->clusters);
	memory_free(state);
}

size_t features_count(const struct features *features)
{
	return features ? features->count : 0;
}

struct features *features_new(const struct control *control, const struct feature *const *table)
{
	struct features *features = memory_alloc(sizeof(*features));

	while (table[features->count])
		features->count++;
	features->table = table;
	features->selves = memory_array(features->count, sizeof(*features->selves));
	for (size_t i = 0; i < features_count(features); i++)
		features->selves[i] = begin(table[i], control);
	return features;
}

void features_free(struct features *features)
{
	for (size_t i = 0; i < features_count(features); i++)
		end(features->table[i], features->selves[i]);
	if (features)
		memory_free(features->selves);
	memory_free(features);
}

void features_start(struct features *features)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->start)
			features->table[i]->start(features->selves[i]);
}

bool features_known(const struct features *features)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->known && !features->table[i]->known(features->selves[i]))
			return false;
	return true;
}

bool features_gpu_share(const struct features *features, struct gpu_share *ret_share)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->gpu_share)
			return features->table[i]->gpu_share(features->selves[i], ret_share);
	return false;
}

struct device_view *const *features_devices(const struct features *features)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->devices)
			return features->table[i]->devices(features->selves[i]);
	return NULL;
}

bool features_complete(const struct features *features, struct inventory_list *list,
		       struct arena *arena)
{
	bool complete = true;

	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->complete)
			complete &= features->table[i]->complete(features->selves[i], list, arena);
	return complete;
}

bool features_unread(const struct features *features, const char *namespace_, const char *name)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->unread &&
		    features->table[i]->unread(features->selves[i], namespace_, name))
			return true;
	return false;
}

void features_decided(void *listener, const struct pass_decision *decision)
{
	const struct features *features = listener;

	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->decided)
			features->table[i]->decided(features->selves[i], decision);
}

/* Drops its struct for the RayCluster as well. */
static void forget(const struct feature *feature, void *self, const char *namespace_,
		   const char *name)
{
	struct feature_state *state = self;

	if (state)
		cluster_map_remove(&state->clusters, namespace_, name);
	if (feature->forget)
		feature->forget(self, namespace_, name);
}

void features_forget(void *listener, const char *namespace_, const char *name)
{
	const struct features *features = listener;

	for (size_t i = 0; i < features_count(features); i++)
		forget(features->table[i], features->selves[i], namespace_, name);
}

void features_pod_changed(void *watcher, const struct pod *old, const struct pod *new_object)
{
	const struct features *features = watcher;

	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->pod_changed)
			features->table[i]->pod_changed(features->selves[i], old, new_object);
}

const char *features_pod_note(const struct features *features, const struct pod *pod,
			      struct arena *arena)
{
	const char *notes = "";

	for (size_t i = 0; i < features_count(features); i++) {
		const char *note =
			features->table[i]->pod_note ?
				features->table[i]->pod_note(features->selves[i], pod, arena) :
				"";

		if (note[0] != '\0')
			notes = arena_printf(arena, "%s; %s", notes, note);
	}
	return notes;
}

void features_ray_cluster_changed(void *watcher, const char *namespace_, const char *name,
				  bool deleted)
{
	const struct features *features = watcher;

	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->ray_cluster_changed)
			features->table[i]->ray_cluster_changed(features->selves[i], namespace_,
								name, deleted);
}

void features_node_changed(const struct features *features, const char *name,
			   const struct node *node, bool added)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->node_changed)
			features->table[i]->node_changed(features->selves[i], name, node, added);
}

void features_observe(const struct features *features, const struct ray_cluster *cluster,
		      struct arena *arena, struct snapshot *snapshot)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->observe)
			features->table[i]->observe(features->selves[i], cluster, arena, snapshot);
}

const struct extra_condition *features_conditions(const struct features *features,
						  const struct ray_cluster *cluster,
						  struct arena *arena, size_t *ret_count)
{
	struct extra_condition *conditions =
		arena_array(arena, features_count(features), sizeof(*conditions));

	*ret_count = 0;
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->condition &&
		    features->table[i]->condition(features->selves[i], cluster, arena,
						  &conditions[*ret_count]))
			(*ret_count)++;
	return conditions;
}

void features_status(const struct features *features, const struct pass_decision *decision,
		     struct arena *arena, struct autoscaler_parts *parts)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->status)
			features->table[i]->status(features->selves[i], decision, arena, parts);
}

bool features_read_node_label(const struct features *features, const char *key)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->reads_node_label &&
		    features->table[i]->reads_node_label(features->selves[i], key))
			return true;
	return false;
}

bool features_read_node_sign(const struct features *features, const struct node *node,
			     const struct condition *condition)
{
	for (size_t i = 0; i < features_count(features); i++)
		if (features->table[i]->reads_node_sign &&
		    features->table[i]->reads_node_sign(features->selves[i], node, condition))
			return true;
	return false;
}

const struct feature_metric *features_metric(const struct features *features, size_t index,
					     const void **ret_self)
{
	for (size_t i = 0; i < features_count(features); i++) {
		if (index < features->table[i]->metric_count) {
			*ret_self = features->selves[i];
			return &features->table[i]->metrics[index];
		}
		index -= features->table[i]->metric_count;
	}
	return NULL;
}

const struct list_page_kind *features_page(const struct features *features, size_t index,
					   const void **ret_self)
{
	*ret_self = features->selves[index];
	return features->table[index]->page;
}
