/* Runs a fuzz target without libFuzzer: mutates its seeds for a while, or feeds it the files named.
 *
 *   x_fuzz [-t seconds] [-s seed] [-o file]     mutate; `file` always holds the input under way, for when it crashes
 *   x_fuzz -n runs [-s seed] [-o file]          the same for so many inputs, with a line every 100,000
 *   x_fuzz -w folder                            write the seeds there, for libFuzzer to begin with
 *   x_fuzz FILE...                              feed these, and the files of folders among them
 *
 * It is no replacement for coverage-guided fuzzing; it is what runs everywhere, in a sanitizer build, with every test
 * run.  With libFuzzer the targets are linked without this file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define LARGEST ((size_t)1 << 20)

/* Only where the target has one. */
#pragma weak LLVMFuzzerCustomMutator
#pragma weak LLVMFuzzerCustomCrossOver

static uint64_t state;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Numbers that lengths and offsets go wrong at. */
static uint64_t telling_number(void)
{
    static const uint64_t numbers[] = { 0,      1,          7,          8,          0x7f,        0x80,       0xff,       0x100,
                                        0x7fff, 0xffff,     0x10000,    0x7fffffff, 0x80000000,  0xffffffff, 0x100000000,
                                        1ull << 62, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 63 };
    return numbers[rnd() % (sizeof numbers / sizeof *numbers)] + (rnd() % 4 == 0 ? rnd() % 64 : 0);
}

static size_t mutate_once(char *bytes, size_t len)
{
    size_t at = len ? rnd() % len : 0, n;
    uint64_t number = telling_number();
    switch (rnd() % 8) {
    case 0: /* a bit */
        if (len)
            bytes[at] ^= (char)(1u << rnd() % 8);
        return len;
    case 1: /* a byte */
        if (len)
            bytes[at] = (char)rnd();
        return len;
    case 2: /* a number, where numbers stand */
    case 3:
        n = (size_t)1 << rnd() % 4;
        at &= ~(n - 1);
        if (at + n <= len)
            memcpy(bytes + at, &number, n);
        return len;
    case 4: /* cut */
        return at;
    case 5: /* take out */
        n = len ? rnd() % (len - at) : 0;
        memmove(bytes + at, bytes + at + n, len - at - n);
        return len - n;
    case 6: /* repeat */
        n = len ? rnd() % (len - at) : 0;
        if (len + n > LARGEST)
            return len;
        memmove(bytes + at + n, bytes + at, len - at);
        return len + n;
    default: /* copy from elsewhere */
        n = len ? rnd() % (len - at) % 64 : 0;
        if (n)
            memmove(bytes + at, bytes + rnd() % (len - n + 1), n);
        return len;
    }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    if (2 * size > max) /* what mutate_once may make of it */
        return size;
    return mutate_once((char *)data, size);
}

/* ---- Text: words and lines change places, so that what comes out often still parses. */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '$' || c == '.';
}

/* A run of characters around a random place: a line with its end, else a word; with `dotted`, one .part of a word. */
static void pick(const char *bytes, size_t len, bool line, bool dotted, size_t *ret_at, size_t *ret_n)
{
    size_t at = rnd() % len, end = at;
    if (line) {
        while (at > 0 && bytes[at - 1] != '\n')
            at--;
        while (end < len && bytes[end++] != '\n')
            ;
    } else {
        while (at > 0 && is_word(bytes[at - 1]) && !(dotted && bytes[at] == '.'))
            at--;
        while (end < len && is_word(bytes[end]) && !(dotted && end > at && bytes[end] == '.'))
            end++;
    }
    *ret_at = at;
    *ret_n = end - at;
}

/* Puts a copy of one run in the place of another one of its kind, or before it. */
static size_t mutate_text(char *bytes, size_t len)
{
    char copy[256];
    size_t from, n, to, old;
    bool line = rnd() % 3 == 0, dotted = rnd() % 2, insert = line && rnd() % 2;
    if (!len)
        return len;
    pick(bytes, len, line, dotted, &from, &n);
    if (n > sizeof copy)
        return len;
    memcpy(copy, bytes + from, n);
    for (int tries = 0;; tries++) { /* a register for a register, an opcode for an opcode */
        pick(bytes, len, line, dotted, &to, &old);
        if (line || tries == 16 || (n && old && bytes[to] == copy[0]))
            break;
    }
    if (!line && n && isdigit((unsigned char)copy[0]) && rnd() % 4 == 0)
        n = (size_t)snprintf(copy, sizeof copy, "%lld", (long long)telling_number());
    if (insert)
        old = 0;
    if (len - old + n > LARGEST)
        return len;
    memmove(bytes + to + n, bytes + to + old, len - to - old);
    memcpy(bytes + to, copy, n);
    return len - old + n;
}

static bool is_text(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!bytes[i] || bytes[i] & 0x80)
            return false;
    return len > 0;
}

static void keep(const char *path, const char *bytes, size_t len)
{
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        (void)!write(fd, bytes, len);
        close(fd);
    }
}

/* In a block of its exact size, so that a sanitizer sees the first byte too far. */
static void feed(const char *bytes, size_t len)
{
    char *exact = malloc(len ? len : 1);
    if (!exact)
        abort();
    memcpy(exact, bytes, len);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, len);
    free(exact);
}

static int feed_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(LARGEST);
    if (!f || !bytes) {
        perror(path);
        free(bytes);
        return 1;
    }
    size_t len = fread(bytes, 1, LARGEST, f);
    bool bad = ferror(f);
    fclose(f);
    if (!bad)
        feed(bytes, len);
    free(bytes);
    return bad;
}

/* Returns how many were fed, negative when one could not be. */
static long feed_path(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return feed_file(path) ? -1 : 1;
    long n = 0;
    for (const struct dirent *e; n >= 0 && (e = readdir(dir));) {
        char inner[PATH_MAX];
        if (e->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        n = feed_file(inner) ? -1 : n + 1;
    }
    closedir(dir);
    return n;
}

static int feed_all(int n, char **paths)
{
    long fed = 0;
    for (int i = 0; i < n; i++) {
        long more = feed_path(paths[i]);
        if (more <= 0) {
            fprintf(stderr, "%s: nothing to feed\n", paths[i]);
            return 1;
        }
        fed += more;
    }
    printf("%ld inputs\n", fed);
    return 0;
}

/* As libFuzzer does: what was crossed lends its lines to the changes that follow. */
static size_t mutate_grammar(char *bytes, size_t len, const struct aw_fuzz_seed *other)
{
    if (LLVMFuzzerCustomCrossOver && rnd() % 4 == 0) {
        char *copy = malloc(len);
        if (!copy)
            abort();
        memcpy(copy, bytes, len);
        len = LLVMFuzzerCustomCrossOver((const uint8_t *)copy, len, (const uint8_t *)other->bytes, other->len, (uint8_t *)bytes,
                                        LARGEST, (unsigned)rnd());
        free(copy);
    }
    return LLVMFuzzerCustomMutator((uint8_t *)bytes, len, LARGEST, (unsigned)rnd());
}

static int write_seeds(const char *dir)
{
    struct aw_fuzz_seed seeds[32];
    unsigned n = aw_fuzz_seeds(seeds, 32);
    for (unsigned i = 0; i < n; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/seed%u", dir, i);
        keep(path, seeds[i].bytes, seeds[i].len);
        free(seeds[i].bytes);
    }
    printf("%u seeds\n", n);
    return n == 0;
}

/* `most` inputs; 0: as many as there is time for. */
static int run(unsigned seconds, unsigned long most, uint64_t seed, const char *keep_path)
{
    struct aw_fuzz_seed seeds[32];
    unsigned n = aw_fuzz_seeds(seeds, 32);
    char *bytes = malloc(LARGEST + 16);
    if (!bytes || n == 0)
        return 1;
    state = seed ? seed : 1;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    unsigned long runs = 0;
    for (time_t begin = time(NULL); most ? runs < most : time(NULL) < begin + (time_t)seconds;)
        for (int i = 0; i < 64; i++, runs++) {
            if (most && runs && runs % 100000 == 0) {
                printf("%lu runs, %ld s\n", runs, (long)(time(NULL) - begin));
                fflush(stdout);
            }
            const struct aw_fuzz_seed *s = &seeds[rnd() % n];
            size_t len = s->len < LARGEST ? s->len : LARGEST;
            memcpy(bytes, s->bytes, len);
            bool whole = is_text(bytes, len), text = whole && rnd() % 8 != 0;
            for (uint64_t k = runs < n ? 0 : 1 + rnd() % 6; k > 0; k--)
                if ((text || !whole) && len && LLVMFuzzerCustomMutator && rnd() % 4)
                    len = mutate_grammar(bytes, len, &seeds[rnd() % n]);
                else
                    len = text ? mutate_text(bytes, len) : mutate_once(bytes, len);
            keep(keep_path, bytes, len);
            feed(bytes, len);
        }
    printf("%lu runs\n", runs);
    free(bytes);
    for (unsigned i = 0; i < n; i++)
        free(seeds[i].bytes);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned seconds = 2;
    uint64_t seed = (uint64_t)time(NULL) * 2654435761u + (uint64_t)getpid();
    unsigned long most = 0;
    const char *keep_path = NULL;
    for (int c; (c = getopt(argc, argv, "t:n:s:o:w:")) != -1;) {
        if (c == 't')
            seconds = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'n')
            most = strtoul(optarg, NULL, 10);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (c == 'o')
            keep_path = optarg;
        else if (c == 'w')
            return write_seeds(optarg);
        else
            return 2;
    }
    return optind < argc ? feed_all(argc - optind, argv + optind) : run(seconds, most, seed, keep_path);
}
