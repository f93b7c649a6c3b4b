/* The rows of in-place resize in the tables of core/model/reason.h. */
#ifndef FEATURE_IN_PLACE_RESIZE_MODEL_RESIZE_REASON_H
#define FEATURE_IN_PLACE_RESIZE_MODEL_RESIZE_REASON_H

/* Rows of the table of core/model/settings.h. */
#define RESIZE_SETTINGS(X)                                                                         \
	X(BOOLEAN, in_place_resize, "in-place-resize", false, 0, 1, "true|false",                  \
	  "resize workers as ray.io/ippr says")

/* The row of lint about it: see feature/lint/core/lint_rule.h. */
#define RESIZE_LINT_RULES(T, N, S)                                                                 \
	T(RESIZE_INVALID, WARNING, "resize-invalid", resize_rule_invalid,                          \
	  "Ray refuses the annotation `ray.io/ippr`, or the template of a group in it",            \
	  "change the field of the message")

#define CONDITION_IN_PLACE_RESIZE "InPlaceResize"
#define CONDITION_POD_RESIZE_REFUSED "PodResizeRefused"

#define RESIZE_CONDITION_REASONS(X)                                                                \
	X(RESIZE_OFF, "ResizeOff", 0, "InPlaceResize: `ray.io/ippr` has no effect", "remove it")   \
	X(RESIZE_INVALID, "ResizeInvalid", 0, "InPlaceResize: Ray refuses the annotation",         \
	  "see the message")                                                                       \
	X(RESIZE_ON, "ResizeOn", 0, "InPlaceResize: the message has resizes under way", "nothing") \
	X(RESIZE_FOR_DEMAND, "ResizeForDemand", 0, "demand needs a larger worker", "nothing")      \
	X(RESIZE_NODE_FULL, "ResizeNodeFull", 0, "repeated with the room of the Node", "nothing")  \
	X(RESIZE_FAILED, "ResizeFailed", 0, "taken back, for good", "`kubectl describe pod`")      \
	X(RESIZE_DONE, "ResizeDone", 0, "Ray is informed of the new size", "nothing")              \
	X(POD_RESIZE_REFUSED, "PodResizeRefused", 0, "the API server or Ray refuses resizes",      \
	  "see the message")

#endif
