#pragma once
#include <uv.h>
#include <libwebsockets.h>

/// `LWS_PRE` is a function-like macro expression, which Swift does not import.
static inline size_t clws_pre(void) { return LWS_PRE; }
