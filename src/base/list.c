#include "base/list.h"

#include "base/check.h"

void list_add(struct list *list, struct list_item *item)
{
	CHECK(!item->list);
	*item = (struct list_item){ .list = list, .previous = list->last };
	if (list->last)
		list->last->next = item;
	else
		list->first = item;
	list->last = item;
	list->count++;
}

void list_remove(struct list_item *item)
{
	struct list *list = item->list;

	if (!list)
		return;
	if (item->previous)
		item->previous->next = item->next;
	else
		list->first = item->next;
	if (item->next)
		item->next->previous = item->previous;
	else
		list->last = item->previous;
	list->count--;
	*item = (struct list_item){ .list = NULL };
}
