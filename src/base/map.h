/* Hash tables with open addressing: by pointer, and by string.  Not thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_MAP_H
#define AW_BASE_MAP_H

#include "base/str.h"

struct aw_map_slot {
    uint64_t hash; /* 0 = empty */
    struct aw_str key;
    void *value;
};

/* Zero-initialised is empty.  Keys are borrowed and must outlive the table; values are the user's. */
struct aw_map {
    struct aw_map_slot *slots;
    size_t n, cap;
};

void aw_map_fini(struct aw_map *map);
/* Inserts or replaces; false when memory is out. */
bool aw_map_put(struct aw_map *map, struct aw_str key, void *value);
/* NULL when absent. */
void *aw_map_find(const struct aw_map *map, struct aw_str key);
/* Returns the removed value or NULL. */
void *aw_map_remove(struct aw_map *map, struct aw_str key);

/* Pointer keys: NULL is no key. */
struct aw_ptrmap {
    struct aw_ptrmap_slot {
        const void *key;
        void *value;
    } *slots;
    size_t n, cap;
};

void aw_ptrmap_fini(struct aw_ptrmap *map);
bool aw_ptrmap_put(struct aw_ptrmap *map, const void *key, void *value);
void *aw_ptrmap_find(const struct aw_ptrmap *map, const void *key);
void *aw_ptrmap_remove(struct aw_ptrmap *map, const void *key);

#endif
