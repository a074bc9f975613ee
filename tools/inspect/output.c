#include "output.h"
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool output_is_json;
FILE *output;
int output_status;

/* JSON. */

static char closing[64];
static unsigned depth;
static bool has_element; /* the innermost bracket has an element, so a comma is due */

/* The bytes of the UTF-8 sequence at `text`; 0: it is none. */
static unsigned utf8_length(const unsigned char *text) {
    unsigned length = text[0] < 0x80   ? 1
                      : text[0] < 0xC2 ? 0
                      : text[0] < 0xE0 ? 2
                      : text[0] < 0xF0 ? 3
                      : text[0] < 0xF5 ? 4
                                       : 0;
    for (unsigned i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    if (text[0] == 0xE0 && text[1] < 0xA0) return 0;
    if (text[0] == 0xED && text[1] > 0x9F) return 0; /* a surrogate */
    if (text[0] == 0xF0 && text[1] < 0x90) return 0;
    if (text[0] == 0xF4 && text[1] > 0x8F) return 0;
    return length;
}

static void json_string(const char *string) {
    fputc('"', output);
    for (const unsigned char *at = (const unsigned char *)string; *at;) {
        unsigned length = utf8_length(at);
        if (length == 0)
            fputs("\\ufffd", output);
        else if (*at < 0x20 || *at == 0x7F)
            fprintf(output, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            fprintf(output, "\\%c", *at);
        else
            fwrite(at, 1, length, output);
        at += length ? length : 1;
    }
    fputc('"', output);
}

static bool json_key(const char *key) {
    if (!output_is_json) return false;
    if (has_element) fputc(',', output);
    if (depth) fprintf(output, "\n%*s", (int)depth, "");
    has_element = true;
    if (key) {
        json_string(key);
        fputs(": ", output);
    }
    return true;
}

void json_begin(const char *key, char bracket) {
    if (depth == sizeof closing) die("the output is nested too deeply");
    if (!json_key(key)) return;
    fputc(bracket, output);
    closing[depth++] = bracket == '{' ? '}' : ']';
    has_element = false;
}

void json_end(void) {
    if (!output_is_json) return;
    depth--;
    if (has_element) fprintf(output, "\n%*s", (int)depth, "");
    fputc(closing[depth], output);
    if (!depth) fputc('\n', output);
    has_element = true;
}

void json_number(const char *key, uint64_t number) {
    if (json_key(key)) fprintf(output, "%" PRIu64, number);
}
void json_signed(const char *key, int64_t number) {
    if (json_key(key)) fprintf(output, "%" PRId64, number);
}
void json_bool(const char *key, bool value) {
    if (json_key(key)) fputs(value ? "true" : "false", output);
}
void json_text(const char *key, const char *string) {
    if (!json_key(key)) return;
    if (string)
        json_string(string);
    else
        fputs("null", output);
}
void json_address(const char *key, uint64_t address) {
    if (!json_key(key)) return;
    if (address)
        fprintf(output, "\"0x%" PRIx64 "\"", address);
    else
        fputs("null", output);
}

/* Text. */

void text(const char *format, ...) {
    va_list arguments;
    if (output_is_json) return;
    va_start(arguments, format);
    vfprintf(output, format, arguments);
    va_end(arguments);
}

enum { BUFFERS = 16, BUFFER_BYTES = 832 };
static char *next_buffer(void) {
    static char buffers[BUFFERS][BUFFER_BYTES];
    static unsigned next;
    return buffers[next++ % BUFFERS];
}

const char *commas(uint64_t number) {
    char *end = next_buffer() + 40, *at = end;
    *at = 0;
    for (unsigned digits = 0; number || !digits; digits++, number /= 10) {
        if (digits && digits % 3 == 0) *--at = ',';
        *--at = (char)('0' + number % 10);
    }
    return at;
}

const char *counted(uint64_t number, const char *one, const char *many) {
    char *buffer = next_buffer();
    snprintf(buffer, BUFFER_BYTES, "%s %s", commas(number), number == 1 ? one : many);
    return buffer;
}

const char *hex(uint64_t address) {
    char *buffer = next_buffer();
    snprintf(buffer, 24, "0x%" PRIx64, address);
    return buffer;
}

const char *human(uint64_t bytes) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
    char *buffer = next_buffer();
    unsigned unit = 0;
    double size = (double)bytes;
    for (; size >= 1000 && unit < 6; unit++) size /= 1000;
    snprintf(buffer, 32, unit && size < 10 ? "%.1f %s" : "%.0f %s", size, bytes == 1 ? "byte" : units[unit]);
    return buffer;
}

const char *clean(const char *name) {
    char *buffer = next_buffer(), *to = buffer;
    for (const unsigned char *at = (const unsigned char *)name; *at && to < buffer + 800;) {
        unsigned length = utf8_length(at);
        bool control = *at < 0x20 || *at == 0x7F || (length == 2 && at[0] == 0xC2 && at[1] < 0xA0);
        if (length == 0 || control) {
            to += sprintf(to, "\\x%02x", *at++);
        } else {
            memcpy(to, at, length);
            to += length, at += length;
        }
    }
    *to = 0;
    return buffer;
}

/* Tables. */

static const column *columns, *next_column;
static bool is_headed;

void table_begin(const char *key, const column *of) {
    json_begin(key, '[');
    columns = next_column = of;
    is_headed = false;
}

static void print_headings(void) {
    bool any = false;
    for (const column *each = columns; each->key; each++) any |= each->heading[0] != 0;
    for (const column *each = columns; each->key && any; each++)
        text("%s%*s", each == columns ? "" : "  ", each->width, each->heading);
    if (any) text("\n");
    is_headed = true;
}

static const char *begin_cell(void) {
    if (!is_headed) print_headings();
    if (next_column == columns)
        json_begin(NULL, '{');
    else
        text("  ");
    return next_column->key;
}

void table_number(uint64_t number) {
    json_number(begin_cell(), number);
    text("%*s", next_column++->width, commas(number));
}

void table_address(uint64_t address) {
    json_address(begin_cell(), address);
    text("%*s", next_column++->width, address ? hex(address) : "-");
}

void table_text(const char *string) {
    json_text(begin_cell(), string);
    text("%*s", next_column++->width, string ? clean(string) : "");
}

void table_bool(bool value) {
    json_bool(begin_cell(), value);
    text("%*s", next_column->width, value ? next_column->heading : "");
    next_column++;
}

void table_row_end(void) {
    json_end();
    text("\n");
    next_column = columns;
}

void table_end(void) { json_end(); }

/* Notes. */

static char **notes;
static size_t notes_count, notes_capacity;

static void add_note(const char *format, va_list arguments) {
    char sentence[1024];
    vsnprintf(sentence, sizeof sentence, format, arguments);
    if (!sentence[0]) return;
    for (size_t i = 0; i < notes_count; i++)
        if (strcmp(notes[i], sentence) == 0) return;
    notes = memory_grow(notes, notes_count, &notes_capacity, sizeof *notes, "notes");
    notes[notes_count++] = memory_text(sentence, strlen(sentence));
}

void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_note(format, arguments);
    va_end(arguments);
}

void missing(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_note(format, arguments);
    va_end(arguments);
    output_status = 1;
}

void output_begin(const char *command) {
    depth = 0;
    has_element = false;
    json_begin(NULL, '{');
    if (command) json_text("command", command);
}

void output_end(void) {
    json_begin("notes", '[');
    for (size_t i = 0; i < notes_count; i++) {
        json_text(NULL, notes[i]);
        if (!output_is_json) {
            fprintf(stderr, "note: %s\n", clean(notes[i]));
        }
        free(notes[i]);
    }
    json_end();
    json_end();
    free(notes);
    notes = NULL;
    notes_count = notes_capacity = 0;
}

void output_fail(const char *sentence) {
    if (!output_is_json || ferror(stdout)) return;
    if (!depth) output_begin(NULL);
    while (depth > 1) json_end();
    json_text("error", sentence);
    json_end();
    output_write();
}

/* Output that is held back. */

static char *kept;
static size_t kept_bytes;

void output_keep(void) {
    FILE *file = open_memstream(&kept, &kept_bytes);
    if (!file) die("there is no memory for the answer");
    output = file;
}

void output_write(void) {
    FILE *file = output;
    output = stdout;
    if (file != stdout) {
        if (fclose(file)) die("there is no memory for the answer");
        fwrite(kept, 1, kept_bytes, stdout);
        free(kept);
    }
    if (fflush(stdout) || ferror(stdout)) die("cannot write the answer: %s", strerror(errno));
}
