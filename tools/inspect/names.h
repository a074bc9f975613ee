/* A host's names: a file that says what its types are called in its language, and how their objects and its tagged values are
   written there. Each line is a rule; # begins a comment.

       type NAME called "NAME"             another name for a type
       type NAME as "TEMPLATE"             how an object of the type is shown
       value MASK BITS as "TEMPLATE"       how a value is shown whose word has these BITS under the MASK (numbers, or `all`)

   In a template of a type:
       {FIELD}            what the field refers to, or its value
       {text}             the elements as characters
       {text FIELD}       the elements of the object to which the field refers, as characters
       {list FIRST REST}  a list: the FIRST of this object, then of the object in its REST, and so on
       {elements}         the elements that refer to objects
       {length}           how many elements there are
       {signed OFFSET}, {unsigned OFFSET}, {signed32 OFFSET}, {unsigned32 OFFSET}, {double OFFSET}   the number there
       {string OFFSET OFFSET...}           a C string: follows pointers, the first one in the object, from offset to offset
   In a template of a value:
       {signed SHIFT}, {unsigned SHIFT}, {character SHIFT}     the word, shifted right */
#pragma once

#include "gc_dac.h"

/* Reads the file, or ends the program with its first mistake. */
void names_load(const char *path);
/* What the type is called. */
const char *names_type(const gc_dac_type *type);
/* Writes how the object is shown, at most room - 1 bytes. False: no rule is for its type; then `to` is "". */
bool names_show(gc_dac *dac, uint64_t object, char *to, size_t room);
/* The same for a tagged value that refers to no object. */
bool names_show_value(uint64_t word, char *to, size_t room);
