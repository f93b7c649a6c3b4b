#include "cli/shared/missing.h"

#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "cli/shared/help.h"
#include "codec/text/json.h"
#include "core/model/autoscaler_container.h"
#include "core/model/kubernetes.h"
#include "kube/kube_path.h"

#define LISTED_MAX "500" /* objects of one list */
#define NAMES_SHOWN 5

struct name {
	const char *namespace_, *name;
};

struct names {
	struct arena *arena;
	VEC(struct name) at;
};

/* ---- lists ---- */

static void add_item(void *context, const char *text, size_t size, const char *problem)
{
	static const struct json_limits limits = {
		.bytes = 64 << 10, .depth = 64, .elements = 10000, .foreign = true
	};
	struct names *names = context;
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = names->arena };
	struct name one = { .name = "" };
	struct json_at root, metadata;

	(void)problem;
	if (json_parse(text, size, &limits, &json, NULL))
		return;
	root = json_root(json, "", &reader);
	metadata = json_member(&root, "metadata");
	if (json_shown(&metadata, "namespace", &one.namespace_) == 0 &&
	    json_shown(&metadata, "name", &one.name) == 0 && *one.name != '\0')
		VEC_PUSH(names->arena, &names->at, one);
}

/* Of each item only the skeleton is kept: it is "too large". namespace_ NULL: of all. */
static int list(struct connection *connection, const char *version, const char *plural,
		const char *namespace_, struct names *names, struct err *err)
{
	const char *path = kube_path(names->arena, version, namespace_, plural, NULL, NULL);

	return api_connection_list(connection,
				   kube_path_query(names->arena, path, "limit", LISTED_MAX), 1,
				   add_item, names, names->arena, err);
}

/* The names that the API server has. */
struct found {
	struct connection *connection;
	const char *namespace_;
	struct names clusters;
	bool listed;
	struct err err; /* of the list */
};

static void find(struct connection *connection, const char *namespace_, struct arena *arena,
		 struct found *ret_found)
{
	struct names *clusters = &ret_found->clusters;

	*ret_found = (struct found){ .connection = connection,
				     .namespace_ = namespace_,
				     .clusters.arena = arena };
	ret_found->listed = list(connection, RAY_API_VERSION, "rayclusters", NULL, clusters,
				 &ret_found->err) == 0;
	if (!ret_found->listed && namespace_ && ret_found->err.kind == ERR_DENIED)
		ret_found->listed = list(connection, RAY_API_VERSION, "rayclusters", namespace_,
					 clusters, &ret_found->err) == 0;
}

/* ---- sentences ---- */

static bool is_here(const struct found *found, const struct name *name)
{
	return !found->namespace_ || strcmp(name->namespace_, found->namespace_) == 0;
}

/* "a, b and 3 more" of the names of the namespace, or of the other namespaces that have some; "": there
 * are none. */
static const char *names_text(const struct found *found, bool here)
{
	struct arena *arena = found->clusters.arena;
	const char *text = "";
	size_t count = 0;

	for (size_t i = 0; i < found->clusters.at.count; i++) {
		const struct name *one = &found->clusters.at.at[i];
		bool repeated = false;

		if (!here)
			for (size_t k = 0; k < i; k++)
				repeated = repeated || strcmp(found->clusters.at.at[k].namespace_,
							      one->namespace_) == 0;
		if (repeated || is_here(found, one) != here || count++ >= NAMES_SHOWN)
			continue;
		text = arena_printf(arena, "%s%s%s", text, count > 1 ? ", " : "",
				    here ? one->name : one->namespace_);
	}
	return count > NAMES_SHOWN ?
		       arena_printf(arena, "%s and %zu more", text, count - NAMES_SHOWN) :
		       text;
}

/* "; did you mean demo?", of the namespace first; "": nothing is near. */
static const char *hint_of(const struct found *found, const char *name)
{
	struct arena *arena = found->clusters.arena;
	struct nearest here = nearest_start(name), there = nearest_start(name);
	const char *place = "";

	VEC_EACH(const struct name, one, &found->clusters.at) {
		const char *before = there.word;

		nearest_offer(is_here(found, one) ? &here : &there, one->name);
		if (there.word != before)
			place = one->namespace_;
	}
	if (here.word && (!there.word || here.distance <= there.distance || there.distance > 0))
		return arena_printf(arena, "; did you mean %s?", here.word);
	if (there.word)
		return arena_printf(arena, "; did you mean %s in namespace %s (-n %s)?", there.word,
				    place, place);
	return "";
}

/* "; namespace ray has demo, train", "; namespace ray has no RayClusters; ray and a have some". */
static const char *exists_text(const struct found *found)
{
	struct arena *arena = found->clusters.arena;
	const char *here = names_text(found, true), *there = names_text(found, false);

	if (!found->listed)
		return "";
	if (*here != '\0')
		return arena_printf(arena, "; namespace %s has %s", found->namespace_, here);
	return arena_printf(arena, "; namespace %s has no RayClusters%s%s", found->namespace_,
			    *there != '\0' ? ", these have some: " : "", there);
}

/* Where it looked, and where else to. */
static const char *place_text(const struct found *found)
{
	return arena_printf(found->clusters.arena,
			    " (%s); see all with \"%s status -A\", another cluster with --context",
			    api_connection_source(found->connection), help_program());
}

/* ---- namespaces ---- */

/* Only a 404 is an answer: few users may read namespaces. */
static bool namespace_is_missing(const struct found *found)
{
	AUTO(fetch_done)
	struct fetch fetch = { .path = kube_path(found->clusters.arena, "v1", NULL, "namespaces",
						 found->namespace_, NULL) };
	struct err err;

	return api_connection_fetch_one(found->connection, &fetch, &err) &&
	       err.kind == ERR_NOT_FOUND;
}

static int report_namespace(const struct found *found, struct err *err)
{
	struct names namespaces = { .arena = found->clusters.arena };
	struct nearest nearest = nearest_start(found->namespace_);
	char hint[NEAREST_HINT_SIZE];
	struct err ignored;
	const char *others = names_text(found, false);

	(void)list(found->connection, "v1", "namespaces", NULL, &namespaces, &ignored);
	VEC_EACH(const struct name, one, &namespaces.at)
		nearest_offer(&nearest, one->name);
	VEC_EACH(const struct name, one, &found->clusters.at)
		nearest_offer(&nearest, one->namespace_);
	return err_set(err, ERR_NOT_FOUND,
		       "namespace %s does not exist%s%s%s; set it with -n NAMESPACE%s",
		       found->namespace_, nearest_hint(&nearest, hint),
		       *others != '\0' ? "; RayClusters are in " : "", others, place_text(found));
}

/* A namespace or a kind that does not exist. */
static int check_place(const struct found *found, struct err *err)
{
	if (!found->listed && found->err.kind == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND,
			       "the API server does not know RayClusters (%s): install KubeRay, "
			       "or use another cluster with --context",
			       api_connection_source(found->connection));
	if (found->namespace_ && namespace_is_missing(found))
		return report_namespace(found, err);
	return 0;
}

int missing_cluster(struct connection *connection, const char *namespace_, const char *name,
		    struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct found found;

	find(connection, namespace_, &arena, &found);
	if (check_place(&found, err))
		return -1;
	return err_set(err, ERR_NOT_FOUND, "RayCluster %s/%s does not exist%s%s%s", namespace_,
		       name, hint_of(&found, name), exists_text(&found), place_text(&found));
}

int missing_any(struct connection *connection, const char *namespace_, struct arena *arena,
		const char **ret_sentence, struct err *err)
{
	struct found found;

	find(connection, namespace_, arena, &found);
	if (check_place(&found, err))
		return -1;
	*ret_sentence =
		namespace_ ?
			arena_printf(
				arena, "there are no RayClusters in namespace %s%s%s", namespace_,
				*names_text(&found, false) != '\0' ? "; these have some: " : "",
				names_text(&found, false)) :
			"there are no RayClusters";
	*ret_sentence = arena_printf(arena, "%s%s", *ret_sentence, place_text(&found));
	return 0;
}
