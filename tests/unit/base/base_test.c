/* Unit tests of src/base. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/config.h"
#include "base/arena.h"
#include "base/demangle.h"
#include "base/dl.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/quirk.h"
#include "base/setting.h"
#include "base/status.h"
#include "base/vec.h"

Test(arena, aligned_zeroed_and_distinct)
{
    struct aw_arena a = { 0 };
    char *last = NULL;

    for (size_t i = 1; i < 5000; i++) {
        size_t align = (size_t)1 << (i % 7);
        unsigned char *p = aw_arena_alloc(&a, i, align);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % align, 0u);
        for (size_t k = 0; k < i; k++)
            cr_assert_eq(p[k], 0, "size %zu byte %zu", i, k);
        memset(p, 0xff, i);
        cr_assert_neq((char *)p, last);
        last = (char *)p;
    }
    cr_assert(!a.failed);
    aw_arena_fini(&a);
}

/* Pieces above what malloc is asked for, between small ones. */
Test(arena, large_pieces)
{
    struct aw_arena a = { 0 };

    for (size_t i = 1; i < 12; i++) {
        size_t size = (i << 20) + i;
        unsigned char *p = aw_arena_alloc(&a, size, 64), *small = aw_arena_alloc(&a, 3, 1);
        cr_assert(p && small);
        cr_assert_eq((uintptr_t)p % 64, 0u);
        for (size_t k = 0; k < size; k++)
            cr_assert_eq(p[k], 0, "piece %zu byte %zu", i, k);
        memset(p, 0xff, size);
        cr_assert_eq(small[0] | small[1] | small[2], 0);
    }
    cr_assert(!a.failed);
    aw_arena_fini(&a);
}

Test(arena, refuses_overflow)
{
    struct aw_arena a = { 0 };

    cr_assert_null(aw_arena_alloc(&a, SIZE_MAX - 8, 8));
    cr_assert(a.failed);
    cr_assert_null(aw_arena_array(&a, 16, 8, SIZE_MAX / 8));
    aw_arena_fini(&a);
}

Test(arena, strings)
{
    struct aw_arena a = { 0 };
    struct aw_str s = aw_arena_printf(&a, "%s-%d", "x", 42);

    cr_assert(aw_str_is(s, "x-42"));
    cr_assert_eq(s.ptr[s.len], 0);
    cr_assert(aw_str_eq(aw_arena_str(&a, s), s));
    aw_arena_fini(&a);
}

Test(str, order_and_prefix)
{
    cr_assert_lt(aw_str_cmp(AW_STR("ab"), AW_STR("abc")), 0);
    cr_assert_gt(aw_str_cmp(AW_STR("b"), AW_STR("abc")), 0);
    cr_assert_eq(aw_str_cmp(AW_STR("b"), AW_STR("b")), 0);
    cr_assert(aw_str_starts(AW_STR("abc"), "ab"));
    cr_assert(!aw_str_starts(AW_STR("a"), "ab"));
}

__attribute__((format(printf, 2, 3))) static void same_as_printf(size_t size, const char *fmt, ...)
{
    char got[64], want[64];
    va_list ap, again;
    memset(got, 'x', sizeof got);
    memset(want, 'x', sizeof want);
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = aw_vsnprintf(got, size, fmt, ap), expected = vsnprintf(want, size, fmt, again);
    va_end(again);
    va_end(ap);
    cr_assert_eq(n, expected, "%s: %d, not %d", fmt, n, expected);
    cr_assert_arr_eq(got, want, sizeof got, "%s: '%.*s', not '%.*s'", fmt, 63, got, 63, want);
}

Test(buf, formats_as_printf)
{
    for (size_t size = 0; size < 64; size++) {
        same_as_printf(size, "%s", "");
        same_as_printf(size, "a %s, %.*s%c%%.", "text", 3, "part of it", 'z');
        same_as_printf(size, "%u %u %d %d", 0u, UINT_MAX, INT_MIN, INT_MAX);
        same_as_printf(size, "%lu %ld %ld", ULONG_MAX, LONG_MIN, LONG_MAX);
        same_as_printf(size, "%5d|%x|%s|%zu", -3, 255u, "others", size);
        same_as_printf(size, "%.*s|%.*s", 0, "none", -1, "all");
    }
}

Test(buf, grows_and_terminates)
{
    struct aw_buf b = { 0 };

    for (int i = 0; i < 1000; i++)
        aw_buf_printf(&b, "%d,", i);
    cr_assert(!b.failed);
    cr_assert_eq(strlen(b.ptr), b.len);
    cr_assert_eq(b.len, 3890u);
    aw_buf_fini(&b);
}

Test(vec, push)
{
    AW_VEC(int) v = { 0 };

    for (int i = 0; i < 1000; i++)
        cr_assert(aw_vec_push(&v, i * 3));
    cr_assert_eq(v.n, 1000u);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(v.at[i], i * 3);
    aw_vec_fini(&v);
}

Test(hash, framing)
{
    struct aw_hasher a, b;

    aw_hasher_init(&a);
    aw_hasher_init(&b);
    aw_hasher_add(&a, "a", 1);
    aw_hasher_add(&a, "bc", 2);
    aw_hasher_add(&b, "ab", 2);
    aw_hasher_add(&b, "c", 1);
    cr_assert(!aw_hash128_eq(aw_hasher_end(&a), aw_hasher_end(&b)));
    char hex[33];
    aw_hash128_hex((struct aw_hash128){ 0x1, 0xab }, hex);
    cr_assert_str_eq(hex, "00000000000000ab0000000000000001");
}

/* Random puts and removals against a plain array. */
Test(map, against_array)
{
    enum { N = 600 };
    struct aw_map map = { 0 };
    struct aw_ptrmap ptrs = { 0 };
    static char keys[N][8];
    static int values[N];
    bool present[N] = { 0 };
    size_t n = 0;

    for (int i = 0; i < N; i++)
        snprintf(keys[i], sizeof keys[i], "k%d", i);
    srand(7);
    for (int step = 0; step < 50000; step++) {
        int i = rand() % N;
        struct aw_str key = aw_str_from(keys[i]);
        if (rand() % 3) {
            cr_assert(aw_map_put(&map, key, &values[i]));
            cr_assert(aw_ptrmap_put(&ptrs, keys[i], &values[i]));
            n += !present[i];
            present[i] = true;
        } else {
            cr_assert_eq(aw_map_remove(&map, key), present[i] ? &values[i] : NULL);
            cr_assert_eq(aw_ptrmap_remove(&ptrs, keys[i]), present[i] ? &values[i] : NULL);
            n -= present[i];
            present[i] = false;
        }
        cr_assert_eq(map.n, n);
        cr_assert_eq(ptrs.n, n);
        int j = rand() % N;
        cr_assert_eq(aw_map_find(&map, aw_str_from(keys[j])), present[j] ? &values[j] : NULL);
        cr_assert_eq(aw_ptrmap_find(&ptrs, keys[j]), present[j] ? &values[j] : NULL);
    }
    aw_map_fini(&map);
    aw_ptrmap_fini(&ptrs);
}

Test(status, columns)
{
    cr_assert_eq(aw_status_to_cu(AW_ERR_NOT_SUPPORTED), 801);
    cr_assert_eq(aw_status_to_cudart(AW_ERR_INVALID_CONFIG), 9);
    cr_assert_eq(aw_status_to_cu(AW_ERR_INVALID_CONFIG), 1);
    cr_assert_eq(aw_status_from_hip(2), AW_ERR_OUT_OF_MEMORY);
    cr_assert_eq(aw_status_from_hip(719), AW_ERR_LAUNCH_FAILED);
    cr_assert_eq(aw_status_from_hip(987654), AW_ERR_UNKNOWN);
    cr_assert_eq(aw_status_to_cu((enum aw_status)4242), 999);
    for (int i = 0; i < AW_STATUS_COUNT; i++)
        cr_assert_not_null(aw_status_text((enum aw_status)i));
}

Test(dl, opens_and_explains)
{
    struct {
        double (*cos)(double);
        void *absent;
    } table;
    const struct aw_dl_symbol optional[] = { { "cos", 0, true }, { "no_such_symbol_here", sizeof(void *), false }, { 0 } };
    const struct aw_dl_symbol required[] = { { "no_such_symbol_here", 0, true }, { 0 } };
    const char *names[] = { "libnothing-of-the-kind.so", "libm.so.6", NULL };
    char why[256] = "";

    cr_assert_not_null(aw_dl_open(names, optional, &table, why, sizeof why));
    cr_assert_eq(table.cos(0), 1.0);
    cr_assert_null(table.absent);
    cr_assert_null(aw_dl_open(names, required, &table, why, sizeof why));
    cr_assert_not_null(strstr(why, "no_such_symbol_here"));
}

Test(demangle, names_in_a_text)
{
    static const struct {
        const char *text, *plain; /* NULL: nothing to do */
    } cases[] = {
        { "kernel _Z5scaleILi3EEvPf: out of memory", "kernel void scale<3>(float*): out of memory" },
        { "_Z1fv, _Z1gi.", "f(), g(int)." },
        { "kernel scale: no", NULL },
        { "a_Z1fv and Z1fv and _Z", NULL },
        { "_Z5scal: cut", "_Z5scal: cut" },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *plain = aw_demangle_text(cases[i].text);
        if (cases[i].plain)
            cr_expect_str_eq(plain ? plain : "nothing", cases[i].plain);
        else
            cr_expect_null(plain, "%s", cases[i].text);
        free(plain);
    }
}

Test(setting, unknown_is_said_once)
{
    static const char *const words[] = { "0", "1", "always", NULL };
    char said[512] = "";
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_assert_geq(dup2(fileno(file), STDERR_FILENO), 0);
    cr_assert_eq(aw_setting_word("AW_TEST_WORD", words, 1), 1);
    setenv("AW_TEST_WORD", "", 1);
    cr_assert_eq(aw_setting_word("AW_TEST_WORD", words, 1), 1);
    setenv("AW_TEST_WORD", "always", 1);
    cr_assert_eq(aw_setting_word("AW_TEST_WORD", words, 1), 2);
    setenv("AW_TEST_WORD", "maybe", 1);
    const char *name = "AW_TEST_WORD", *number = "AW_TEST_NUMBER";
    for (int i = 0; i < 3; i++)
        cr_assert_eq(aw_setting_word(name, words, 0), 0);
    setenv("AW_TEST_NUMBER", "12", 1);
    cr_assert_eq(aw_setting_number(number, 3, 12, 7), 12);
    cr_assert_eq(aw_setting_number("AW_TEST_NO_NUMBER", 3, 12, 7), 7);
    for (const char *const *text = (const char *const[]){ "13", "2", "-5", "5x", "x", " 5", NULL }; *text; text++) {
        setenv("AW_TEST_NUMBER", *text, 1);
        cr_assert_eq(aw_setting_number(number, 3, 12, 7), 7);
    }
    rewind(file);
    cr_assert_gt(fread(said, 1, sizeof said - 1, file), 0);
    cr_assert_str_eq(said, "anywarp: warn: base: AW_TEST_WORD=maybe is not known; known are 0, 1 and always; using 0 [AW1003]\n"
                           "anywarp: warn: base: AW_TEST_NUMBER=13 is not a number from 3 to 12; using 7 [AW1004]\n");
    fclose(file);
}

Test(setting, several_words)
{
    static const char *const words[] = { "none", "sync", "init", "race", NULL };
    static const struct {
        const char *text;
        unsigned bits;
    } cases[] = { { "", 0 },     { "none", 0 },          { "sync", 1 },      { "race", 4 },      { "sync,init,race", 7 },
                  { "init,sync", 3 }, { "none,race", 4 }, { "init,init", 2 }, { "sync,synch", 0 }, { "sync, init", 0 } };
    unsetenv("AW_TEST_WORDS");
    cr_assert_eq(aw_setting_words("AW_TEST_WORDS", words), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("AW_TEST_WORDS", cases[i].text, 1);
        cr_assert_eq(aw_setting_words("AW_TEST_WORDS", words), cases[i].bits, "%s", cases[i].text);
    }
}

Test(quirk, words)
{
    struct aw_str word;
    unsetenv("ANYWARP_QUIRKS");
    cr_assert(aw_quirk_on(AW_QUIRK_STATIC_TLS) && !aw_quirk_unknown(&word));
    setenv("ANYWARP_QUIRKS", "-static-tls, -wheel-names", 1);
    cr_assert(!aw_quirk_on(AW_QUIRK_STATIC_TLS) && !aw_quirk_on(AW_QUIRK_WHEEL_NAMES) && aw_quirk_on(AW_QUIRK_TRITON_TOOLS));
    setenv("ANYWARP_QUIRKS", "-all,static-tls", 1);
    cr_assert(aw_quirk_on(AW_QUIRK_STATIC_TLS) && !aw_quirk_on(AW_QUIRK_TRITON_TOOLS) && !aw_quirk_unknown(&word));
    setenv("ANYWARP_QUIRKS", "-static,-all,all", 1);
    cr_assert(aw_quirk_on(AW_QUIRK_STATIC_TLS) && aw_quirk_unknown(&word) && aw_str_is(word, "static"));
    unsetenv("ANYWARP_QUIRKS");
}

Test(file, reads_whole)
{
    char *bytes;
    size_t len;

    cr_assert_eq(aw_file_read("/proc/self/status", &bytes, &len), AW_OK);
    cr_assert_gt(len, 100u);
    cr_assert_eq(strlen(bytes), len);
    free(bytes);
    cr_assert_eq(aw_file_read("/no/such/file", &bytes, &len), AW_ERR_FILE_NOT_FOUND);
}

Test(json, strings)
{
    /* Text, and what JSON has to say of it: control characters, quotes, UTF-8 of each length, and bytes that are none: overlong,
     * cut short, a surrogate. */
    static const struct {
        struct aw_str text;
        const char *wanted;
    } rows[] = {
        { AW_STR(""), "\"\"" },
        { AW_STR("a\"b\\c\n\x01\x7f"), "\"a\\\"b\\\\c\\u000a\\u0001\x7f\"" },
        { AW_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { AW_STR("\xc0\x80z"), "\"\xef\xbf\xbd\xef\xbf\xbdz\"" },
        { AW_STR("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { AW_STR("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct aw_buf buf = { 0 };
        aw_json_str(&buf, rows[i].text);
        cr_assert_str_eq(buf.ptr, rows[i].wanted, "row %zu", i);
        aw_buf_fini(&buf);
    }
}

/* The value that text gives to a setting; NULL: none. */
static const char *configured(const char *key, const char *text, struct aw_buf *problems)
{
    static char *values[64];
    size_t count, found = 0;
    const struct aw_config *rows = aw_config_rows(&count);
    cr_assert_leq(count, 64u);
    for (size_t i = 0; i < 64; i++) {
        free(values[i]);
        values[i] = NULL;
    }
    cr_assert(aw_config_parse("FILE", text, values, problems));
    for (size_t i = 0; i < count; i++)
        found = !strcmp(rows[i].key, key) ? i : found;
    return values[found];
}

Test(config, lines)
{
    struct aw_buf problems = { 0 };
    cr_assert_str_eq(configured("device", "# device = hip\n\n device =\thost \r\nquiet=1", &problems), "host");
    cr_assert_str_eq(configured("quiet", "# device = hip\n\n device =\thost \r\nquiet=1", &problems), "1");
    cr_assert_str_eq(configured("cache-dir", "cache-dir = /a b/c=d\n", &problems), "/a b/c=d");
    cr_assert_str_eq(configured("cc", "cc = 8.6\ncc = 9.0\n", &problems), "9.0"); /* the last one */
    cr_assert_str_eq(configured("cc", "cc =", &problems), "");
    cr_assert_null(configured("cc", "", &problems));
    cr_assert_eq(problems.len, 0u);
    cr_assert_str_eq(configured("cc", "frob = 1\nhost\ncc = 7.5\n= 3\n", &problems), "7.5");
    cr_assert_str_eq(problems.ptr, "FILE:1: there is no setting 'frob'; `anywarp config` lists them\n"
                                   "FILE:2: not `key = value`: host\n"
                                   "FILE:4: there is no setting ''; `anywarp config` lists them\n");
    aw_buf_fini(&problems);
}

Test(config, rows)
{
    size_t count;
    const struct aw_config *rows = aw_config_rows(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            cr_assert(strcmp(rows[i].key, rows[k].key) && strcmp(rows[i].variable, rows[k].variable), "%s twice", rows[i].key);
}
