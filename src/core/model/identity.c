#include "core/model/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "core/model/snapshot.h"

#define FOREIGN_NAMES_MAX 3 /* named in one text */

static const char ray_group[] = "ray.io/";

/* ---- owner of a Pod ---- */

static bool is_given(const char *text)
{
	return text && text[0] != '\0';
}

static bool claims(const struct ray_cluster *cluster, const struct pod *pod)
{
	const char *name = labels_value(&pod->labels, LABEL_CLUSTER);

	return (!name || strcmp(name, cluster->name) == 0) &&
	       (pod_is_head(pod) || pod_is_worker(pod));
}

static bool is_of_ray_cluster(const struct pod_owner *owner)
{
	return strcmp(owner->kind, "RayCluster") == 0 &&
	       strncmp(owner->api_version, ray_group, sizeof(ray_group) - 1) == 0;
}

bool identity_is_owned(const struct ray_cluster *cluster, const struct pod *pod)
{
	if (cluster && !is_given(cluster->uid))
		return true;
	return pod->owner && is_of_ray_cluster(pod->owner) &&
	       (!cluster || strcmp(pod->owner->uid, cluster->uid) == 0);
}

bool identity_is_foreign(const struct ray_cluster *cluster, const struct pod *pod)
{
	return claims(cluster, pod) && !identity_is_owned(cluster, pod);
}

size_t identity_divide(const struct ray_cluster *cluster, const struct pod **pods, size_t count,
		       struct arena *arena)
{
	const struct pod **foreign = NULL;
	size_t own_count = 0, foreign_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (!identity_is_foreign(cluster, pods[i])) {
			pods[own_count++] = pods[i];
			continue;
		}
		if (!foreign)
			foreign = arena_array(arena, count - i, sizeof(*foreign));
		foreign[foreign_count++] = pods[i];
	}
	for (size_t i = 0; i < foreign_count; i++)
		pods[own_count + i] = foreign[i];
	CHECK(own_count + foreign_count == count);
	return own_count;
}

static const char *foreign_why(const struct ray_cluster *cluster, const struct pod *pod,
			       struct arena *arena)
{
	const struct pod_owner *owner = pod->owner;

	if (!owner)
		return "no controller owner reference";
	if (is_of_ray_cluster(owner) && strcmp(owner->name, cluster->name) == 0)
		return arena_printf(arena, "controlled by a RayCluster of this name with uid %s",
				    resource_name_text(arena, owner->uid));
	return arena_printf(arena, "controlled by %s %s", resource_name_text(arena, owner->kind),
			    resource_name_text(arena, owner->name));
}

static int compare_names(const void *left, const void *right)
{
	const struct pod *const *a = left;
	const struct pod *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

const char *identity_foreign_text(const struct snapshot *snapshot, struct arena *arena)
{
	size_t count = snapshot->foreign_pod_count;
	const struct pod **sorted = arena_array(arena, count, sizeof(struct pod *));
	const char *text = "";

	if (count == 0)
		return NULL;
	for (size_t i = 0; i < count; i++)
		sorted[i] = snapshot->foreign_pods[i];
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < count && i < FOREIGN_NAMES_MAX; i++)
		text = arena_printf(arena, "%s%s%s (%s)", text, i > 0 ? ", " : "", sorted[i]->name,
				    foreign_why(&snapshot->cluster, sorted[i], arena));
	if (count > FOREIGN_NAMES_MAX)
		text = arena_printf(arena, "%s and %zu more", text, count - FOREIGN_NAMES_MAX);
	return arena_printf(
		arena,
		"%zu Pod%s with the labels of this RayCluster %s not belong to it and "
		"%s left out: %s; KubeRay's operator counts Pods by label: delete %s or "
		"change the labels",
		count, count == 1 ? "" : "s", count == 1 ? "does" : "do", count == 1 ? "is" : "are",
		text, count == 1 ? "it" : "them");
}

/* ---- which one is the head ---- */

static bool is_named(const struct ray_cluster *cluster, const struct pod *pod)
{
	if (is_given(cluster->head_pod_name))
		return strcmp(cluster->head_pod_name, pod->name) == 0;
	return is_given(cluster->head_pod_ip) && strcmp(cluster->head_pod_ip, pod->pod_ip) == 0;
}

static bool is_before(const struct pod *a, const struct pod *b)
{
	if (!b || a->deleting != b->deleting)
		return !b || b->deleting;
	return strcmp(a->name, b->name) < 0;
}

static void add_head(struct identity_heads *heads, const struct ray_cluster *cluster,
		     const struct pod *pod)
{
	if (is_named(cluster, pod) && is_before(pod, heads->named))
		heads->named = pod;
	if (is_before(pod, heads->first)) {
		heads->second = heads->first;
		heads->first = pod;
	} else if (is_before(pod, heads->second)) {
		heads->second = pod;
	}
}

void identity_heads_add(struct identity_heads *heads, const struct ray_cluster *cluster,
			const struct pod *pod)
{
	if (pod_is_head(pod) && claims(cluster, pod) && identity_is_owned(cluster, pod))
		add_head(heads, cluster, pod);
}

const struct pod *identity_head_of(const struct identity_heads *heads,
				   const struct ray_cluster *cluster, struct arena *arena,
				   const char **ret_problem)
{
	static const char cure[] = "delete the Pod that is not the head of this RayCluster";
	bool by_name = is_given(cluster->head_pod_name);
	const char *member = by_name ? "podName" : "podIP";
	const struct pod *rival = heads->first == heads->named ? heads->second : heads->first;

	*ret_problem = NULL;
	if (!heads->first)
		return NULL;
	if (!by_name && !is_given(cluster->head_pod_ip)) {
		if (!heads->second || heads->second->deleting)
			return heads->first;
		*ret_problem =
			arena_printf(arena,
				     "there are two head Pods, %s and %s, and status.head of the "
				     "RayCluster names none; %s",
				     heads->first->name, heads->second->name, cure);
		return NULL;
	}
	if (!heads->named && heads->first->unreadable)
		*ret_problem = arena_printf(arena, "the head Pod %s cannot be read: %s",
					    heads->first->name, heads->first->unreadable);
	else if (!heads->named)
		*ret_problem = arena_printf(
			arena,
			"the head Pod %s is not the one that status.head.%s of the RayCluster "
			"names, %s; KubeRay's operator updates it, or %s",
			heads->first->name, member,
			resource_name_text(arena,
					   by_name ? cluster->head_pod_name : cluster->head_pod_ip),
			cure);
	else if (rival && !rival->deleting)
		*ret_problem =
			arena_printf(arena,
				     "there are two head Pods, %s, which status.head.%s of the "
				     "RayCluster names, and %s; %s",
				     heads->named->name, member, rival->name, cure);
	return heads->named;
}

const struct pod *identity_head_in(const struct snapshot *snapshot, struct arena *arena,
				   const char **ret_problem)
{
	struct identity_heads heads = { .named = NULL };

	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (pod_is_head(snapshot->pods[i]) && claims(&snapshot->cluster, snapshot->pods[i]))
			add_head(&heads, &snapshot->cluster, snapshot->pods[i]);
	return identity_head_of(&heads, &snapshot->cluster, arena, ret_problem);
}
