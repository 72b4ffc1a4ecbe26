/* What a device left in the lanes that ran, instance by instance, in a file: recorded on one device (a real card), compared on
 * another.  It finds what references cannot: results that the manual leaves open, NaNs of any kind, and approximations.
 *
 * The file is a sequence of records: key (u64, of the combination's name, the variant and the seed), bytes (u64), and the results
 * of the lanes that ran, thread after thread, operand after operand, each in whole bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct record {
    uint64_t key, bytes;
};
static struct {
    uint8_t *all;
    const struct record **sorted;
    size_t n;
} recorded;

static int by_key(const void *a, const void *b)
{
    const struct record *const *x = a, *const *y = b;
    return ((*x)->key > (*y)->key) - ((*x)->key < (*y)->key);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *all = NULL;
    long size;
    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0) {
        rewind(f);
        all = malloc((size_t)size + 1);
        *ret_size = all ? fread(all, 1, (size_t)size, f) : 0;
    }
    fclose(f);
    return all;
}

/* The next record at *at, or NULL at the end of the file or where it is damaged. */
static const struct record *next(size_t size, size_t *at)
{
    const struct record *r = (const void *)(recorded.all + *at);
    if (size - *at < sizeof *r || r->bytes > size - *at - sizeof *r || r->bytes % 8)
        return NULL;
    *at += sizeof *r + r->bytes;
    return r;
}

bool oracle_answers_open(const char *path)
{
    size_t size = 0, at = 0, n = 0;

    recorded.all = read_file(path, &size);
    if (!recorded.all)
        return false;
    while (next(size, &at))
        n++;
    recorded.sorted = malloc((n + 1) * sizeof *recorded.sorted);
    for (at = 0; recorded.sorted && recorded.n < n;)
        recorded.sorted[recorded.n++] = next(size, &at);
    if (recorded.sorted)
        qsort(recorded.sorted, n, sizeof *recorded.sorted, by_key);
    return recorded.sorted && n;
}

const uint8_t *oracle_answers_of(uint64_t key, size_t *ret_bytes)
{
    struct record wanted = { .key = key };
    const struct record *p = &wanted, **found = NULL;

    if (recorded.n)
        found = bsearch(&p, recorded.sorted, recorded.n, sizeof *recorded.sorted, by_key);
    *ret_bytes = found ? (*found)->bytes : 0;
    return found ? (const uint8_t *)(*found + 1) : NULL;
}

bool oracle_answers_write(const char *path, uint64_t key, const void *bytes, size_t n)
{
    struct record head = { key, (n + 7) / 8 * 8 };
    size_t size = sizeof head + head.bytes;
    uint8_t *all = calloc(1, size);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool ok = all && fd >= 0;

    if (ok) { /* in one piece: workers write side by side */
        memcpy(all, &head, sizeof head);
        memcpy(all + sizeof head, bytes, n);
        ok = write(fd, all, size) == (ssize_t)size;
    }
    if (!ok)
        printf("oracle: %s cannot be written\n", path);
    if (fd >= 0)
        close(fd);
    free(all);
    return ok;
}
