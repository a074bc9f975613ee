/* source.c - the memory and the errors of a source file, and the file itself. */
#include "source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 << 10 };

struct arena_chunk {
    arena_chunk *next;
    size_t used, bytes;
    _Alignas(16) char memory[];
};

static void out_of_memory(void) {
    fputs("jit: out of memory while reading the program\n", stderr);
    exit(1);
}

void *arena_take(source *s, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (!s->chunks || s->chunks->bytes - s->chunks->used < bytes) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        arena_chunk *chunk = calloc(1, sizeof *chunk + room);
        if (!chunk) out_of_memory();
        chunk->bytes = room;
        chunk->next = s->chunks;
        s->chunks = chunk;
    }
    char *memory = s->chunks->memory + s->chunks->used;
    s->chunks->used += bytes;
    return memory;
}

const char *arena_text(source *s, const char *text, size_t bytes) {
    char *copy = arena_take(s, bytes + 1);
    memcpy(copy, text, bytes);
    return copy;
}

const char *arena_format(source *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = arena_take(s, (size_t)bytes + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)bytes + 1, format, arguments);
    va_end(arguments);
    return text;
}

expression *new_expression(source *s, expression_kind kind, position at) {
    expression *e = ARENA_NEW(s, expression);
    e->kind = kind;
    e->at = at;
    return e;
}

statement *new_statement(source *s, statement_kind kind, position at) {
    statement *st = ARENA_NEW(s, statement);
    st->kind = kind;
    st->op = -1;
    st->at = at;
    return st;
}

void error_at(source *s, position at, const char *format, ...) {
    if (s->errors++ >= ERRORS_MAX) return;
    fprintf(stderr, "%s:%d:%d: error: ", s->program.path, at.line, at.column);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    if (s->errors == ERRORS_MAX) fprintf(stderr, "%s: more errors are not printed\n", s->program.path);
}

static bool read_file(source *s) {
    FILE *in = fopen(s->program.path, "rb");
    size_t room = 4096;
    s->text = malloc(room + 1);
    if (!s->text) out_of_memory();
    while (in) {
        s->text_bytes += fread(s->text + s->text_bytes, 1, room - s->text_bytes, in);
        if (s->text_bytes < room) break;
        room *= 2;
        s->text = realloc(s->text, room + 1);
        if (!s->text) out_of_memory();
    }
    s->text[s->text_bytes] = 0;
    bool done = in && !ferror(in);
    if (!done) {
        fputs("jit: cannot read ", stderr);
        perror(s->program.path);
    }
    if (in) fclose(in);
    return done;
}

program *program_read(const char *path) {
    source *s = calloc(1, sizeof *s);
    if (!s) out_of_memory();
    s->program.path = path;
    if (read_file(s) && parse_source(s) && check_source(s)) return &s->program;
    program_free(&s->program);
    return NULL;
}

void program_free(program *p) {
    source *s = (source *)p;
    for (arena_chunk *chunk = s->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(s->text);
    free(s);
}
