/* What commands print: text for people, or with --json one JSON object. Names come from the target, which may be damaged or
   hostile, so control characters are escaped, and JSON is valid UTF-8 whatever they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

extern bool output_is_json;
extern int output_status; /* of the program: 1 if the answer is that something is wrong, or is not there */
extern FILE *output;      /* where everything but notes goes */

/* JSON only; without --json they print nothing. `key` NULL: an element of an array. */
void json_begin(const char *key, char bracket); /* '{' or '[' */
void json_end(void);
void json_number(const char *key, uint64_t number);
void json_signed(const char *key, int64_t number);
void json_bool(const char *key, bool value);
void json_text(const char *key, const char *text);
void json_address(const char *key, uint64_t address); /* as a string, "0x7f00"; null for 0 */

/* Text only; with --json it prints nothing. */
void text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number with commas, "1 region" or "2,000 regions", or an address; in one of a few static buffers. */
const char *commas(uint64_t number);
const char *counted(uint64_t number, const char *one, const char *many);
const char *hex(uint64_t address);
/* Bytes as people say them: "1.2 MB". */
const char *human(uint64_t bytes);
/* A name of the target's, without control characters; cut to 800 bytes. */
const char *clean(const char *name);

/* Tables: text in columns, with headings if there is a row, or a JSON array of objects. */
typedef struct column {
    const char *key, *heading;
    int width; /* negative: aligned to the left; 0: the last one, as wide as it is */
} column;
void table_begin(const char *key, const column *columns);
void table_number(uint64_t number);
void table_address(uint64_t address);
void table_text(const char *text); /* NULL: empty, in JSON null */
void table_bool(bool value);       /* the heading, or nothing */
void table_row_end(void);
void table_end(void);

/* What an answer could not take into account: printed to stderr, once each, and in JSON in the array "notes". */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Notes that the target has nothing of what was asked for, so the program ends with status 1. */
void missing(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The first and the last call: the outermost object, with the notes. */
void output_begin(const char *command);
void output_end(void);
/* With --json, instead of output_end: closes what is open, and says why there is no answer. */
void output_fail(const char *sentence);
/* Holds all output back until output_write: whoever reads it may be slow, and a process is stopped meanwhile. */
void output_keep(void);
/* Hands over what is held back. */
void output_write(void);
