/* ResourceRequest, protobuf bytes to struct ray_request. Equal bytes share the decoded request. */
#ifndef GCS_GCS_REQUEST_H
#define GCS_GCS_REQUEST_H

#include "gcs/gcs_reader.h"

/* The bytes must live as long as the reader. -1: the reader has failed. */
int gcs_request_read(struct gcs_reader *reader, struct gcs_bytes body, struct ray_request *ret);

#endif
