/* base/list: the order of arrival, and items that leave from anywhere. */
#include "base/list.h"

#include "test/support/support.h"

struct member {
	int number;
	struct list_item item;
};

static void expect(const struct list *list, const int *numbers, size_t count)
{
	const struct list_item *item = list->first, *previous = NULL;

	assert_int_equal(list->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_ptr_equal(item->previous, previous);
		assert_ptr_equal(item->list, list);
		assert_int_equal(LIST_MEMBER((struct list_item *)item, struct member, item)->number,
				 numbers[i]);
		previous = item;
		item = item->next;
	}
	assert_null(item);
	assert_ptr_equal(list->last, previous);
}

static void test_order(void **state)
{
	struct member members[4] = {
		{ .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 }
	};
	struct list list = { .first = NULL };

	(void)state;
	expect(&list, NULL, 0);
	for (size_t i = 0; i < 4; i++)
		list_add(&list, &members[i].item);
	expect(&list, (int[]){ 0, 1, 2, 3 }, 4);
	list_remove(&members[1].item);
	list_remove(&members[1].item); /* is in none now */
	expect(&list, (int[]){ 0, 2, 3 }, 3);
	list_remove(&members[0].item);
	list_remove(&members[3].item);
	expect(&list, (int[]){ 2 }, 1);
	list_add(&list, &members[0].item);
	expect(&list, (int[]){ 2, 0 }, 2);
	list_remove(&members[2].item);
	list_remove(&members[0].item);
	expect(&list, NULL, 0);
	assert_null(LIST_MEMBER(list.first, struct member, item));
}

static void test_each_may_leave(void **state)
{
	struct member members[4] = {
		{ .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 }
	};
	struct list list = { .first = NULL };
	int sum = 0;

	(void)state;
	LIST_EACH(struct member, member, &list, item)
		fail_msg("the list is empty");
	for (size_t i = 0; i < 4; i++)
		list_add(&list, &members[i].item);
	LIST_EACH(struct member, member, &list, item) {
		if (member->number == 3)
			break;
		sum = sum * 10 + member->number + 1;
		if (member->number != 1) {
			list_remove(&member->item);
			member->number = -1;
		}
	}
	assert_int_equal(sum, 123);
	expect(&list, (int[]){ 1, 3 }, 2);
}

static void test_an_item_is_in_one_list(void **state)
{
	struct member member = { .number = 0 };
	struct list list = { .first = NULL }, other = { .first = NULL };

	(void)state;
	list_add(&list, &member.item);
	EXPECT_CHECK(list_add(&other, &member.item));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_each_may_leave),
		cmocka_unit_test(test_an_item_is_in_one_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
