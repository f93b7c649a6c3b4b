#include "kube/kube_call.h"

void kube_call_list_add(struct kube_call_list *list, struct kube_call *call)
{
	call->previous = list->last;
	call->next = NULL;
	if (list->last)
		list->last->next = call;
	else
		list->first = call;
	list->last = call;
	list->count++;
}

void kube_call_list_remove(struct kube_call_list *list, struct kube_call *call)
{
	if (call->previous)
		call->previous->next = call->next;
	else
		list->first = call->next;
	if (call->next)
		call->next->previous = call->previous;
	else
		list->last = call->previous;
	list->count--;
}
