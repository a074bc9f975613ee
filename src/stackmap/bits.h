/* Streams of bits, and ascending lists in them.

   The lowest bit of a byte comes first. A number of varying length, "base b", is written in groups of b + 1 bits, the low
   group first; the top bit of a group says that another group follows. A signed number n is written as 2n, or -2n - 1.

   An ascending list of n numbers from 0 to max takes little more than n * (2 + log2(max / n)) bits, and any of its numbers
   is found without those before it. The low_bits lowest bits of each number are stored side by side. The rest, `high`, is in
   a row of n ones and max >> low_bits zeros, in which the number i sets bit high + i. So the zeros count how far `high` has
   come, and the numbers with that `high` are the ones between two zeros. (Elias 1974, Fano 1971.) */
#pragma once

#include "../platform/platform.h"

/* What may be read. Beyond its end it reads as zero. */
typedef struct gc__bits {
    const uint8_t *start;
    uint64_t bytes;
} gc__bits;

#define GC__BITS_AT_ONCE 56

GC__INLINED uint64_t gc__bits_mask(unsigned width) { return ((uint64_t)1 << width) - 1; }

GC__FN uint64_t gc__bits_load_end(const gc__bits *bits, uint64_t byte) {
    uint64_t word = 0;
    for (uint64_t i = byte; i < bits->bytes; i++) word |= (uint64_t)bits->start[i] << 8 * (i - byte);
    return word;
}

/* The 8 bytes from `byte` on. */
GC__INLINED uint64_t gc__bits_load_bytes(const gc__bits *bits, uint64_t byte) {
    uint64_t word;
    if (GC__UNLIKELY(byte + 8 > bits->bytes)) return gc__bits_load_end(bits, byte);
    memcpy(&word, bits->start + byte, 8);
    return GC__LITTLE(64, word);
}

/* At least 57 bits from `at` on. */
GC__INLINED uint64_t gc__bits_load(const gc__bits *bits, uint64_t at) {
    return gc__bits_load_bytes(bits, at >> 3) >> (at & 7);
}

/* The number in the `width` bits at `at`, width <= GC__BITS_AT_ONCE. */
GC__INLINED uint64_t gc__bits_at(const gc__bits *bits, uint64_t at, unsigned width) {
    return gc__bits_load(bits, at) & gc__bits_mask(width);
}

/* The same for width <= 64. */
GC__FN uint64_t gc__bits_word(const gc__bits *bits, uint64_t at, unsigned width) {
    if (width <= GC__BITS_AT_ONCE) return gc__bits_at(bits, at, width);
    return gc__bits_at(bits, at, 32) | gc__bits_at(bits, at + 32, width - 32) << 32;
}

/* How many bits a number below `count` takes. */
GC__FN unsigned gc__bits_for(uint64_t count) { return count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 0; }

/* In byte i of the result: how many ones the bytes 0 to i of the word have. */
GC__INLINED uint64_t gc__bits_sums(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return ((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101;
}

GC__FN unsigned gc__bits_count(uint64_t word) { return (unsigned)(gc__bits_sums(word) >> 56); }

/* The position of the n-th one of a word that has so many, n >= 1. */
GC__INLINED unsigned gc__bits_select(uint64_t word, uint64_t sums, uint64_t n) {
    /* The top bit of each byte whose sum is n or more: the n-th one is in the first such byte. */
    uint64_t reached = (sums + (128 - n) * 0x0101010101010101) & 0x8080808080808080;
    unsigned shift = (unsigned)__builtin_ctzll(reached) & 56;
    n -= sums << 8 >> shift & 255;
    for (word &= UINT64_MAX << shift; --n;) word &= word - 1;
    return (unsigned)__builtin_ctzll(word);
}

/* The position behind the n-th bit of the given value in [at, end), n >= 1; or `end`. */
GC__INLINED uint64_t gc__bits_skip(const gc__bits *bits, uint64_t at, uint64_t end, uint64_t n, bool value) {
    uint64_t flip = value ? 0 : UINT64_MAX, mask = UINT64_MAX << (at & 7);
    for (uint64_t byte = at >> 3; byte * 8 < end; byte += 8, mask = UINT64_MAX) {
        uint64_t word = (gc__bits_load_bytes(bits, byte) ^ flip) & mask, sums = gc__bits_sums(word);
        if (sums >> 56 >= n) {
            uint64_t found = byte * 8 + gc__bits_select(word, sums, n) + 1;
            return found < end ? found : end;
        }
        n -= sums >> 56;
    }
    return end;
}

/* How many ones there are from `at` on, up to a zero; or, without one, up to `end` at least. */
GC__INLINED uint64_t gc__bits_run(const gc__bits *bits, uint64_t at, uint64_t end) {
    for (uint64_t i = at;; i += GC__BITS_AT_ONCE) {
        uint64_t zeros = ~gc__bits_load(bits, i) & gc__bits_mask(GC__BITS_AT_ONCE);
        if (GC__LIKELY(zeros)) return i - at + (unsigned)__builtin_ctzll(zeros);
        if (i >= end) return i - at;
    }
}

/* Reading one thing after another. */
typedef struct gc__bit_reader {
    gc__bits bits;
    uint64_t at;
    uint64_t word;  /* the bits from `at` on, of which */
    unsigned ahead; /* so many were loaded */
    bool malformed; /* what was read cannot have been written so */
} gc__bit_reader;

GC__INLINED gc__bit_reader gc__bits_read_from(const gc__bits *bits, uint64_t at) {
    gc__bit_reader reader = {*bits, at, 0, 0, false};
    return reader;
}

GC__INLINED void gc__bits_need(gc__bit_reader *reader, unsigned width) {
    if (reader->ahead >= width) return;
    reader->word = gc__bits_load(&reader->bits, reader->at);
    reader->ahead = GC__BITS_AT_ONCE;
}

GC__INLINED void gc__bits_pass(gc__bit_reader *reader, unsigned width) {
    reader->word >>= width;
    reader->ahead -= width;
    reader->at += width;
}

GC__INLINED uint32_t gc__bits_read(gc__bit_reader *reader, unsigned width) {
    gc__bits_need(reader, width);
    uint32_t value = (uint32_t)(reader->word & gc__bits_mask(width));
    gc__bits_pass(reader, width);
    return value;
}

GC__FN uint32_t gc__bits_read_long(gc__bit_reader *reader, unsigned base) {
    uint64_t value = 0, group;
    unsigned shift = 0;
    do {
        group = gc__bits_read(reader, base + 1);
        value |= (group & gc__bits_mask(base)) << shift;
        shift += base;
    } while (group >> base && shift < 32);
    if (GC__LIKELY(value <= UINT32_MAX && !(group >> base))) return (uint32_t)value;
    reader->malformed = true;
    return 0;
}

/* Numbers of up to four groups are read in place, for a call would force the reader into memory. */
GC__INLINED uint32_t gc__bits_read_number(gc__bit_reader *reader, unsigned base) {
    uint64_t mask = gc__bits_mask(base);
    gc__bits_need(reader, 4 * (base + 1));
    uint64_t word = reader->word, value = word & mask;
    unsigned width = base + 1;
    if (word >> base & 1) {
        value |= word >> 1 & mask << base, width += base + 1;
        if (word >> (2 * base + 1) & 1) {
            value |= word >> 2 & mask << 2 * base, width += base + 1;
            if (word >> (3 * base + 2) & 1) {
                value |= word >> 3 & mask << 3 * base, width += base + 1;
                if (GC__UNLIKELY(word >> (4 * base + 3) & 1)) {
                    gc__bit_reader copy = *reader;
                    value = gc__bits_read_long(&copy, base);
                    *reader = copy;
                    return (uint32_t)value;
                }
            }
        }
    }
    gc__bits_pass(reader, width);
    return (uint32_t)value;
}

GC__INLINED int32_t gc__bits_read_signed(gc__bit_reader *reader, unsigned base) {
    uint32_t value = gc__bits_read_number(reader, base);
    return (int32_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Writing. The memory must be zero before; without memory, the bits are only counted. */
typedef struct gc__bit_writer {
    uint8_t *start;
    uint64_t at;
} gc__bit_writer;

/* Width <= GC__BITS_AT_ONCE. */
GC__FN void gc__bits_write(gc__bit_writer *writer, uint64_t value, unsigned width) {
    if (writer->start) {
        value <<= writer->at & 7;
        for (uint8_t *byte = writer->start + (writer->at >> 3); value; value >>= 8) *byte++ |= (uint8_t)value;
    }
    writer->at += width;
}

GC__FN void gc__bits_write_number(gc__bit_writer *writer, uint32_t value, unsigned base) {
    for (; value >> base; value >>= base)
        gc__bits_write(writer, (value & gc__bits_mask(base)) | (uint64_t)1 << base, base + 1);
    gc__bits_write(writer, value, base + 1);
}

GC__FN void gc__bits_write_signed(gc__bit_writer *writer, int32_t value, unsigned base) {
    gc__bits_write_number(writer, (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0), base);
}

/* An ascending list, and where it is. */
typedef struct gc__ascending {
    uint64_t lows, highs, end; /* positions of bits; the highs reach up to `end` */
    uint32_t count, max;
    unsigned low_bits;
} gc__ascending;

GC__INLINED gc__ascending gc__ascending_place(uint64_t at, uint32_t count, uint32_t max) {
    gc__ascending list = {at, at, at, count, max, 0};
    if (!count) return list;
    if (max > count) {
        list.low_bits = (unsigned)(__builtin_clz(count) - __builtin_clz(max));
        list.low_bits -= (uint64_t)count << list.low_bits > max;
    }
    list.highs = at + (uint64_t)count * list.low_bits;
    list.end = list.highs + count + (max >> list.low_bits);
    return list;
}

GC__INLINED uint32_t gc__ascending_low(const gc__ascending *list, const gc__bits *bits, uint32_t i) {
    return (uint32_t)gc__bits_at(bits, list->lows + (uint64_t)i * list->low_bits, list->low_bits);
}

/* How many numbers of the list are below `value`. *is_next is set if the next one is `value`. */
GC__FN uint32_t gc__ascending_below(const gc__ascending *list, const gc__bits *bits, uint64_t value, bool *is_next) {
    *is_next = false;
    if (!list->count || value > list->max) return list->count;
    uint64_t high = value >> list->low_bits, from = list->highs, low = value & gc__bits_mask(list->low_bits);
    if (high) from = gc__bits_skip(bits, from, list->end, high, false);
    uint64_t first = from - list->highs - high, last = first + gc__bits_run(bits, from, list->end);
    if (last > list->count) last = list->count;
    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        uint32_t found = gc__ascending_low(list, bits, (uint32_t)middle);
        if (found == low) *is_next = true;
        if (found < low)
            first = middle + 1;
        else
            last = middle;
    }
    return first < list->count ? (uint32_t)first : list->count;
}

/* Number i of the list, i < count. */
GC__FN uint32_t gc__ascending_at(const gc__ascending *list, const gc__bits *bits, uint32_t i) {
    uint64_t high = gc__bits_skip(bits, list->highs, list->end, (uint64_t)i + 1, true) - 1 - list->highs - i;
    return (uint32_t)(high << list->low_bits | gc__ascending_low(list, bits, i));
}

/* Takes the numbers in turn: begin at the position list->highs. *at is then behind the one of number i. */
GC__FN uint32_t gc__ascending_next(const gc__ascending *list, const gc__bits *bits, uint32_t i, uint64_t *at) {
    *at = gc__bits_skip(bits, *at, list->end, 1, true);
    return (uint32_t)((*at - 1 - list->highs - i) << list->low_bits | gc__ascending_low(list, bits, i));
}

/* Writes number i of a list; the writer is then anywhere. */
GC__FN void gc__ascending_put(gc__bit_writer *writer, const gc__ascending *list, uint32_t i, uint32_t number) {
    writer->at = list->lows + (uint64_t)i * list->low_bits;
    gc__bits_write(writer, number & gc__bits_mask(list->low_bits), list->low_bits);
    writer->at = list->highs + (number >> list->low_bits) + i;
    gc__bits_write(writer, 1, 1);
}

GC__FN void gc__ascending_write(gc__bit_writer *writer, const uint32_t *numbers, uint32_t count, uint32_t max) {
    gc__ascending list = gc__ascending_place(writer->at, count, max);
    for (uint32_t i = 0; i < count; i++) gc__ascending_put(writer, &list, i, numbers[i]);
    writer->at = list.end;
}
