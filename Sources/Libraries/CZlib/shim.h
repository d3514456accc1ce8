#pragma once
#include <zlib.h>

/// deflateInit2 is a macro that adds the library's version and the size of its struct; Swift does not import it. With
/// 16 above the largest window, zlib writes the gzip format (RFC 1952).
static inline int ringline_zlib_begin_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}
