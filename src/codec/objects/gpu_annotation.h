/* The part of a GPU that a Pod asks for by annotation, as the schedulers KAI and Run:ai read it:
 * gpu-fraction "0.5", or gpu-memory "4000" (MiB of one GPU). Its container names no GPU, so KubeRay and
 * Ray see none. They are quantities beside the limits of the Ray container, with rows of the device
 * table, times gpu-fraction-num-devices. Must not judge them. */
#ifndef CODEC_OBJECTS_GPU_ANNOTATION_H
#define CODEC_OBJECTS_GPU_ANNOTATION_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* In the arena; none where no annotation is a positive amount. */
struct quantities gpu_annotation_decode(const struct labels *annotations, struct arena *arena);

#endif
