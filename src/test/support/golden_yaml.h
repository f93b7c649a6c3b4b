/* JSON trees as YAML for people: a value that fits on a line is written on one. */
#ifndef TEST_GOLDEN_YAML_H
#define TEST_GOLDEN_YAML_H

struct buf;
struct cJSON;

/* Appends "NAME:" and the value; the members of the value are on lines of their own. */
void golden_yaml_write(struct buf *buf, const char *name, const struct cJSON *value);

#endif
