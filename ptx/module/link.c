/* Several texts into one module: everything moves into the first; symbols.c then settles the names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"

static uint32_t highest_file(const struct ptx_module *m)
{
    uint32_t highest = 0;

    for (const struct ptx_file *f = m->files; f; f = f->next)
        if (f->index > highest)
            highest = f->index;
    return highest;
}

/* Places refer to .file numbers of their own text and to labels in its debug sections.  The numbers move up by `base`; the
 * sections and what refers into them go, for no tool could bind them to one module any more. */
static void move_places(struct ptx_module *m, uint32_t base)
{
    for (struct ptx_file *f = m->files; f; f = f->next)
        f->index += base;
    for (struct ptx_func *func = m->funcs; func; func = func->next) {
        for (struct ptx_stmt *s = func->body; s; s = s->next) {
            if (s->kind == PTX_STMT_LOC) {
                s->file += base;
                s->text = (struct aw_str){ 0 };
            }
        }
    }
    m->sections = NULL;
}

static void append_items(struct ptx_module *to, const struct ptx_item *from, uint32_t n, struct ptx_item *items)
{
    for (uint32_t i = 0; i < n; i++)
        if (from[i].kind != PTX_ITEM_SECTION)
            items[to->n_items++] = from[i];
}

static void merge_header(struct ptx_module *to, const struct ptx_module *from)
{
    if (from->major > to->major || (from->major == to->major && from->minor > to->minor)) {
        to->major = from->major;
        to->minor = from->minor;
    }
    if (from->sm > to->sm) {
        to->sm = from->sm;
        to->sm_suffix = from->sm_suffix;
        to->targets = from->targets;
    }
    to->debug |= from->debug;
}

/* Without "debug": ptxas wants debug sections where it stands.  The flag itself stays. */
static bool rewrite_targets(struct ptx_module *m)
{
    char suffix[2] = { m->sm_suffix, 0 };

    m->targets = aw_arena_printf(&m->arena, "sm_%u%s%s", m->sm, suffix, m->texmode_unified ? "" : ", texmode_independent");
    return m->targets.ptr != NULL;
}

static void destroy_all(struct ptx_module *modules[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        ptx_module_destroy(modules[i]);
}

enum aw_status ptx_link(struct ptx_module *modules[], size_t n, struct ptx_diags *diags, struct ptx_module **ret_module)
{
    struct ptx_module *m = n ? modules[0] : NULL;
    size_t room = 0;
    uint32_t base = 0;

    *ret_module = NULL;
    if (!m)
        return AW_ERR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        room += modules[i]->n_items;
        if (modules[i]->address_size == m->address_size)
            continue;
        ptx_error(diags, modules[i]->name, (struct ptx_loc){ 0 }, "address size %u, but %u in %.*s", modules[i]->address_size,
                  m->address_size, AW_STR_ARG(m->name));
        destroy_all(modules, n);
        return AW_ERR_INVALID_PTX;
    }
    if (n > 1) {
        struct ptx_item *items = room < UINT32_MAX ? AW_NEW_ARRAY(&m->arena, struct ptx_item, room + 1) : NULL;
        if (!items) {
            destroy_all(modules, n);
            return AW_ERR_OUT_OF_MEMORY;
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t next = base + highest_file(modules[i]);
            move_places(modules[i], base);
            base = next;
        }
        uint32_t own = m->n_items;
        m->n_items = 0;
        append_items(m, m->items, own, items);
        struct ptx_module *last = m;
        for (size_t i = 1; i < n; i++) {
            append_items(m, modules[i]->items, modules[i]->n_items, items);
            merge_header(m, modules[i]);
            last->absorbed = modules[i];
            last = modules[i];
        }
        m->items = items;
        if (!rewrite_targets(m)) {
            ptx_module_destroy(m); /* with all it has absorbed */
            return AW_ERR_OUT_OF_MEMORY;
        }
    }
    *ret_module = m;
    return AW_OK;
}
