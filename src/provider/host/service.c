/* Services that generated code calls beside barriers: printf, assert, trap, the device heap, the clock.
 * Not barriers and yield (block.c).  Kernel output is gathered and written to stdout at the points where CUDA does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/str.h"

/* CUDA's default buffer.  Beyond it CUDA drops the oldest output; we write it early instead. */
#define PRINT_LIMIT ((size_t)1 << 20)
/* Wider fields are nobody's intention. */
#define FIELD_LIMIT 65536

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_buf print_buf;
static _Atomic size_t print_pending;

static struct aw_host_run *run_of(struct aw_host_block *block)
{
    return (struct aw_host_run *)(void *)block;
}

/* ---- output ---- */

static void print_write_locked(void)
{
    if (print_buf.len)
        fwrite(print_buf.ptr, 1, print_buf.len, stdout);
    if (print_buf.failed)
        aw_err("kernel output was lost: out of memory");
    aw_buf_fini(&print_buf);
    memset(&print_buf, 0, sizeof print_buf);
    atomic_store_explicit(&print_pending, 0, memory_order_relaxed);
}

void aw_host_print_flush(void)
{
    if (!atomic_load_explicit(&print_pending, memory_order_acquire))
        return;
    pthread_mutex_lock(&print_lock);
    print_write_locked();
    pthread_mutex_unlock(&print_lock);
}

void aw_host_print_fork(int phase)
{
    if (phase == 0) {
        pthread_mutex_lock(&print_lock);
        return;
    }
    if (phase == 2) { /* the parent will print it */
        aw_buf_fini(&print_buf);
        memset(&print_buf, 0, sizeof print_buf);
        atomic_store(&print_pending, 0);
    }
    pthread_mutex_unlock(&print_lock);
}

static void print_add(const struct aw_buf *text)
{
    pthread_mutex_lock(&print_lock);
    aw_buf_add(&print_buf, text->ptr, text->len);
    if (print_buf.len >= PRINT_LIMIT)
        print_write_locked();
    else
        atomic_store_explicit(&print_pending, 1, memory_order_release);
    pthread_mutex_unlock(&print_lock);
}

/* ---- printf ---- */

struct directive {
    char flags[8];
    int width, precision;  /* -1: none */
    int longs, halves;     /* counts of l (ll, j, z, t, L count as 2) and h */
    char conversion;
    const char *begin, *end;
};

struct args {
    const char *at;
    bool failed;
};

/* The next argument: values lie at their natural alignment, smaller ones promoted to 4 bytes. */
static uint64_t arg_take(struct args *args, size_t bytes)
{
    uint64_t value = 0;
    uintptr_t at = ((uintptr_t)args->at + bytes - 1) & ~(uintptr_t)(bytes - 1);
    if (!args->at || !aw_host_peek(&value, (const void *)at, bytes)) {
        args->failed = true;
        return 0;
    }
    args->at = (const char *)at + bytes;
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

static void print_string(struct aw_buf *out, const struct directive *d, const char *s)
{
    struct aw_buf text = { 0 };
    char part[512];
    size_t limit = d->precision >= 0 ? (size_t)d->precision : PRINT_LIMIT;
    if (!s) {
        aw_buf_add(&text, "(null)", limit < 6 ? limit : 6);
        limit = 0;
    }
    while (limit) {
        size_t ask = limit < sizeof part ? limit : sizeof part;
        long got = aw_host_peek_string(part, s + text.len, ask);
        if (got < 0) {
            /* The faulting part may begin in memory that is there: byte by byte, then say where it ends. */
            while (ask-- && aw_host_peek_string(part, s + text.len, 1) == 1)
                aw_buf_add(&text, part, 1);
            aw_buf_printf(&text, "(bad pointer %p)", (const void *)(s + text.len));
            break;
        }
        aw_buf_add(&text, part, (size_t)got);
        limit -= (size_t)got;
        if ((size_t)got < ask)
            break;
    }
    struct directive plain = *d;
    plain.precision = -1;
    int pad = plain.width > (int)text.len ? plain.width - (int)text.len : 0;
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
        print_string(out, d, (const char *)(uintptr_t)arg_take(args, 8));
        return true;
    default:
        return false;
    }
#pragma GCC diagnostic pop
}

/* A NUL-terminated copy of a string of the kernel (owned by the caller), or NULL when it is not readable. */
static char *string_copy(const char *s)
{
    struct aw_buf text = { 0 };
    char part[512];
    long got;
    do {
        got = s ? aw_host_peek_string(part, s + text.len, sizeof part) : -1;
        /* The last part may lie just before memory that is not there: then by single bytes. */
        if (got < 0 && s) {
            long one;
            while ((one = aw_host_peek_string(part, s + text.len, 1)) == 1)
                aw_buf_add(&text, part, 1);
            got = one;
            break;
        }
        if (got > 0)
            aw_buf_add(&text, part, (size_t)got);
    } while (got == (long)sizeof part && text.len < PRINT_LIMIT);
    if (got < 0 || text.failed) {
        aw_buf_fini(&text);
        return NULL;
    }
    return text.ptr ? text.ptr : calloc(1, 1);
}

static int32_t format(struct aw_buf *out, const char *fmt, struct args *args)
{
    int32_t n = 0;
    for (const char *p = fmt; *p && !args->failed;) {
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
        directive_parse(&d, p, args, &n);
        if (print_directive(out, &d, args))
            n++;
        else
            aw_buf_add(out, percent, (size_t)(d.end - percent));
        p = d.end;
    }
    return n;
}

int32_t aw_host_vprintf(struct aw_host_block *block, const char *fmt, const void *packed)
{
    struct aw_buf out = { 0 };
    struct args args = { packed, false };
    aw_host_thread.service++;
    int32_t n = -1;
    char *text = string_copy(fmt);
    if (text) {
        n = format(&out, text, &args);
        if (args.failed)
            n = -1;
        print_add(&out);
    }
    aw_buf_fini(&out);
    free(text);
    aw_host_thread.service--;
    return n;
}

/* ---- assert, trap ---- */

void aw_host_assert_fail(struct aw_host_block *block, const char *message, const char *file, uint32_t line,
                         const char *function, uint32_t thread_linear)
{
    struct aw_host_run *run = run_of(block);
    const uint32_t *shape = block->launch->block;
    aw_host_thread.service++;
    char *m = string_copy(message), *fi = string_copy(file), *fu = string_copy(function);
    fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", fi ? fi : "?", line,
            fu ? fu : "?", block->ctaid[0], block->ctaid[1], block->ctaid[2], thread_linear % shape[0],
            thread_linear / shape[0] % shape[1], thread_linear / shape[0] / shape[1], m ? m : "?");
    free(m);
    free(fi);
    free(fu);
    aw_host_op_kill(run->op, AW_ERR_ASSERT);
    aw_host_thread.service--;
    aw_host_run_die(run);
}

void aw_host_trap(struct aw_host_block *block, uint32_t status, const char *what)
{
    struct aw_host_run *run = run_of(block);
    aw_host_thread.service++;
    if (status == AW_OK || status >= AW_STATUS_COUNT)
        status = AW_ERR_LAUNCH_FAILED;
    if (aw_host_op_kill(run->op, (int)status)) {
        char *text = string_copy(what);
        aw_err("kernel %s: %s in block (%u,%u,%u), warp %u", run->op->kernel.name, text ? text : "trap", block->ctaid[0],
               block->ctaid[1], block->ctaid[2], block->warp);
        free(text);
    }
    aw_host_thread.service--;
    aw_host_run_die(run);
}

/* ---- heap and clock ---- */

void *aw_host_heap_malloc(struct aw_host_block *block, uint64_t size)
{
    aw_host_thread.service++;
    void *p = size ? aw_host_heap_alloc((size_t)size) : NULL;
    aw_host_thread.service--;
    return p;
}

void aw_host_heap_free(struct aw_host_block *block, void *ptr)
{
    if (!ptr)
        return;
    aw_host_thread.service++;
    bool ok = aw_host_heap_release(ptr);
    aw_host_thread.service--;
    if (!ok)
        aw_host_trap(block, AW_ERR_LAUNCH_FAILED, "free() of a pointer that the device heap does not hold");
}

uint64_t aw_host_globaltimer(void)
{
    /* Real time at the first call, monotonic from there: loops that wait for it must end. */
    static _Atomic uint64_t offset;
    uint64_t now = aw_host_now_ns(), add = atomic_load_explicit(&offset, memory_order_relaxed);
    if (!add) {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        uint64_t expected = 0;
        add = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - now;
        if (!atomic_compare_exchange_strong(&offset, &expected, add))
            add = expected;
    }
    return now + add;
}
