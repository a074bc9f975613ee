/* port.c - input and output. An input port is a string and a position: files are read whole, standard input line by
   line. An output port is a FILE or a growing string. */
#define _POSIX_C_SOURCE 200809L
#include "scheme.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t file_id(machine *m, const char *name) {
    for (uint32_t i = 0; i < m->files_count; i++)
        if (!strcmp(m->files[i], name)) return i;
    m->files = realloc(m->files, (m->files_count + 1) * sizeof *m->files);
    if (!m->files || !(m->files[m->files_count] = strdup(name))) abort();
    return m->files_count++;
}

static value make_port(machine *m, value buffer, const char *name, bool input) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, buffer);
    value text = make_string(m, name, strlen(name));
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, text);
    port *p = make(m, KIND_PORT);
    p->buffer = buffer;
    p->name = text;
    p->end = input ? string_length(buffer) : 0;
    p->line = 1;
    p->input = input;
    return value_of(p);
}

value port_open_string(machine *m, value string, const char *name) { return make_port(m, string, name, true); }

value port_standard(machine *m, FILE *file, bool input) {
    value p = make_port(m, make_string(m, NULL, 0), input ? "stdin" : "stdout", input);
    port_of(p)->file = file;
    port_of(p)->file_id = input ? file_id(m, "stdin") : 0;
    return p;
}

/* The FILE is closed before anything is thrown. */
value port_open_file(machine *m, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) error_throw(m, "cannot open %s: %s", path, strerror(errno));
    struct stat status;
    bool regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    size_t bytes = regular ? (size_t)status.st_size : 0;
    char *contents = regular ? malloc(bytes + 1) : NULL;
    bool read = contents && fread(contents, 1, bytes, file) == bytes;
    fclose(file);
    if (!read) {
        free(contents);
        error_throw(m, "cannot read %s: %s", path, regular ? "it was cut short" : "not a regular file");
    }
    void *text = gc_new_with(m->gc, &types[KIND_STRING], bytes, GC_NEW_RAW);
    if (text) memcpy(((string *)text)->bytes, contents, bytes);
    free(contents);
    value p = port_open_string(m, value_of(checked(m, text)), path);
    port_of(p)->file_id = file_id(m, path);
    return p;
}

/* Replaces an interactive port's used-up line by the next. */
static void refill(machine *m, value port) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = getline(&line, &capacity, port_of(port)->file);
    void *text = length > 0 ? gc_new_with(m->gc, &types[KIND_STRING], (size_t)length, GC_NEW_RAW) : NULL;
    if (text) memcpy(((string *)text)->bytes, line, (size_t)length);
    free(line);
    if (length <= 0) return;
    set_field(m, &port_of(port)->buffer, value_of(checked(m, text)));
    port_of(port)->position = 0;
    port_of(port)->end = (size_t)length;
}

/* Only a port at its buffer's end allocates: a character that was peeked at can be taken without moving anything. */
int port_peek(machine *m, value port) {
    if (port_of(port)->position == port_of(port)->end) {
        if (!port_of(port)->file) return -1;
        GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
        refill(m, port);
        if (port_of(port)->position == port_of(port)->end) return -1;
    }
    return (unsigned char)string_of(port_of(port)->buffer)->bytes[port_of(port)->position];
}

int port_next(machine *m, value port) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
    int c = port_peek(m, port);
    if (c < 0) return c;
    port_of(port)->position++;
    if (c == '\n') port_of(port)->line++;
    return c;
}

void port_write(machine *m, value port, const char *bytes, size_t length) {
    if (port_of(port)->file) {
        fwrite(bytes, 1, length, port_of(port)->file);
        return;
    }
    size_t end = port_of(port)->end;
    if (end + length > string_length(port_of(port)->buffer)) {
        GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
        value grown = make_string(m, NULL, (end + length) * 2 + 32);
        memcpy(string_of(grown)->bytes, string_of(port_of(port)->buffer)->bytes, end);
        set_field(m, &port_of(port)->buffer, grown);
    }
    memcpy(string_of(port_of(port)->buffer)->bytes + end, bytes, length);
    port_of(port)->end = end + length;
}

static value optional_port(machine *m, const char *who, value *arguments, uint32_t count, uint32_t index, bool input) {
    if (count <= index) return input ? m->r.input : m->r.output;
    want_kind(m, who, arguments, index, KIND_PORT, "a port");
    if (port_of(arguments[index])->input != input)
        error_argument(m, who, index, input ? "an input port" : "an output port", arguments[index]);
    return arguments[index];
}

/* The text is the machine's, so that nothing is lost if the port's buffer cannot grow. */
static value print(machine *m, const char *who, value *arguments, uint32_t count, bool write) {
    value port = optional_port(m, who, arguments, count, 1, false);
    m->token.length = 0;
    print_value(&m->token, arguments[0], write);
    if (m->token.length) port_write(m, port, m->token.bytes, m->token.length);
    return NONE;
}

static value port_display(machine *m, value *arguments, uint32_t count) {
    return print(m, "display", arguments, count, false);
}
static value port_write_datum(machine *m, value *arguments, uint32_t count) {
    return print(m, "write", arguments, count, true);
}
static value port_newline(machine *m, value *arguments, uint32_t count) {
    port_write(m, optional_port(m, "newline", arguments, count, 0, false), "\n", 1);
    return NONE;
}

static value port_write_char(machine *m, value *arguments, uint32_t count) {
    value port = optional_port(m, "write-char", arguments, count, 1, false);
    if (!is_character(arguments[0])) error_argument(m, "write-char", 0, "a character", arguments[0]);
    char bytes[4];
    port_write(m, port, bytes, print_character_bytes(character_of(arguments[0]), bytes));
    return NONE;
}

static value port_write_string(machine *m, value *arguments, uint32_t count) {
    want_string(m, "write-string", arguments, 0);
    return print(m, "write-string", arguments, count, false);
}

static value port_open_input(machine *m, value *arguments, uint32_t count) {
    (void)count;
    want_string(m, "open-input-file", arguments, 0);
    char path[4096];
    snprintf(path, sizeof path, "%.*s", (int)string_length(arguments[0]), string_of(arguments[0])->bytes);
    return port_open_file(m, path);
}

static value port_open_input_string(machine *m, value *arguments, uint32_t count) {
    (void)count;
    want_string(m, "open-input-string", arguments, 0);
    value p = port_open_string(m, arguments[0], "string");
    port_of(p)->file_id = file_id(m, "string");
    return p;
}

static value port_open_output_string(machine *m, value *arguments, uint32_t count) {
    (void)arguments, (void)count;
    return make_port(m, make_string(m, NULL, 64), "string", false);
}

static value port_get_output_string(machine *m, value *arguments, uint32_t count) {
    optional_port(m, "get-output-string", arguments, count, 0, false);
    if (port_of(arguments[0])->file) error_argument(m, "get-output-string", 0, "a string port", arguments[0]);
    value text = make_string(m, NULL, port_of(arguments[0])->end);
    memcpy(string_of(text)->bytes, string_of(port_of(arguments[0])->buffer)->bytes, string_length(text));
    return text;
}

static value port_read_char(machine *m, value *arguments, uint32_t count) {
    int c = port_next(m, optional_port(m, "read-char", arguments, count, 0, true));
    return c < 0 ? END_OF_FILE : character((uint32_t)c);
}

static value port_peek_char(machine *m, value *arguments, uint32_t count) {
    int c = port_peek(m, optional_port(m, "peek-char", arguments, count, 0, true));
    return c < 0 ? END_OF_FILE : character((uint32_t)c);
}

static value port_read_line(machine *m, value *arguments, uint32_t count) {
    value port = optional_port(m, "read-line", arguments, count, 0, true);
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
    if (port_peek(m, port) < 0) return END_OF_FILE;
    size_t start = port_of(port)->position, end = port_of(port)->end;
    const char *bytes = string_of(port_of(port)->buffer)->bytes;
    const char *newline = memchr(bytes + start, '\n', end - start);
    size_t length = newline ? (size_t)(newline - bytes) - start : end - start;
    value line = make_string(m, NULL, length);
    memcpy(string_of(line)->bytes, string_of(port_of(port)->buffer)->bytes + start, length);
    port_of(port)->position = newline ? start + length + 1 : end;
    port_of(port)->line++;
    return line;
}

static value port_read_string(machine *m, value *arguments, uint32_t count) {
    value port = optional_port(m, "read-string", arguments, count, 1, true);
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
    intptr_t wanted = want_fixnum(m, "read-string", arguments, 0);
    if (wanted < 0) error_range(m, "read-string", wanted, FIXNUM_MAX);
    if (port_peek(m, port) < 0) return END_OF_FILE;
    size_t start = port_of(port)->position, there = port_of(port)->end - start;
    size_t length = (size_t)wanted < there ? (size_t)wanted : there;
    value text = make_string(m, NULL, length);
    memcpy(string_of(text)->bytes, string_of(port_of(port)->buffer)->bytes + start, length);
    for (size_t i = 0; i < length; i++) port_of(port)->line += string_of(text)->bytes[i] == '\n';
    port_of(port)->position = start + length;
    return text;
}

static value port_read(machine *m, value *arguments, uint32_t count) {
    return read_datum(m, optional_port(m, "read", arguments, count, 0, true), false);
}

/* What `load` reads: pairs that remember their lines. */
static value port_read_source(machine *m, value *arguments, uint32_t count) {
    return read_datum(m, optional_port(m, "load", arguments, count, 0, true), true);
}

static value port_close(machine *m, value *arguments, uint32_t count) {
    (void)count;
    want_kind(m, "close-port", arguments, 0, KIND_PORT, "a port");
    return NONE; /* nothing is held open */
}

static value port_set_output(machine *m, value *arguments, uint32_t count) {
    value before = m->r.output;
    optional_port(m, "current-output-port", arguments, count, 0, false);
    m->r.output = arguments[0];
    return before;
}

static value port_output(machine *m, value *arguments, uint32_t count) {
    (void)arguments, (void)count;
    return m->r.output;
}

static value port_input(machine *m, value *arguments, uint32_t count) {
    (void)arguments, (void)count;
    return m->r.input;
}

static value port_file_exists(machine *m, value *arguments, uint32_t count) {
    (void)count;
    want_string(m, "file-exists?", arguments, 0);
    char path[4096];
    snprintf(path, sizeof path, "%.*s", (int)string_length(arguments[0]), string_of(arguments[0])->bytes);
    return boolean(access(path, F_OK) == 0);
}

static const primitive_info primitives[] = {
    {"display", port_display, 1, 2},
    {"write", port_write_datum, 1, 2},
    {"newline", port_newline, 0, 1},
    {"write-char", port_write_char, 1, 2},
    {"write-string", port_write_string, 1, 2},
    {"open-input-file", port_open_input, 1, 1},
    {"open-input-string", port_open_input_string, 1, 1},
    {"open-output-string", port_open_output_string, 0, 0},
    {"get-output-string", port_get_output_string, 1, 1},
    {"read-char", port_read_char, 0, 1},
    {"peek-char", port_peek_char, 0, 1},
    {"read-line", port_read_line, 0, 1},
    {"read-string", port_read_string, 1, 2},
    {"read", port_read, 0, 1},
    {"%read-source", port_read_source, 1, 1},
    {"close-port", port_close, 1, 1},
    {"%set-output!", port_set_output, 1, 1},
    {"current-output-port", port_output, 0, 0},
    {"current-input-port", port_input, 0, 0},
    {"file-exists?", port_file_exists, 1, 1},
};

void port_init(machine *m) { machine_define(m, primitives, sizeof primitives / sizeof *primitives); }
