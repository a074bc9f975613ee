/* Call frame information: the tables of .eh_frame, which say where a function's frame ends and where it has saved its
   caller's registers, instruction by instruction.

   A file has one description for each function (FDE), which continues one that many share (CIE). .eh_frame_hdr lists them by
   address. The instructions of both are carried out up to the pc; what then holds is a row. */
#pragma once

#include "bytes.h"
#include "../platform/stack_linux.h"

typedef enum gc__cfi_how {
    GC__CFI_SAME,       /* the register has its caller's value */
    GC__CFI_UNDEFINED,  /* that value is lost */
    GC__CFI_OFFSET,     /* it is in memory at CFA + value */
    GC__CFI_SUM,        /* it is CFA + value */
    GC__CFI_REGISTER,   /* it is in the register `value` */
    GC__CFI_EXPRESSION, /* it is in memory where the expression at `value` says */
    GC__CFI_RESULT      /* it is the result of that expression */
} gc__cfi_how;

typedef struct gc__cfi_rule {
    uint8_t how; /* gc__cfi_how */
    int64_t value;
} gc__cfi_rule;

typedef struct gc__cfi_row {
    uint8_t cfa_register;
    gc__cfi_rule cfa; /* GC__CFI_SUM: cfa_register + value; or GC__CFI_RESULT */
    gc__cfi_rule registers[GC__CPU_REGISTERS];
} gc__cfi_row;

#define GC__CFI_REMEMBERED 4

/* What a CIE says, and the row while instructions are carried out. */
typedef struct gc__cfi {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding; /* of addresses in FDEs */
    bool has_augmentation, is_signal_frame;
    gc__byte_reader initial; /* instructions */
    uintptr_t location;
    uintptr_t end; /* of the segment */
    bool is_wrong;
    unsigned remembered_count;
    gc__cfi_row row, first; /* `first`: after the CIE's instructions */
    gc__cfi_row remembered[GC__CFI_REMEMBERED];
} gc__cfi;

/* An address as .eh_frame encodes it, in relation to itself or to `base`. */
GC__FN uintptr_t gc__cfi_address(gc__byte_reader *reader, unsigned encoding, uintptr_t base) {
    uintptr_t here = (uintptr_t)reader->at, value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = gc__byte_number(reader, 8);
        break;
    case 0x01:
        value = gc__byte_uleb(reader);
        break;
    case 0x02:
        value = gc__byte_number(reader, 2);
        break;
    case 0x03:
        value = gc__byte_number(reader, 4);
        break;
    case 0x09:
        value = (uintptr_t)gc__byte_sleb(reader);
        break;
    case 0x0a:
        value = (uintptr_t)gc__byte_signed(reader, 2);
        break;
    case 0x0b:
        value = (uintptr_t)gc__byte_signed(reader, 4);
        break;
    default:
        reader->is_broken = true;
        return 0;
    }
    if ((encoding & 0x70) == 0x10) return value + here;
    if ((encoding & 0x70) == 0x30) return value + base;
    reader->is_broken |= (encoding & 0x70) != 0;
    return value;
}

/* Starts reading an entry: its length is taken off. Returns whether there is one. */
GC__FN bool gc__cfi_entry(gc__byte_reader *from, gc__byte_reader *entry) {
    uint64_t bytes = gc__byte_number(from, 4);
    if (bytes == UINT32_MAX) bytes = gc__byte_number(from, 8);
    const uint8_t *start = gc__byte_skip(from, bytes);
    if (!bytes || !start) return false;
    *entry = gc__byte_reader_of((uintptr_t)start, (uintptr_t)(start + bytes));
    return true;
}

/* What the letters of a CIE say. */
GC__FN void gc__cfi_augment(gc__cfi *cfi, gc__byte_reader *entry, const char *letters) {
    if (*letters != 'z') {
        cfi->is_wrong |= *letters != 0;
        return;
    }
    uint64_t bytes = gc__byte_uleb(entry);
    const uint8_t *start = gc__byte_skip(entry, bytes);
    if (!start) return;
    gc__byte_reader data = gc__byte_reader_of((uintptr_t)start, (uintptr_t)(start + bytes));
    cfi->has_augmentation = true;
    for (letters++; *letters; letters++) {
        if (*letters == 'R') cfi->encoding = (uint8_t)gc__byte_number(&data, 1);
        if (*letters == 'L') gc__byte_number(&data, 1);
        if (*letters == 'P') gc__cfi_address(&data, (unsigned)gc__byte_number(&data, 1) & 0x7f, 0);
        if (*letters == 'S') cfi->is_signal_frame = true;
    }
    cfi->is_wrong |= data.is_broken;
}

GC__FN bool gc__cfi_common(gc__cfi *cfi, uintptr_t start, uintptr_t end) {
    gc__byte_reader from = gc__byte_reader_of(start, end), entry;
    if (!gc__cfi_entry(&from, &entry) || gc__byte_number(&entry, 4) != 0) return false;
    unsigned version = (unsigned)gc__byte_number(&entry, 1);
    const char *letters = gc__byte_text(&entry);
    cfi->code_unit = gc__byte_uleb(&entry);
    cfi->data_unit = gc__byte_sleb(&entry);
    uint64_t number = version == 1 ? gc__byte_number(&entry, 1) : gc__byte_uleb(&entry);
    gc__cfi_augment(cfi, &entry, letters);
    cfi->initial = entry;
    return (version == 1 || version == 3) && number == GC__CPU_PC && !entry.is_broken && !cfi->is_wrong;
}

/* Rules of registers that frames are not found by, those of vectors for instance, are ignored. */
GC__FN void gc__cfi_set(gc__cfi *cfi, uint64_t number, gc__cfi_how how, int64_t value) {
    gc__cfi_rule rule = {(uint8_t)how, value};
    if (number < GC__CPU_REGISTERS) cfi->row.registers[number] = rule;
}

/* Products of numbers that may be anything. */
GC__FN int64_t gc__cfi_scale(int64_t unit, uint64_t number) { return (int64_t)((uint64_t)unit * number); }

GC__FN void gc__cfi_restore(gc__cfi *cfi, uint64_t number) {
    if (number < GC__CPU_REGISTERS) cfi->row.registers[number] = cfi->first.registers[number];
}

/* Passes over an expression; returns where it is. */
GC__FN int64_t gc__cfi_expression(gc__byte_reader *reader) {
    int64_t at = (int64_t)(uintptr_t)reader->at;
    uint64_t bytes = gc__byte_uleb(reader);
    gc__byte_skip(reader, bytes);
    return at;
}

GC__FN void gc__cfi_remember(gc__cfi *cfi, bool again) {
    if (again ? !cfi->remembered_count : cfi->remembered_count == GC__CFI_REMEMBERED)
        cfi->is_wrong = true;
    else if (again)
        cfi->row = cfi->remembered[--cfi->remembered_count];
    else
        cfi->remembered[cfi->remembered_count++] = cfi->row;
}

/* Instructions about the CFA. Returns whether it is one. */
GC__FN bool gc__cfi_step_cfa(gc__cfi *cfi, gc__byte_reader *reader, unsigned op) {
    uint64_t number = cfi->row.cfa_register;
    int64_t value = cfi->row.cfa.value;
    uint8_t how = GC__CFI_SUM;
    switch (op) {
    case 0x0c:
        number = gc__byte_uleb(reader);
        value = (int64_t)gc__byte_uleb(reader);
        break;
    case 0x0d:
        number = gc__byte_uleb(reader);
        break;
    case 0x0e:
        value = (int64_t)gc__byte_uleb(reader);
        break;
    case 0x0f:
        how = GC__CFI_RESULT;
        value = gc__cfi_expression(reader);
        break;
    case 0x12:
        number = gc__byte_uleb(reader);
        value = gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader));
        break;
    case 0x13:
        value = gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader));
        break;
    default:
        return false;
    }
    cfi->row.cfa_register = number < GC__CPU_REGISTERS ? (uint8_t)number : (uint8_t)GC__CPU_PC;
    cfi->row.cfa.how = how;
    cfi->row.cfa.value = value;
    return true;
}

/* Instructions about one register. */
GC__FN void gc__cfi_step_register(gc__cfi *cfi, gc__byte_reader *reader, unsigned op) {
    uint64_t number = gc__byte_uleb(reader);
    switch (op) {
    case 0x05:
        gc__cfi_set(cfi, number, GC__CFI_OFFSET, gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
        break;
    case 0x06:
        gc__cfi_restore(cfi, number);
        break;
    case 0x07:
        gc__cfi_set(cfi, number, GC__CFI_UNDEFINED, 0);
        break;
    case 0x08:
        gc__cfi_set(cfi, number, GC__CFI_SAME, 0);
        break;
    case 0x09:
        gc__cfi_set(cfi, number, GC__CFI_REGISTER, (int64_t)gc__byte_uleb(reader));
        break;
    case 0x10:
        gc__cfi_set(cfi, number, GC__CFI_EXPRESSION, gc__cfi_expression(reader));
        break;
    case 0x11:
        gc__cfi_set(cfi, number, GC__CFI_OFFSET, gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader)));
        break;
    case 0x14:
        gc__cfi_set(cfi, number, GC__CFI_SUM, gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
        break;
    case 0x15:
        gc__cfi_set(cfi, number, GC__CFI_SUM, gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader)));
        break;
    case 0x16:
        gc__cfi_set(cfi, number, GC__CFI_RESULT, gc__cfi_expression(reader));
        break;
    case 0x2f:
        gc__cfi_set(cfi, number, GC__CFI_OFFSET, -gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
        break;
    default:
        cfi->is_wrong = true;
        break;
    }
}

GC__FN void gc__cfi_step(gc__cfi *cfi, gc__byte_reader *reader) {
    unsigned op = (unsigned)gc__byte_number(reader, 1), low = op & 0x3f;
    if (op >> 6 == 1)
        cfi->location += low * cfi->code_unit;
    else if (op >> 6 == 2)
        gc__cfi_set(cfi, low, GC__CFI_OFFSET, gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
    else if (op >> 6 == 3)
        gc__cfi_restore(cfi, low);
    else if (op >= 0x02 && op <= 0x04)
        cfi->location += gc__byte_number(reader, 1u << (op - 2)) * cfi->code_unit;
    else if (op == 0x01)
        cfi->location = gc__cfi_address(reader, cfi->encoding, 0);
    else if (op == 0x0a || op == 0x0b)
        gc__cfi_remember(cfi, op == 0x0b);
    else if (op == 0x2e)
        gc__byte_uleb(reader);
    else if (op && !gc__cfi_step_cfa(cfi, reader, op))
        gc__cfi_step_register(cfi, reader, op);
}

/* Carries out instructions as far as they are about the pc. */
GC__FN void gc__cfi_run(gc__cfi *cfi, gc__byte_reader reader, uintptr_t pc) {
    while (reader.at < reader.end && cfi->location <= pc && !reader.is_broken && !cfi->is_wrong)
        gc__cfi_step(cfi, &reader);
    cfi->is_wrong |= reader.is_broken;
}

/* Finds the row for the pc by the FDE at `start`. False: the FDE is damaged, or of other code. */
GC__FN bool gc__cfi_read(gc__cfi *cfi, uintptr_t start, uintptr_t low, uintptr_t end, uintptr_t pc) {
    gc__byte_reader from = gc__byte_reader_of(start, end), entry;
    memset(cfi, 0, offsetof(gc__cfi, row));
    if (!gc__cfi_entry(&from, &entry)) return false;
    uintptr_t here = (uintptr_t)entry.at;
    uint64_t back = gc__byte_number(&entry, 4);
    if (!back || back > here - low || !gc__cfi_common(cfi, here - back, end)) return false;
    uintptr_t first = gc__cfi_address(&entry, cfi->encoding, 0);
    uintptr_t bytes = gc__cfi_address(&entry, cfi->encoding & 0x0f, 0);
    if (cfi->has_augmentation) gc__byte_skip(&entry, gc__byte_uleb(&entry));
    if (entry.is_broken || pc - first >= bytes) return false;
    memset(&cfi->row, 0, sizeof cfi->row);
    cfi->end = end;
    cfi->row.cfa.how = GC__CFI_SUM;
    cfi->row.registers[GC__CPU_SP].how = GC__CFI_SUM;
    gc__cfi_run(cfi, cfi->initial, UINTPTR_MAX);
    cfi->first = cfi->row;
    cfi->location = first;
    if (!cfi->is_wrong) gc__cfi_run(cfi, entry, pc);
    return !cfi->is_wrong;
}

/* Tries each FDE in turn, for files that have no list. */
GC__FN bool gc__cfi_try_all(gc__cfi *cfi, uintptr_t frames, const gc__os_tables *tables, uintptr_t pc) {
    gc__byte_reader from = gc__byte_reader_of(frames, tables->end), entry;
    for (uintptr_t at = frames; gc__cfi_entry(&from, &entry); at = (uintptr_t)from.at) {
        uint64_t back = gc__byte_number(&entry, 4);
        if (back && gc__cfi_read(cfi, at, tables->start, tables->end, pc)) return true;
    }
    return false;
}

#define GC__CFI_LIST_ENCODING 0x3b /* of all linkers: four bytes each, in relation to the header */

/* Finds the row for the pc. False: the file has none, or its tables are damaged. */
GC__FN bool gc__cfi_find(gc__cfi *cfi, const gc__os_tables *tables, uintptr_t pc) {
    gc__byte_reader header = gc__byte_reader_of(tables->header, tables->end);
    if (GC__CPU_HAS_CFI && tables->frames) return gc__cfi_try_all(cfi, tables->frames, tables, pc);
    if (!GC__CPU_HAS_CFI || !tables->header || gc__byte_number(&header, 1) != 1) return false;
    unsigned of_frames = (unsigned)gc__byte_number(&header, 1), of_count = (unsigned)gc__byte_number(&header, 1),
             of_list = (unsigned)gc__byte_number(&header, 1);
    uintptr_t frames = gc__cfi_address(&header, of_frames, tables->header);
    if (header.is_broken) return false;
    if (of_count == 0xff || of_list != GC__CFI_LIST_ENCODING)
        return frames >= tables->start && gc__cfi_try_all(cfi, frames, tables, pc);
    uint64_t count = gc__cfi_address(&header, of_count, tables->header), low = 0, high = count;
    const uint8_t *list = gc__byte_skip(&header, count > UINT32_MAX ? UINT64_MAX : count * 8);
    if (!list) return false;
    int32_t entry[2] = {0, 0};
    while (low < high) { /* the last function that begins at the pc or before */
        uint64_t middle = low + (high - low) / 2;
        memcpy(entry, list + middle * 8, sizeof entry);
        if (tables->header + (uintptr_t)(intptr_t)entry[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return false;
    memcpy(entry, list + (low - 1) * 8, sizeof entry);
    uintptr_t start = tables->header + (uintptr_t)(intptr_t)entry[1];
    return start >= tables->start && gc__cfi_read(cfi, start, tables->start, tables->end, pc);
}
