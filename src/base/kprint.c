/* Formatting a kernel's printf.  The C library formats each directive; what is a directive, and how many bytes its argument
 * has, is decided here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Wider fields are nobody's intention. */
#define FIELD_LIMIT 65536

struct directive {
    char flags[8];
    int width, precision;  /* -1: none */
    int longs, halves;     /* counts of l (ll, j, z, t, L count as 2) and h */
    char conversion;
    const char *begin, *end;
};

struct args {
    uint64_t at;
    bool failed;
    const struct aw_kprint_memory *memory;
};

/* The next argument: values lie at their natural alignment, smaller ones promoted to 4 bytes. */
static uint64_t arg_take(struct args *args, size_t bytes)
{
    uint64_t value = 0, at = (args->at + bytes - 1) & ~(uint64_t)(bytes - 1);
    if (args->failed || !args->memory->args(args->memory->user, &value, at, bytes)) {
        args->failed = true;
        return 0;
    }
    args->at = at + bytes;
    return value;
}

static int number(const char **p)
{
    int n = 0;
    while (**p >= '0' && **p <= '9') {
        n = n * 10 + (**p - '0');
        if (n > FIELD_LIMIT)
            n = FIELD_LIMIT;
        (*p)++;
    }
    return n;
}

static int star(struct args *args, int32_t *ret_n)
{
    *ret_n += 1;
    int value = (int)(int32_t)arg_take(args, 4);
    return value > FIELD_LIMIT ? FIELD_LIMIT : value < -FIELD_LIMIT ? -FIELD_LIMIT : value;
}

/* Parses after the '%'.  Takes the arguments that stars stand for. */
static void directive_parse(struct directive *d, const char *p, struct args *args, int32_t *ret_n)
{
    size_t n_flags = 0;
    *d = (struct directive){ .begin = p, .width = -1, .precision = -1 };
    for (; *p && strchr("#0- +", *p); p++) {
        if (!memchr(d->flags, *p, n_flags))
            d->flags[n_flags++] = *p;
    }
    if (*p == '*') {
        d->width = star(args, ret_n);
        if (d->width < 0) {
            d->width = -d->width;
            if (!memchr(d->flags, '-', n_flags))
                d->flags[n_flags++] = '-';
        }
        p++;
    } else if (*p >= '1' && *p <= '9') {
        d->width = number(&p);
    }
    if (*p == '.') {
        p++;
        if (*p == '*') {
            d->precision = star(args, ret_n);
            p++;
        } else {
            d->precision = number(&p);
        }
    }
    for (;; p++) {
        if (*p == 'h')
            d->halves++;
        else if (*p == 'l')
            d->longs++;
        else if (*p == 'j' || *p == 'z' || *p == 't' || *p == 'q' || *p == 'L')
            d->longs += 2;
        else
            break;
    }
    d->conversion = *p;
    d->end = *p ? p + 1 : p;
}

/* "%flags width .precision length conversion", for the C library. */
static void directive_spec(const struct directive *d, const char *length, char conversion, char spec[48])
{
    int n = snprintf(spec, 48, "%%%s", d->flags);
    if (d->width >= 0)
        n += snprintf(spec + n, 48 - (size_t)n, "%d", d->width);
    if (d->precision >= 0)
        n += snprintf(spec + n, 48 - (size_t)n, ".%d", d->precision);
    snprintf(spec + n, 48 - (size_t)n, "%s%c", length, conversion);
}

/* Appends the string at `address`, at most `limit` bytes of it.  False when it leaves the memory that is there; *ret_end is
 * then the first address that is not. */
static bool string_add(struct aw_buf *out, uint64_t address, size_t limit, const struct aw_kprint_memory *memory,
                       uint64_t *ret_end)
{
    char part[512];
    while (limit) {
        size_t ask = limit < sizeof part ? limit : sizeof part;
        long got = memory->string(memory->user, part, address, ask);
        if (got < 0) {
            /* The part may begin in memory that is there: byte by byte, then say where it ends. */
            long one = -1;
            while (ask-- && (one = memory->string(memory->user, part, address, 1)) == 1) {
                aw_buf_add(out, part, 1);
                address++;
            }
            *ret_end = address;
            return one >= 0;
        }
        aw_buf_add(out, part, (size_t)got);
        address += (uint64_t)got;
        limit -= (size_t)got;
        if ((size_t)got < ask)
            break;
    }
    return true;
}

static void print_string(struct aw_buf *out, const struct directive *d, uint64_t address, const struct aw_kprint_memory *memory)
{
    struct aw_buf text = { 0 };
    size_t limit = d->precision >= 0 ? (size_t)d->precision : AW_KPRINT_STRING_MAX;
    uint64_t end;
    if (!address)
        aw_buf_add(&text, "(null)", limit < 6 ? limit : 6);
    else if (!string_add(&text, address, limit, memory, &end))
        aw_buf_printf(&text, "(bad pointer 0x%llx)", (unsigned long long)end);
    int pad = d->width > (int)text.len ? d->width - (int)text.len : 0;
    bool left = strchr(d->flags, '-') != NULL;
    if (!left)
        aw_buf_printf(out, "%*s", pad, "");
    aw_buf_add(out, text.ptr, text.len);
    if (left)
        aw_buf_printf(out, "%*s", pad, "");
    aw_buf_fini(&text);
}

static void print_integer(struct aw_buf *out, const struct directive *d, struct args *args)
{
    char spec[48];
    bool is_signed = d->conversion == 'd' || d->conversion == 'i';
    uint64_t raw = arg_take(args, d->longs ? 8 : 4);
    int64_t value = d->longs ? (int64_t)raw : is_signed ? (int32_t)raw : (int64_t)(uint32_t)raw;
    if (d->halves == 1)
        value = is_signed ? (int16_t)value : (uint16_t)value;
    else if (d->halves >= 2)
        value = is_signed ? (int8_t)value : (uint8_t)value;
    directive_spec(d, "ll", d->conversion, spec);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    aw_buf_printf(out, spec, (long long)value);
#pragma GCC diagnostic pop
}

/* One directive with its argument; false when it is none: then its text is printed as it stands. */
static bool print_directive(struct aw_buf *out, const struct directive *d, struct args *args)
{
    char spec[48];
    uint64_t raw;
    double real;
    if (!d->conversion)
        return false;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    switch (d->conversion) {
    case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
        print_integer(out, d, args);
        return true;
    case 'c':
        directive_spec(d, "", 'c', spec);
        aw_buf_printf(out, spec, (int)arg_take(args, 4));
        return true;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        raw = arg_take(args, 8);
        memcpy(&real, &raw, sizeof real);
        directive_spec(d, "", d->conversion, spec);
        aw_buf_printf(out, spec, real);
        return true;
    case 'p':
        directive_spec(d, "", 'p', spec);
        aw_buf_printf(out, spec, (void *)(uintptr_t)arg_take(args, 8));
        return true;
    case 's':
        print_string(out, d, arg_take(args, 8), args->memory);
        return true;
    default:
        return false;
    }
#pragma GCC diagnostic pop
}

int32_t aw_kprint(struct aw_buf *out, const char *format, uint64_t address, const struct aw_kprint_memory *memory)
{
    struct args args = { address, false, memory };
    int32_t n = 0;
    for (const char *p = format; *p && !args.failed;) {
        const char *percent = strchrnul(p, '%');
        aw_buf_add(out, p, (size_t)(percent - p));
        if (!*percent)
            break;
        p = percent + 1;
        if (*p == '%') {
            aw_buf_add(out, "%", 1);
            p++;
            continue;
        }
        struct directive d;
        directive_parse(&d, p, &args, &n);
        if (print_directive(out, &d, &args))
            n++;
        else
            aw_buf_add(out, percent, (size_t)(d.end - percent));
        p = d.end;
    }
    return args.failed ? -1 : n;
}

char *aw_kprint_string(uint64_t address, const struct aw_kprint_memory *memory)
{
    struct aw_buf text = { 0 };
    uint64_t end;
    if (!address || !string_add(&text, address, AW_KPRINT_STRING_MAX, memory, &end) || text.failed) {
        aw_buf_fini(&text);
        return NULL;
    }
    return text.ptr ? text.ptr : calloc(1, 1);
}

void aw_kprint_assert(struct aw_buf *out, const char *message, const char *file, uint32_t line, const char *function,
                      const uint32_t block[3], const uint32_t thread[3])
{
    aw_buf_printf(out, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file ? file : "?", line,
                  function ? function : "?", block[0], block[1], block[2], thread[0], thread[1], thread[2],
                  message ? message : "?");
}
