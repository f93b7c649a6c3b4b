/* Replies to GetClusterResourceState that no GCS would send, and large ones that one might: protobuf
 * by hand, because they must be cheap to make. Header only. */
#ifndef TEST_SUPPORT_GCS_FORGED_H
#define TEST_SUPPORT_GCS_FORGED_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"

#define FORGED_CEILING_BYTES ((size_t)80 << 20)
/* Numbers of src/gcs/ray.proto. */
enum { FORGED_NODE = 3, FORGED_REQUEST = 4, FORGED_GANG = 5, FORGED_CONSTRAINT = 6 };
/* Placement groups with selectors, as Ray 2.60 sends them. */
enum { FORGED_GANG_SELECTOR = 3 };

__attribute__((unused)) static void forged_varint(struct buf *buf, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		(void)buf_add_char(buf, (char)(value | 0x80));
	(void)buf_add_char(buf, (char)value);
}

/* A field of bytes: a text or a message. */
__attribute__((unused)) static void forged_bytes(struct buf *buf, unsigned number, const void *data,
						 size_t size)
{
	forged_varint(buf, (uint64_t)number << 3 | 2);
	forged_varint(buf, size);
	(void)buf_add(buf, data, size);
}

__attribute__((unused)) static void forged_message(struct buf *buf, unsigned number,
						   const struct buf *message)
{
	forged_bytes(buf, number, buf_string(message), message->size);
}

__attribute__((unused)) static void forged_text(struct buf *buf, unsigned number, const char *text)
{
	forged_bytes(buf, number, text, strlen(text));
}

__attribute__((unused)) static void forged_number(struct buf *buf, unsigned number, uint64_t value)
{
	forged_varint(buf, (uint64_t)number << 3);
	forged_varint(buf, value);
}

/* One entry of a map of amounts. */
__attribute__((unused)) static void forged_amount(struct buf *buf, unsigned number,
						  const char *name, double amount)
{
	AUTO(buf_done) struct buf entry;

	buf_init(&entry, 100000);
	forged_text(&entry, 1, name);
	forged_varint(&entry, 2 << 3 | 1);
	(void)buf_add(&entry, &amount, sizeof(amount));
	forged_message(buf, number, &entry);
}

/* The reply with this state. Takes the bytes of the state. */
__attribute__((unused)) static void forged_reply(struct buf *state, struct buf *ret_reply)
{
	buf_init(ret_reply, FORGED_CEILING_BYTES);
	forged_message(ret_reply, 1, state);
	buf_done(state);
}

/* Tasks of one CPU-like resource each, `count` of each of `shapes` shapes. */
__attribute__((unused)) static void forged_shapes(struct buf *state, size_t shapes, uint64_t count)
{
	AUTO(buf_done) struct buf request, counted;

	buf_init(&request, 1000);
	buf_init(&counted, 1000);
	for (size_t i = 0; i < shapes; i++) {
		buf_clear(&request);
		buf_clear(&counted);
		forged_amount(&request, 1, "C", (double)(i + 1) / 10000);
		forged_message(&counted, 1, &request);
		forged_number(&counted, 2, count);
		forged_message(state, FORGED_REQUEST, &counted);
	}
}

/* Nodes with nothing but a name. */
__attribute__((unused)) static void forged_nodes(struct buf *state, size_t count)
{
	AUTO(buf_done) struct buf node;
	char name[40];

	buf_init(&node, 1000);
	for (size_t i = 0; i < count; i++) {
		buf_clear(&node);
		(void)snprintf(name, sizeof(name), "forged-node-%07zu", i % 10000000);
		forged_text(&node, 2, name);
		forged_message(state, FORGED_NODE, &node);
	}
}

/* Entries without anything, two bytes each. */
__attribute__((unused)) static void forged_empty(struct buf *state, unsigned list, size_t bytes)
{
	for (size_t i = 0; i < bytes / 2; i++) {
		forged_varint(state, (uint64_t)list << 3 | 2);
		forged_varint(state, 0);
	}
}

__attribute__((unused)) static void forged_label(struct buf *node, const char *key,
						 const char *value)
{
	AUTO(buf_done) struct buf label;

	buf_init(&label, 1000);
	forged_text(&label, 1, key);
	forged_text(&label, 2, value);
	forged_message(node, 13, &label);
}

/* Nodes as Ray sends them for GPU workers, about 700 bytes each. */
__attribute__((unused)) static void forged_workers(struct buf *state, size_t count)
{
	AUTO(buf_done) struct buf node;
	char text[80];

	buf_init(&node, 10000);
	for (size_t i = 0; i < count; i++) {
		buf_clear(&node);
		(void)snprintf(text, sizeof(text), "%028zu", i % 10000000);
		forged_text(&node, 1, text);
		(void)snprintf(text, sizeof(text), "raycluster-gpu-group-worker-%05zu", i % 100000);
		forged_text(&node, 2, text);
		forged_text(&node, 3, "gpu-group");
		for (unsigned map = 4; map <= 5; map++) {
			forged_amount(&node, map, "CPU", 16);
			forged_amount(&node, map, "GPU", 8);
			forged_amount(&node, map, "memory", 68719476736);
			forged_amount(&node, map, "object_store_memory", 20000000000);
			forged_amount(&node, map, "accelerator_type:A100", 1);
			(void)snprintf(text, sizeof(text), "node:10.%zu.%zu.%zu", i >> 16 & 255,
				       i >> 8 & 255, i & 255);
			forged_amount(&node, map, text, 1);
		}
		forged_number(&node, 8, 1);
		forged_text(&node, 10, text + 5);
		forged_text(&node, 12, "Resource: CPU currently in use.");
		forged_text(&node, 12, "Busy workers on node.");
		(void)snprintf(text, sizeof(text), "%056zu", i % 10000000);
		forged_label(&node, "ray.io/node-id", text);
		forged_label(&node, "ray.io/accelerator-type", "A100");
		forged_label(&node, "ray.io/node-group", "gpu-group");
		forged_label(&node, "ray.io/market-type", "on-demand");
		forged_label(&node, "ray.io/availability-region", "eu-west-1");
		forged_label(&node, "ray.io/availability-zone", "eu-west-1a");
		forged_message(state, FORGED_NODE, &node);
	}
}

/* Placement groups whose bundles differ from each other in `shapes` ways. */
__attribute__((unused)) static void forged_gangs(struct buf *state, size_t gangs, size_t bundles,
						 size_t shapes)
{
	AUTO(buf_done) struct buf request, selector, gang;

	buf_init(&request, 1000);
	buf_init(&selector, FORGED_CEILING_BYTES);
	buf_init(&gang, FORGED_CEILING_BYTES);
	for (size_t i = 0; i < gangs; i++) {
		buf_clear(&selector);
		buf_clear(&gang);
		for (size_t b = 0; b < bundles; b++) {
			buf_clear(&request);
			forged_amount(&request, 1, "GPU", (double)((i + b) % shapes + 1));
			forged_message(&selector, 1, &request);
		}
		forged_text(&gang, 2, "0a1b:PACK|PENDING");
		forged_message(&gang, FORGED_GANG_SELECTOR, &selector);
		forged_message(state, FORGED_GANG, &gang);
	}
}

#endif
