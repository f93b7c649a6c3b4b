#include "codec/objects/list_json.h"

#include "codec/text/json.h"

int list_decode(const struct cJSON *json, struct arena *arena, struct list_page *ret_page,
		struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, "", &reader), metadata, items;
	struct list_page page = { .items = NULL };

	if (json_expect(&root, JSON_OBJECT) || json_object(&root, "metadata", &metadata) ||
	    json_text(&metadata, "resourceVersion", &page.resource_version) ||
	    json_text(&metadata, "continue", &page.continue_token))
		return -1;
	items = json_member(&root, "items");
	/* An empty Go slice may be null; without the member the object is not a list. */
	if (json_type(&items) != JSON_NULL && json_expect(&items, JSON_ARRAY))
		return -1;
	page.items = items.json;
	page.count = json_count(&items);
	*ret_page = page;
	return 0;
}

const struct cJSON *list_first(const struct list_page *page)
{
	struct json_at items = json_root(page->items, "items", NULL);

	return json_first(&items).json;
}

const struct cJSON *list_next(const struct cJSON *item)
{
	struct json_at at = json_root(item, "", NULL);

	at.name = NULL;
	json_next(&at);
	return at.json;
}
