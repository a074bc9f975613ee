#include "names.h"
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 6, ITEMS_MAX = 10 };

typedef struct name_rule {
    char *type; /* NULL: a rule for values */
    uint64_t mask, bits;
    char *template; /* NULL: the rule gives another name only */
    char *called;
} name_rule;

static name_rule *rules;
static size_t rules_count, rules_capacity;

/* Reading. */

typedef struct rule_line {
    const char *path, *at;
    unsigned number;
} rule_line;

static _Noreturn void bad_line(const rule_line *line, const char *fault) {
    die("%s:%u: %s. A rule is: type NAME as \"TEMPLATE\", type NAME called \"NAME\", or value MASK BITS as "
        "\"TEMPLATE\"",
        line->path, line->number, fault);
}

static void skip_blanks(rule_line *line) { line->at += strspn(line->at, " \t\r\n"); }

/* A word, or a text in quotation marks, in which \" and \\ stand for themselves. NULL: the line has ended. */
static char *next_token(rule_line *line) {
    skip_blanks(line);
    if (!*line->at || *line->at == '#') return NULL;
    if (*line->at != '"') {
        size_t length = strcspn(line->at, " \t\r\n");
        line->at += length;
        return memory_text(line->at - length, length);
    }
    char *token = memory_take(strlen(line->at), 1, "names"), *to = token;
    for (line->at++; *line->at != '"'; line->at++) {
        if (*line->at == '\\' && line->at[1]) line->at++;
        if (!*line->at || *line->at == '\n') bad_line(line, "a quotation mark is missing at the end");
        *to++ = *line->at;
    }
    *to = 0;
    line->at++;
    return token;
}

static char *need_token(rule_line *line, const char *fault) {
    char *token = next_token(line);
    if (!token) bad_line(line, fault);
    return token;
}

static uint64_t need_number(rule_line *line) {
    char *token = need_token(line, "a mask and bits must follow `value`"), *end;
    errno = 0;
    uint64_t number = strcmp(token, "all") == 0 ? UINT64_MAX : strtoull(token, &end, 0);
    if (strcmp(token, "all") != 0 && (*end || errno || token == end)) bad_line(line, "a mask or bits is no number");
    free(token);
    return number;
}

static void check_braces(const rule_line *line, const char *template) {
    for (const char *at = template; *at; at++) {
        if (*at == '}') bad_line(line, "the template has a } without a {");
        if (*at != '{') continue;
        at += 1 + strcspn(at + 1, "{}");
        if (*at != '}') bad_line(line, "the template has a { without a }");
    }
}

static void read_rule(rule_line *line) {
    char *kind = next_token(line);
    name_rule rule = {0};
    if (!kind) return;
    if (strcmp(kind, "type") == 0) {
        rule.type = need_token(line, "the name of a type must follow `type`");
    } else if (strcmp(kind, "value") == 0) {
        rule.mask = need_number(line);
        rule.bits = need_number(line);
    } else {
        bad_line(line, "a rule must begin with `type` or `value`");
    }
    char *what = need_token(line, "`as` or `called` must follow");
    char *string = need_token(line, "a text in quotation marks must follow");
    if (strcmp(what, "as") == 0)
        check_braces(line, rule.template = string);
    else if (strcmp(what, "called") == 0 && rule.type)
        rule.called = string;
    else
        bad_line(line, "`as` or `called` must follow the type, `as` the bits");
    skip_blanks(line);
    if (*line->at && *line->at != '#') bad_line(line, "there is more after the rule's end");
    free(kind), free(what);
    rules = memory_grow(rules, rules_count, &rules_capacity, sizeof *rules, "names");
    rules[rules_count++] = rule;
}

void names_load(const char *path) {
    char buffer[1024];
    rule_line line = {path, buffer, 0};
    FILE *file = fopen(path, "r");
    if (!file) die("cannot open the file of names %s: %s", path, strerror(errno));
    while (fgets(buffer, sizeof buffer, file)) {
        line.at = buffer;
        line.number++;
        if (!strchr(buffer, '\n') && strlen(buffer) + 1 == sizeof buffer)
            bad_line(&line, "the line is longer than 1022 bytes");
        read_rule(&line);
    }
    if (ferror(file)) die("cannot read the file of names %s: %s", path, strerror(errno));
    fclose(file);
}

/* Showing. */

typedef struct name_writer {
    gc_dac *dac;
    char *to;
    size_t room; /* left, without the 0 at the end */
    unsigned depth;
} name_writer;

static __attribute__((format(printf, 2, 3))) void put(name_writer *writer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(writer->to, writer->room + 1, format, arguments);
    va_end(arguments);
    size_t put = length < 0 ? 0 : (size_t)length < writer->room ? (size_t)length : writer->room;
    writer->to += put, writer->room -= put;
}

static const name_rule *rule_of(const gc_dac_type *type, bool template) {
    for (size_t i = 0; type && i < rules_count; i++)
        if (rules[i].type && strcmp(rules[i].type, type->name) == 0 && (template ? rules[i].template : rules[i].called))
            return &rules[i];
    return NULL;
}

const char *names_type(const gc_dac_type *type) {
    const name_rule *rule = rule_of(type, false);
    return rule ? rule->called : type ? type->name : "(unknown type)";
}

static void show_object(name_writer *writer, uint64_t address);

static void put_character(name_writer *writer, uint64_t character) {
    if (character < 0x20 || character > 0x10FFFF || (character >= 0xD800 && character < 0xE000))
        put(writer, "\\x%" PRIx64 ";", character);
    else if (character < 0x80)
        put(writer, "%c", (char)character);
    else if (character < 0x800)
        put(writer, "%c%c", (char)(0xC0 | character >> 6), (char)(0x80 | (character & 63)));
    else if (character < 0x10000)
        put(writer, "%c%c%c", (char)(0xE0 | character >> 12), (char)(0x80 | (character >> 6 & 63)),
            (char)(0x80 | (character & 63)));
    else
        put(writer, "%c%c%c%c", (char)(0xF0 | character >> 18), (char)(0x80 | (character >> 12 & 63)),
            (char)(0x80 | (character >> 6 & 63)), (char)(0x80 | (character & 63)));
}

/* {signed 2} and the like, of the word; text outside of braces as it is. */
static void show_value_template(name_writer *writer, const char *template, uint64_t word) {
    for (const char *at = template; *at; at++) {
        if (*at != '{') {
            put(writer, "%c", *at);
            continue;
        }
        char kind[16] = "";
        unsigned shift = 0;
        sscanf(at, "{%15[a-z] %u", kind, &shift);
        if (shift > 63) shift = 63;
        if (strcmp(kind, "signed") == 0)
            put(writer, "%" PRId64, (int64_t)word >> shift);
        else if (strcmp(kind, "character") == 0)
            put_character(writer, word >> shift);
        else
            put(writer, "%" PRIu64, word >> shift);
        at = strchr(at, '}');
    }
}

static bool show_value(name_writer *writer, uint64_t word) {
    for (size_t i = 0; i < rules_count; i++) {
        if (rules[i].type || (word & rules[i].mask) != rules[i].bits) continue;
        show_value_template(writer, rules[i].template, word);
        return true;
    }
    return false;
}

bool names_show_value(uint64_t word, char *to, size_t room) {
    name_writer writer = {NULL, to, room - 1, 0};
    *to = 0;
    return show_value(&writer, word);
}

static void show_slot(name_writer *writer, const gc_dac_slot *slot) {
    if (slot->reference)
        show_object(writer, slot->reference);
    else if (!show_value(writer, slot->word))
        put(writer, slot->word ? "0x%" PRIx64 : "null", slot->word);
}

typedef struct wanted_slot {
    const char *name;
    size_t length;
    gc_dac_slot slot;
    bool found;
} wanted_slot;

static bool find_slot(void *context, const gc_dac_slot *slot) {
    wanted_slot *wanted = context;
    if (slot->index != UINT64_MAX) return false; /* named fields come first */
    if (!slot->name || strlen(slot->name) != wanted->length || memcmp(slot->name, wanted->name, wanted->length) != 0)
        return true;
    wanted->slot = *slot;
    wanted->found = true;
    return false;
}

static wanted_slot slot_named(name_writer *writer, const gc_dac_object *object, const char *name, size_t length) {
    wanted_slot wanted = {.name = name, .length = length};
    gc_dac_slots(writer->dac, object, find_slot, &wanted);
    return wanted;
}

static uint64_t word_at(name_writer *writer, uint64_t address, size_t bytes) {
    uint64_t word = 0;
    gc_dac_read(writer->dac, address, &word, bytes);
    return word;
}

static void put_text(name_writer *writer, const gc_dac_object *object) {
    char text[65] = "";
    size_t length = object->length < sizeof text - 1 ? (size_t)object->length : sizeof text - 1;
    if (!object->type || object->type->element_bytes != 1) return;
    text[gc_dac_read(writer->dac, object->address + object->type->bytes, text, length)] = 0;
    put(writer, "%s%s", text, length < object->length ? "..." : "");
}

static bool is_end_of_list(const gc_dac_slot *slot) {
    char shown[8];
    return !slot->reference &&
           (!slot->word || (names_show_value(slot->word, shown, sizeof shown) && strcmp(shown, "()") == 0));
}

/* The objects of a list are those that have both fields. */
static void put_list(name_writer *writer, const gc_dac_object *object, const char *first, const char *rest) {
    size_t first_length = strcspn(first, " }"), rest_length = strcspn(rest, " }");
    gc_dac_object at = *object;
    wanted_slot item = slot_named(writer, &at, first, first_length), next = {0};
    for (unsigned items = 0; item.found && items < ITEMS_MAX; items++) {
        next = slot_named(writer, &at, rest, rest_length);
        if (items) put(writer, " ");
        show_slot(writer, &item.slot);
        if (!next.found || is_end_of_list(&next.slot)) return;
        item.found = gc_dac_object_at(writer->dac, next.slot.reference, &at);
        if (item.found) item = slot_named(writer, &at, first, first_length);
    }
    put(writer, item.found ? " ..." : " . ");
    if (!item.found) show_slot(writer, &next.slot);
}

typedef struct element_list {
    name_writer *writer;
    unsigned count;
} element_list;

static bool put_element(void *context, const gc_dac_slot *slot) {
    element_list *elements = context;
    if (slot->index == UINT64_MAX) return true;
    if (elements->count++) put(elements->writer, " ");
    if (elements->count > ITEMS_MAX) return put(elements->writer, "..."), false;
    show_slot(elements->writer, slot);
    return true;
}

static void put_string(name_writer *writer, uint64_t address, const char *offsets) {
    char *end, string[65];
    for (uint64_t offset = strtoull(offsets, &end, 0); end != offsets; offset = strtoull(offsets, &end, 0)) {
        address = word_at(writer, address + offset, 8);
        offsets = end;
    }
    gc_dac_read_text(writer->dac, address, string, sizeof string);
    put(writer, "%s", string);
}

static void put_double(name_writer *writer, uint64_t word) {
    double number;
    memcpy(&number, &word, sizeof number);
    put(writer, "%.15g", number);
}

/* What stands in braces. `word` is its first word, `rest` what follows. */
static void show_directive(name_writer *writer, const gc_dac_object *object, const char *word, size_t length,
                           const char *rest) {
#define IS(name) (length == sizeof name - 1 && memcmp(word, name, length) == 0)
    uint64_t at = object->address + strtoull(rest, NULL, 0);
    gc_dac_object inner;
    if (IS("text") && *rest == '}') {
        put_text(writer, object);
    } else if (IS("text")) {
        wanted_slot slot = slot_named(writer, object, rest, strcspn(rest, "}"));
        if (slot.found && gc_dac_object_at(writer->dac, slot.slot.reference, &inner)) put_text(writer, &inner);
    } else if (IS("list")) {
        const char *second = rest + strcspn(rest, " }");
        put_list(writer, object, rest, second + strspn(second, " "));
    } else if (IS("elements")) {
        element_list elements = {writer, 0};
        gc_dac_slots(writer->dac, object, put_element, &elements);
    } else if (IS("length")) {
        put(writer, "%" PRIu64, object->length);
    } else if (IS("signed")) {
        put(writer, "%" PRId64, (int64_t)word_at(writer, at, 8));
    } else if (IS("unsigned")) {
        put(writer, "%" PRIu64, word_at(writer, at, 8));
    } else if (IS("signed32")) {
        put(writer, "%" PRId32, (int32_t)word_at(writer, at, 4));
    } else if (IS("unsigned32")) {
        put(writer, "%" PRIu32, (uint32_t)word_at(writer, at, 4));
    } else if (IS("double")) {
        put_double(writer, word_at(writer, at, 8));
    } else if (IS("string")) {
        put_string(writer, object->address, rest);
    } else {
        wanted_slot slot = slot_named(writer, object, word, length);
        if (slot.found)
            show_slot(writer, &slot.slot);
        else
            put(writer, "{no field %.*s}", (int)length, word);
    }
#undef IS
}

static void show_object(name_writer *writer, uint64_t address) {
    gc_dac_object object;
    bool found = gc_dac_object_at(writer->dac, address, &object);
    const name_rule *rule = found ? rule_of(object.type, true) : NULL;
    if (!rule || writer->depth == DEPTH_MAX || !writer->room) {
        put(writer, "#<%s 0x%" PRIx64 ">", found ? names_type(object.type) : "no object", address);
        return;
    }
    writer->depth++;
    object.contents_bytes = 0; /* other objects are read while this one's slots are walked */
    for (const char *at = rule->template; *at; at++) {
        if (*at != '{') {
            put(writer, "%c", *at);
            continue;
        }
        size_t length = strcspn(at + 1, " }");
        show_directive(writer, &object, at + 1, length, at + 1 + length + strspn(at + 1 + length, " "));
        at = strchr(at, '}');
    }
    writer->depth--;
}

bool names_show(gc_dac *dac, uint64_t address, char *to, size_t room) {
    name_writer writer = {dac, to, room - 1, 0};
    gc_dac_object object;
    *to = 0;
    if (!rules_count || !gc_dac_object_at(dac, address, &object) || !rule_of(object.type, true)) return false;
    show_object(&writer, address);
    if (!writer.room && room > 4) memcpy(writer.to - 3, "...", 3);
    return true;
}
