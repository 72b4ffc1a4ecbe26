/* See demangle.h: the C++ runtime's own __cxa_demangle (Itanium C++ ABI, 3.3.5), which is looked for when a name is first met. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

typedef char *demangle_fn(const char *name, char *buffer, size_t *size, int *status);

static demangle_fn *demangle;

static void demangle_find(void)
{
    /* A program in C++ has it already. */
    void *found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    void *runtime = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (runtime)
        found = dlsym(runtime, "__cxa_demangle");
    memcpy(&demangle, &found, sizeof demangle);
}

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";

/* The next mangled name at or behind `text`, a word by itself; NULL: none. */
static const char *next_name(const char *text, size_t *ret_len)
{
    for (const char *p = text; *p; p += *ret_len) {
        p += strcspn(p, name_letters);
        *ret_len = strspn(p, name_letters);
        if (*ret_len > 2 && p[0] == '_' && p[1] == 'Z') {
            while (p[*ret_len - 1] == '.') /* the sentence's end */
                --*ret_len;
            return p;
        }
    }
    return NULL;
}

static void add_name(struct aw_buf *line, const char *name, size_t len)
{
    int status = 0;
    char *mangled = strndup(name, len), *plain = mangled ? demangle(mangled, NULL, NULL, &status) : NULL;
    if (plain)
        aw_buf_printf(line, "%s", plain);
    else
        aw_buf_add(line, name, len);
    free(plain);
    free(mangled);
}

char *aw_demangle_text(const char *text)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t len;
    const char *name = next_name(text, &len);
    if (!name)
        return NULL;
    pthread_once(&once, demangle_find);
    if (!demangle)
        return NULL;
    struct aw_buf line = { 0 };
    for (; name; name = next_name(text, &len)) {
        aw_buf_add(&line, text, (size_t)(name - text));
        add_name(&line, name, len);
        text = name + len;
    }
    aw_buf_printf(&line, "%s", text);
    if (line.failed)
        aw_buf_fini(&line);
    return line.ptr;
}
