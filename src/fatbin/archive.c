/* Static libraries: the members of an ar archive, as the System V and GNU forms have it.  What is in them is elf.c's affair. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/fatbin.h>

#include <ar.h>
#include <string.h>

/* What the walk has of the archive. */
struct walk {
    const char *bytes, *long_names;
    size_t size, long_size;
};

/* A field of decimal digits, padded with spaces; false when it holds anything else. */
static bool number(const char *field, size_t size, size_t *ret)
{
    size_t n = 0, i = 0;
    while (i < size && field[i] >= '0' && field[i] <= '9')
        n = n * 10 + (size_t)(field[i++] - '0');
    bool any = i > 0;
    while (i < size && field[i] == ' ')
        i++;
    *ret = n;
    return any && i == size;
}

/* "name/", "/123" for a name that ends with "/\n" at byte 123 of the table of long names, or the name padded. */
static void member_name(const struct walk *walk, const char *field, size_t size, char *ret_name, size_t room)
{
    const char *at = field;
    size_t offset, len = 0, most = size;
    if (at[0] == '/' && number(at + 1, size - 1, &offset) && offset < walk->long_size) {
        at = walk->long_names + offset;
        most = walk->long_size - offset;
    }
    while (len < most && at[len] != '/' && at[len] != '\n' && at[len])
        len++;
    while (len > 0 && at[len - 1] == ' ')
        len--;
    len = len < room - 1 ? len : room - 1;
    memcpy(ret_name, at, len);
    ret_name[len] = 0;
}

int aw_fatbin_each_in_archive(const void *bytes, size_t size,
                              bool (*each)(void *user, const char *name, const void *member, size_t size), void *user)
{
    struct walk walk = { .bytes = bytes, .size = size };
    if (size < SARMAG || memcmp(bytes, ARMAG, SARMAG) != 0)
        return AW_FATBIN_BAD_MAGIC;
    for (size_t at = SARMAG; at < size;) {
        struct ar_hdr head;
        char name[256];
        size_t length;
        if (size - at < sizeof head)
            return size - at == 1 ? AW_FATBIN_OK : AW_FATBIN_TRUNCATED; /* a last pad byte */
        memcpy(&head, walk.bytes + at, sizeof head);
        at += sizeof head;
        if (memcmp(head.ar_fmag, ARFMAG, sizeof head.ar_fmag) != 0 || !number(head.ar_size, sizeof head.ar_size, &length))
            return AW_FATBIN_CORRUPT;
        if (length > size - at)
            return AW_FATBIN_TRUNCATED;
        const char *member = walk.bytes + at;
        if (memcmp(head.ar_name, "// ", 3) == 0) {
            walk.long_names = member;
            walk.long_size = length;
        } else if (memcmp(head.ar_name, "/ ", 2) != 0 && memcmp(head.ar_name, "/SYM64/", 7) != 0) {
            member_name(&walk, head.ar_name, sizeof head.ar_name, name, sizeof name);
            if (!each(user, name, member, length))
                return AW_FATBIN_OK;
        }
        at += length + (length & 1);
    }
    return AW_FATBIN_OK;
}
