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
	const struct pod **sorted = ARENA_COPY(arena, snapshot->foreign_pods, count);
	const char *text = "";

	if (count == 0)
		return NULL;
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

/* As KubeRay's operator counts it. */
static bool is_ready(const struct pod *pod)
{
	const struct condition *ready =
		condition_find(pod->conditions, pod->condition_count, "Ready");

	return !pod->unreadable && strcmp(pod->phase, "Running") == 0 && ready &&
	       strcmp(ready->status, "True") == 0;
}

static void add_head(struct identity_heads *heads, const struct ray_cluster *cluster,
		     const struct pod *pod)
{
	heads->living += !pod->deleting;
	heads->ready += is_ready(pod);
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

static const char cure[] = "delete the Pod that is not the head of this RayCluster";

static bool is_active_passive(const struct ray_cluster *cluster)
{
	return cluster->active_passive_head || cluster->active_passive_options;
}

/* Why it is unclear that `head` is the active one of active-passive heads; NULL: it is. */
static const char *active_problem(const struct identity_heads *heads, const struct pod *head,
				  struct arena *arena)
{
	const struct pod *other = heads->first == head ? heads->second : heads->first;

	if (heads->living > 2)
		return arena_printf(arena,
				    "there are %zu head Pods, among them %s and %s, and KubeRay "
				    "makes two of a RayCluster with active-passive heads; %s",
				    heads->living, heads->first->name, heads->second->name, cure);
	if (head->deleting || !is_ready(head))
		return arena_printf(arena,
				    "the head Pod %s is %s%s, so it may not be the active one of "
				    "the active-passive heads; this ends when KubeRay's operator "
				    "names a Ready head Pod in status.head of the RayCluster",
				    head->name, head->deleting ? "being deleted" : "not Ready",
				    !other || !is_ready(other) ?
					    "" :
					    arena_printf(arena, " and %s is Ready", other->name));
	if (heads->ready > 1)
		return arena_printf(
			arena,
			"of the active-passive heads %s and %s both are Ready, so it is "
			"unclear which one is active; this ends with the failover, or %s",
			heads->first->name, heads->second->name, cure);
	return NULL;
}

/* Why the head that the status names, if any, is not certain; NULL: it is. */
static const char *named_problem(const struct identity_heads *heads,
				 const struct ray_cluster *cluster, struct arena *arena)
{
	bool by_name = is_given(cluster->head_pod_name);
	const char *member = by_name ? "podName" : "podIP";
	const struct pod *rival = heads->first == heads->named ? heads->second : heads->first;

	if (!heads->named && heads->first->unreadable)
		return arena_printf(arena, "the head Pod %s cannot be read: %s", heads->first->name,
				    heads->first->unreadable);
	if (!heads->named)
		return arena_printf(
			arena,
			"the head Pod %s is not the one that status.head.%s of the RayCluster "
			"names, %s; KubeRay's operator updates it, or %s",
			heads->first->name, member,
			resource_name_text(arena,
					   by_name ? cluster->head_pod_name : cluster->head_pod_ip),
			cure);
	if (is_active_passive(cluster))
		return active_problem(heads, heads->named, arena);
	if (rival && !rival->deleting)
		return arena_printf(arena,
				    "there are two head Pods, %s, which status.head.%s of the "
				    "RayCluster names, and %s; %s",
				    heads->named->name, member, rival->name, cure);
	return NULL;
}

const struct pod *identity_head_of(const struct identity_heads *heads,
				   const struct ray_cluster *cluster, struct arena *arena,
				   const char **ret_problem)
{
	*ret_problem = NULL;
	if (!heads->first)
		return NULL;
	if (is_given(cluster->head_pod_name) || is_given(cluster->head_pod_ip)) {
		*ret_problem = named_problem(heads, cluster, arena);
		return heads->named;
	}
	if (heads->second && !heads->second->deleting) {
		*ret_problem =
			arena_printf(arena,
				     "there are two head Pods, %s and %s, and status.head of the "
				     "RayCluster names none; %s",
				     heads->first->name, heads->second->name, cure);
		return NULL;
	}
	if (is_active_passive(cluster))
		*ret_problem = active_problem(heads, heads->first, arena);
	return heads->first;
}

static const char *sidecar_problem(const struct identity_heads *heads, struct arena *arena)
{
	return arena_printf(
		arena,
		"there are two head Pods, %s and %s, and a sidecar reads the GCS of its "
		"own, which may be the passive one; run rayscaler as a controller",
		heads->first->name, heads->second->name);
}

const struct pod *identity_head_in(const struct snapshot *snapshot, struct arena *arena,
				   const char **ret_problem)
{
	struct identity_heads heads = { .named = NULL };
	const struct pod *head;

	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (pod_is_head(snapshot->pods[i]) && claims(&snapshot->cluster, snapshot->pods[i]))
			add_head(&heads, &snapshot->cluster, snapshot->pods[i]);
	head = identity_head_of(&heads, &snapshot->cluster, arena, ret_problem);
	if (!*ret_problem && heads.living > 1 && snapshot->settings.mode == MODE_SIDECAR)
		*ret_problem = sidecar_problem(&heads, arena);
	return head;
}
