/* The registry.  Entries live in blocks of their fat binary; a table by host address is filled with them when something is
 * looked for.
 *
 * The table is read without a lock.  Slots are only ever filled; a forgotten key keeps its slot with no entry. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/registry.h"

#include <stdlib.h>

#include "base/log.h"

#define AW_ROOM "core"

enum { BLOCK_ENTRIES = 128, TABLE_MIN = 1024 };

struct reg {
    const void *host;
    const char *name;
    struct aw_registered_fatbin *fatbin;
    struct reg *pending;       /* next not in the table yet */
    struct reg *same;          /* another registration of the same host address */
    struct aw_kernel *kernel;  /* of a function, atomic, made at first need */
    size_t size;               /* of a variable, bytes */
    int kind;                  /* of a variable: enum aw_registered_var_kind; of a function -1 */
};

struct block {
    struct block *next;
    int n;
    struct reg at[BLOCK_ENTRIES];
};

struct aw_registered_fatbin {
    struct aw_handle handle;
    const void *wrapper;
    struct aw_library *library; /* atomic, made at first need */
    struct block *blocks;
    bool has_managed;
};

struct slot {
    const void *key; /* atomic; NULL ends a probe */
    struct reg *reg; /* atomic; NULL: forgotten */
};

struct table {
    size_t cap, n; /* a power of two; slots in use */
    struct table *retired;
    struct slot slots[];
};

static struct aw_slab fatbin_slab = AW_SLAB_INIT("fat binary", struct aw_registered_fatbin);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *table; /* atomic */
static struct reg *pending_first, **pending_last = &pending_first; /* under the lock, with their number */
static size_t n_pending;

/* ---- The table. */

static size_t host_hash(const void *host)
{
    uint64_t x = (uintptr_t)host;
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    return (size_t)(x ^ x >> 29);
}

static struct slot *table_probe(struct table *t, const void *host)
{
    for (size_t i = host_hash(host);; i++) {
        struct slot *slot = &t->slots[i & (t->cap - 1)];
        const void *key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
        if (key == host || !key)
            return slot;
    }
}

static struct reg *table_find(const void *host)
{
    struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    if (!t || !host)
        return NULL;
    struct slot *slot = table_probe(t, host);
    return slot->key ? __atomic_load_n(&slot->reg, __ATOMIC_ACQUIRE) : NULL;
}

/* The lock is held. */
static void table_insert(struct table *t, const void *host, struct reg *reg)
{
    struct slot *slot = table_probe(t, host);
    struct reg *old = slot->key ? slot->reg : NULL;
    if (old) {
        /* The same weak symbol in two images, or in hundreds: the first registration stays in charge.  The others stand with
         * the youngest in front, as they mostly go in that order, too. */
        reg->same = old->same;
        old->same = reg;
        return;
    }
    __atomic_store_n(&slot->reg, reg, __ATOMIC_RELEASE);
    if (!slot->key) {
        t->n++;
        __atomic_store_n(&slot->key, host, __ATOMIC_RELEASE);
    }
}

/* Room for `more` keys; false when memory is out.  The lock is held. */
static bool table_reserve(size_t more)
{
    struct table *old = table;
    size_t live = old ? old->n : 0, cap = old ? old->cap : TABLE_MIN;
    if (old && (live + more) * 2 <= cap)
        return true;
    while ((live + more) * 2 > cap)
        cap *= 2;
    struct table *t = calloc(1, sizeof *t + cap * sizeof *t->slots);
    if (!t)
        return false;
    t->cap = cap;
    t->retired = old; /* a reader may still be in it; sizes double, so all retired ones are less than this one */
    for (size_t i = 0; old && i < old->cap; i++)
        if (old->slots[i].key && old->slots[i].reg)
            table_insert(t, old->slots[i].key, old->slots[i].reg);
    __atomic_store_n(&table, t, __ATOMIC_RELEASE);
    return true;
}

/* The lock is held. */
static void table_flush(void)
{
    if (!n_pending)
        return;
    if (!table_reserve(n_pending)) {
        aw_say(REGISTER_MEMORY, n_pending);
        return;
    }
    for (struct reg *next, *reg = pending_first; reg; reg = next) {
        next = reg->pending;
        if (next)
            __builtin_prefetch(next->pending);
        table_insert(table, reg->host, reg);
    }
    pending_first = NULL;
    pending_last = &pending_first;
    n_pending = 0;
}

static struct reg *reg_find(const void *host)
{
    struct reg *reg = table_find(host);
    if (reg || !host)
        return reg;
    pthread_mutex_lock(&lock);
    table_flush();
    pthread_mutex_unlock(&lock);
    return table_find(host);
}

/* Takes one registration out of the chain of its address.  The lock is held. */
static void table_forget(struct reg *reg)
{
    struct slot *slot = table ? table_probe(table, reg->host) : NULL;
    if (!slot || !slot->key || !slot->reg)
        return;
    if (slot->reg == reg) {
        __atomic_store_n(&slot->reg, reg->same, __ATOMIC_RELEASE);
        return;
    }
    for (struct reg *at = slot->reg; at; at = at->same) {
        if (at->same == reg) {
            at->same = reg->same;
            return;
        }
    }
}

/* ---- Registering. */

struct aw_registered_fatbin *aw_registry_fatbin(const void *wrapper)
{
    struct aw_registered_fatbin *fatbin = aw_slab_take(&fatbin_slab);
    if (!fatbin)
        return NULL;
    fatbin->wrapper = wrapper;
    aw_slab_publish(&fatbin_slab, fatbin);
    return fatbin;
}

void aw_registry_fatbin_end(struct aw_registered_fatbin *fatbin)
{
    (void)fatbin; /* nothing waits for it: what was registered is taken up when it is first needed */
}

static void reg_add(struct aw_registered_fatbin *fatbin, const struct reg *reg)
{
    if (!aw_slab_valid(&fatbin_slab, fatbin) || !reg->host || !reg->name) {
        aw_say(REGISTER_UNKNOWN, reg->name ?: "a symbol without name");
        return;
    }
    pthread_mutex_lock(&lock);
    struct block *block = fatbin->blocks;
    if (!block || block->n == BLOCK_ENTRIES) {
        block = malloc(sizeof *block);
        if (!block) {
            pthread_mutex_unlock(&lock);
            aw_say(REGISTER_ONE, reg->name);
            return;
        }
        block->n = 0;
        block->next = fatbin->blocks;
        fatbin->blocks = block;
    }
    struct reg *own = &block->at[block->n++];
    *own = *reg;
    own->fatbin = fatbin;
    *pending_last = own;
    pending_last = &own->pending;
    n_pending++;
    pthread_mutex_unlock(&lock);
}

void aw_registry_function(struct aw_registered_fatbin *fatbin, const void *host, const char *name)
{
    reg_add(fatbin, &(struct reg){ .host = host, .name = name, .kind = -1 });
}

void aw_registry_var(struct aw_registered_fatbin *fatbin, const void *host, const char *name, size_t size,
                     enum aw_registered_var_kind kind)
{
    reg_add(fatbin, &(struct reg){ .host = host, .name = name, .size = size, .kind = (int)kind });
    if (kind == AW_REGISTERED_MANAGED && aw_slab_valid(&fatbin_slab, fatbin))
        fatbin->has_managed = true;
}

/* What a kernel has still to do when its program ends without waiting for it: CUDA does not wait either. */
#define EXIT_GRACE_NS UINT64_C(200000000)

void aw_registry_unregister(struct aw_registered_fatbin *fatbin)
{
    if (aw_core_forked() || !aw_slab_valid(&fatbin_slab, fatbin) || !aw_slab_kill(&fatbin_slab, fatbin))
        return;
    pthread_mutex_lock(&lock);
    table_flush(); /* so that no entry is pending any more */
    struct block *blocks = fatbin->blocks;
    if (pending_first) {
        pthread_mutex_unlock(&lock);
        return; /* memory ran out: keep the entries rather than leave the list pointing to freed ones */
    }
    for (struct block *block = blocks; block; block = block->next)
        for (int i = 0; i < block->n; i++)
            table_forget(&block->at[i]);
    pthread_mutex_unlock(&lock);
    if (aw_core_exiting())
        aw_devices_stop(EXIT_GRACE_NS);
    if (fatbin->library)
        (void)aw_library_destroy(fatbin->library);
    for (struct block *next; blocks; blocks = next) {
        next = blocks->next;
        free(blocks);
    }
    aw_slab_give(&fatbin_slab, fatbin);
}

/* ---- Using. */

static enum aw_status fatbin_library(struct aw_registered_fatbin *fatbin, struct aw_library **ret_library)
{
    struct aw_library *library = __atomic_load_n(&fatbin->library, __ATOMIC_ACQUIRE);
    enum aw_status status = AW_OK;
    if (!library) {
        struct aw_image *image = NULL;
        pthread_mutex_lock(&lock);
        library = fatbin->library;
        if (!library)
            status = aw_image_create(fatbin->wrapper, AW_IMAGE_BORROWED | AW_IMAGE_FATBIN, NULL, &image);
        if (!library && status == AW_OK)
            status = aw_library_create(image, &library);
        if (status == AW_OK)
            __atomic_store_n(&fatbin->library, library, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
        aw_image_unref(image);
    }
    if (status == AW_OK)
        *ret_library = library;
    return status;
}

enum aw_status aw_registry_kernel(const void *host, struct aw_kernel **ret_kernel)
{
    struct reg *reg = reg_find(host);
    if (!reg || reg->kind >= 0)
        return AW_ERR_INVALID_DEVFUNC;
    struct aw_kernel *kernel = __atomic_load_n(&reg->kernel, __ATOMIC_ACQUIRE);
    if (!kernel) {
        struct aw_library *library;
        enum aw_status status = fatbin_library(reg->fatbin, &library);
        if (status == AW_OK)
            status = aw_library_kernel_lazy(library, reg->name, &kernel);
        if (status)
            return status;
        __atomic_store_n(&kernel->host, host, __ATOMIC_RELAXED);
        __atomic_store_n(&reg->kernel, kernel, __ATOMIC_RELEASE);
    }
    *ret_kernel = kernel;
    return AW_OK;
}

static enum aw_status reg_address(struct reg *reg, struct aw_ctx *ctx, uintptr_t *ret_address, size_t *ret_size)
{
    struct aw_library *library;
    struct aw_module *module;
    enum aw_status status = fatbin_library(reg->fatbin, &library);
    if (status == AW_OK)
        status = aw_library_module(library, ctx, &module);
    if (status == AW_OK)
        status = aw_module_global(module, reg->name, ret_address, ret_size);
    if (status == AW_ERR_NOT_FOUND) {
        aw_say(VARIABLE_MISSING, reg->name);
        return AW_ERR_INVALID_SYMBOL;
    }
    return status;
}

enum aw_status aw_registry_symbol(struct aw_ctx *ctx, const void *host, uintptr_t *ret_address, size_t *ret_size)
{
    struct reg *reg = reg_find(host);
    uintptr_t address;
    size_t size;
    if (!reg || reg->kind < 0 || reg->kind > AW_REGISTERED_MANAGED)
        return AW_ERR_INVALID_SYMBOL;
    enum aw_status status = reg_address(reg, ctx, &address, &size);
    if (status)
        return status;
    if (ret_address)
        *ret_address = address;
    if (ret_size)
        *ret_size = size ?: reg->size;
    return AW_OK;
}

enum aw_status aw_registry_reference(struct aw_ctx *ctx, const void *host, enum aw_registered_var_kind kind, uintptr_t *ret_cell,
                                     bool *ret_normalized)
{
    struct reg *reg = reg_find(host);
    uintptr_t cell;
    if (!reg || reg->kind != (int)kind)
        return AW_ERR_INVALID_SYMBOL;
    enum aw_status status = reg_address(reg, ctx, &cell, NULL);
    if (status)
        return status;
    *ret_cell = cell;
    *ret_normalized = reg->size != 0;
    return AW_OK;
}

enum aw_status aw_registry_init_managed(struct aw_registered_fatbin *fatbin, struct aw_ctx *ctx)
{
    if (!aw_slab_valid(&fatbin_slab, fatbin))
        return AW_ERR_INVALID_VALUE;
    if (!fatbin->has_managed)
        return AW_OK;
    for (struct block *block = fatbin->blocks; block; block = block->next) {
        for (int i = 0; i < block->n; i++) {
            struct reg *reg = &block->at[i];
            uintptr_t address;
            if (reg->kind != AW_REGISTERED_MANAGED)
                continue;
            enum aw_status status = reg_address(reg, ctx, &address, NULL);
            if (status)
                return status;
            __atomic_store_n((void **)(uintptr_t)reg->host, (void *)address, __ATOMIC_RELEASE);
        }
    }
    return AW_OK;
}

struct init_all {
    struct aw_ctx *ctx;
    enum aw_status status;
};

static void init_each(void *object, void *user)
{
    struct init_all *all = user;
    enum aw_status status = aw_registry_init_managed(object, all->ctx);
    if (status && all->status == AW_OK)
        all->status = status;
}

enum aw_status aw_registry_init_all_managed(struct aw_ctx *ctx)
{
    struct init_all all = { ctx, AW_OK };
    aw_slab_each(&fatbin_slab, init_each, &all);
    return all.status;
}

const char *aw_registry_log(const void *host)
{
    struct reg *reg = reg_find(host);
    struct aw_library *library = reg ? __atomic_load_n(&reg->fatbin->library, __ATOMIC_ACQUIRE) : NULL;
    return library ? aw_image_log(aw_library_image(library)) : "";
}
