/* Texts of the host in formats with rules of their own. A name may hold any bytes: what is not UTF-8 becomes U+FFFD. */
#pragma once

#include "output.h"

#define GC__NOT_A_CHARACTER 0xFFFDu
#define GC__TEXT_CHARACTERS_MAX 1024 /* longer names are clipped, as V8 clips the contents of strings */

/* The length of a sequence by its first byte, 0 if none begins so; and the least character that needs that many bytes. */
GC__FN unsigned gc__utf8_length(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

/* Takes the next character of a text that ends in 0. */
GC__FN uint32_t gc__utf8_next(const char **text) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    unsigned length = gc__utf8_length(*at), i = 1;
    uint32_t character = length > 1 ? *at & (0x7Fu >> length) : *at;
    *text += 1;
    if (length < 2) return length ? character : GC__NOT_A_CHARACTER;
    for (; i < length && (at[i] & 0xC0) == 0x80; i++) character = character << 6 | (at[i] & 0x3F);
    bool surrogate = character >= 0xD800 && character < 0xE000;
    if (i < length || character < least[length] || character > 0x10FFFF || surrogate) return GC__NOT_A_CHARACTER;
    *text += length - 1;
    return character;
}

/* Writes a character as UTF-8; returns how many bytes that takes, at most 4. */
GC__FN size_t gc__utf8_put(char *to, uint32_t c) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3F)), 2;
    size_t length = c < 0x10000 ? 3 : 4;
    to[0] = (char)((length == 3 ? 0xE0 : 0xF0) | c >> (6 * (length - 1)));
    for (size_t i = 1; i < length; i++) to[i] = (char)(0x80 | (c >> (6 * (length - 1 - i)) & 0x3F));
    return length;
}

#define GC__ESCAPED_BYTES_MAX 8

/* A character within a string of JSON, which may stand in a script of HTML or XML: < > & are escaped, too. */
GC__FN size_t gc__json_put(char *to, uint32_t c) {
    bool control = c < 0x20 || c == 0x7F || c == 0x2028 || c == 0x2029;
    if (control || c == '<' || c == '>' || c == '&')
        return (size_t)snprintf(to, GC__ESCAPED_BYTES_MAX, "\\u%04x", (unsigned)c);
    if (c == '"' || c == '\\') return to[0] = '\\', to[1] = (char)c, 2;
    return gc__utf8_put(to, c);
}

/* A character of a text or attribute of XML or HTML, which have no way to say most control characters. */
GC__FN size_t gc__xml_put(char *to, uint32_t c) {
    const char *name = c == '&'    ? "&amp;"
                       : c == '<'  ? "&lt;"
                       : c == '>'  ? "&gt;"
                       : c == '"'  ? "&quot;"
                       : c == '\'' ? "&#39;"
                                   : NULL;
    if (name) return (size_t)snprintf(to, GC__ESCAPED_BYTES_MAX, "%s", name);
    bool unspeakable = (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c < 0xA0) || (c & 0xFFFE) == 0xFFFE;
    return gc__utf8_put(to, unspeakable ? GC__NOT_A_CHARACTER : c);
}

GC__FN void gc__put_escaped(gc__output *output, const char *text, size_t (*put)(char *to, uint32_t character)) {
    size_t left = GC__TEXT_CHARACTERS_MAX;
    for (; *text && left && gc__output_reserve(output, GC__ESCAPED_BYTES_MAX); left--)
        output->used += put(output->buffer + output->used, gc__utf8_next(&text));
    if (*text) gc__put_text(output, "...");
}

/* A text as a string of JSON. */
GC__FN void gc__put_json(gc__output *output, const char *text) {
    gc__put_byte(output, '"');
    gc__put_escaped(output, text, gc__json_put);
    gc__put_byte(output, '"');
}

/* A text within XML or HTML. */
GC__FN void gc__put_xml(gc__output *output, const char *text) { gc__put_escaped(output, text, gc__xml_put); }

#define GC__NUMBER_BYTES_MAX 20

/* The digits of a number, which end at `end`. Returns where they begin. */
GC__INLINED char *gc__digits(char *end, uint64_t number) {
    if (number < 10) {
        *--end = (char)('0' + number);
        return end;
    }
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
        "495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596"
        "979899";
    for (; number >= 100; number /= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (number % 100), 2);
    }
    *--end = pairs[2 * number + 1];
    if (number >= 10) *--end = pairs[2 * number];
    return end;
}
