/* Hash tables with linear probing, load at most one half, and backward-shift deletion (no tombstones). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"

static uint64_t key_hash(struct aw_str key)
{
    uint64_t h = aw_hash64(key.ptr, key.len);

    return h ? h : 1; /* 0 marks an empty slot */
}

void aw_map_fini(struct aw_map *map)
{
    free(map->slots);
    *map = (struct aw_map){ 0 };
}

static struct aw_map_slot *map_slot(const struct aw_map *map, uint64_t hash, struct aw_str key)
{
    for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        struct aw_map_slot *s = &map->slots[i];
        if (!s->hash || (s->hash == hash && aw_str_eq(s->key, key)))
            return s;
    }
}

static bool map_grow(struct aw_map *map)
{
    struct aw_map grown = { .cap = map->cap ? map->cap * 2 : 16, .n = map->n };

    grown.slots = calloc(grown.cap, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->cap; i++)
        if (map->slots[i].hash)
            *map_slot(&grown, map->slots[i].hash, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = grown;
    return true;
}

bool aw_map_put(struct aw_map *map, struct aw_str key, void *value)
{
    if ((map->n + 1) * 2 > map->cap && !map_grow(map))
        return false;
    uint64_t hash = key_hash(key);
    struct aw_map_slot *s = map_slot(map, hash, key);
    if (!s->hash) {
        map->n++;
        s->key = key;
    }
    s->hash = hash;
    s->value = value;
    return true;
}

void *aw_map_find(const struct aw_map *map, struct aw_str key)
{
    return map->cap ? map_slot(map, key_hash(key), key)->value : NULL;
}

void *aw_map_remove(struct aw_map *map, struct aw_str key)
{
    if (!map->cap)
        return NULL;
    struct aw_map_slot *s = map_slot(map, key_hash(key), key);
    if (!s->hash)
        return NULL;
    void *value = s->value;
    size_t hole = (size_t)(s - map->slots), mask = map->cap - 1;
    for (size_t i = (hole + 1) & mask; map->slots[i].hash; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) { /* its probe path crosses the hole */
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct aw_map_slot){ 0 };
    map->n--;
    return value;
}

static size_t ptr_home(const void *key, size_t cap)
{
    return (size_t)(((uintptr_t)key * 0x9e3779b97f4a7c15u) >> 20) & (cap - 1);
}

void aw_ptrmap_fini(struct aw_ptrmap *map)
{
    free(map->slots);
    *map = (struct aw_ptrmap){ 0 };
}

static struct aw_ptrmap_slot *ptr_slot(const struct aw_ptrmap *map, const void *key)
{
    size_t i = ptr_home(key, map->cap);

    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & (map->cap - 1);
    return &map->slots[i];
}

static bool ptrmap_grow(struct aw_ptrmap *map)
{
    struct aw_ptrmap grown = { .cap = map->cap ? map->cap * 2 : 16, .n = map->n };

    grown.slots = calloc(grown.cap, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->cap; i++)
        if (map->slots[i].key)
            *ptr_slot(&grown, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = grown;
    return true;
}

bool aw_ptrmap_put(struct aw_ptrmap *map, const void *key, void *value)
{
    if ((map->n + 1) * 2 > map->cap && !ptrmap_grow(map))
        return false;
    struct aw_ptrmap_slot *s = ptr_slot(map, key);
    map->n += !s->key;
    *s = (struct aw_ptrmap_slot){ key, value };
    return true;
}

void *aw_ptrmap_find(const struct aw_ptrmap *map, const void *key)
{
    return map->cap ? ptr_slot(map, key)->value : NULL;
}

void *aw_ptrmap_remove(struct aw_ptrmap *map, const void *key)
{
    if (!map->cap)
        return NULL;
    struct aw_ptrmap_slot *s = ptr_slot(map, key);
    if (!s->key)
        return NULL;
    void *value = s->value;
    size_t hole = (size_t)(s - map->slots), mask = map->cap - 1;
    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = ptr_home(map->slots[i].key, map->cap);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct aw_ptrmap_slot){ 0 };
    map->n--;
    return value;
}
