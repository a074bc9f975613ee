/* Reading numbers out of tables that may be damaged: nothing beyond their end is read. */
#pragma once

#include "../platform/platform.h"

typedef struct gc__byte_reader {
    const uint8_t *at, *end;
    bool is_broken; /* more was asked for than there is: that was read as 0 */
} gc__byte_reader;

GC__FN gc__byte_reader gc__byte_reader_of(uintptr_t at, uintptr_t end) {
    gc__byte_reader reader = {(const uint8_t *)at, (const uint8_t *)end, at > end};
    return reader;
}

/* Passes over so many bytes. NULL: there are fewer. */
GC__FN const uint8_t *gc__byte_skip(gc__byte_reader *reader, uint64_t bytes) {
    const uint8_t *at = reader->at;
    reader->is_broken |= reader->is_broken || bytes > (uint64_t)(reader->end - at);
    if (reader->is_broken) return NULL;
    reader->at += bytes;
    return at;
}

/* A number of 1, 2, 4 or 8 bytes. */
GC__FN uint64_t gc__byte_number(gc__byte_reader *reader, unsigned bytes) {
    const uint8_t *at = gc__byte_skip(reader, bytes);
    uint64_t number = 0;
    if (at) memcpy(&number, at, bytes);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? number : number >> (64 - 8 * bytes);
}

GC__FN int64_t gc__byte_signed(gc__byte_reader *reader, unsigned bytes) {
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(gc__byte_number(reader, bytes) << shift) >> shift;
}

/* A number in pieces of seven bits, the lowest first: ULEB128, or if `is_signed` SLEB128. */
GC__FN uint64_t gc__byte_pieces(gc__byte_reader *reader, bool is_signed) {
    uint64_t number = 0, piece;
    unsigned shift = 0;
    do {
        piece = gc__byte_number(reader, 1);
        if (shift < 64) number |= (piece & 127) << shift;
        shift += 7;
    } while (piece & 128);
    if (is_signed && shift < 64 && (piece & 64)) number |= ~(uint64_t)0 << shift;
    return number;
}

GC__FN uint64_t gc__byte_uleb(gc__byte_reader *reader) { return gc__byte_pieces(reader, false); }
GC__FN int64_t gc__byte_sleb(gc__byte_reader *reader) { return (int64_t)gc__byte_pieces(reader, true); }

GC__FN const char *gc__byte_text(gc__byte_reader *reader) {
    const void *zero = reader->is_broken ? NULL : memchr(reader->at, 0, (size_t)(reader->end - reader->at));
    const char *text = (const char *)reader->at;
    reader->is_broken |= !zero;
    if (!zero) return "";
    reader->at = (const uint8_t *)zero + 1;
    return text;
}
