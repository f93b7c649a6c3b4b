/* A list in the order of arrival, with its links in the members: no separate memory, and every
 * operation takes constant time. A member has one struct list_item for each list that it may be in
 * at a time. All zero: an empty list, an item that is in none. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

struct list_item {
	struct list *list; /* NULL: in none */
	struct list_item *previous, *next;
};

struct list {
	struct list_item *first, *last;
	size_t count;
};

/* At the end. CHECKs that the item is in no list. */
void list_add(struct list *list, struct list_item *item);
/* Fine for an item that is in no list. */
void list_remove(struct list_item *item);

/* The struct of this type that has the item as `member`; NULL for NULL. */
#define LIST_MEMBER(item, type, member)                                                            \
	({                                                                                         \
		struct list_item *item_ = (item);                                                  \
		item_ ? (type *)(void *)((char *)item_ - offsetof(type, member)) : NULL;           \
	})

/* Goes through the members of the list, in order; the body may remove and free `each`. */
#define LIST_EACH(type, each, head, member)                                                        \
	for (__typeof__(type) *(each) = LIST_MEMBER((head)->first, type, member),                  \
			      *next_ = LIST_AFTER(each, type, member);                             \
	     (each); (each) = next_, next_ = LIST_AFTER(each, type, member))
#define LIST_AFTER(each, type, member)                                                             \
	LIST_MEMBER((each) ? (each)->member.next : NULL, type, member)

#endif
