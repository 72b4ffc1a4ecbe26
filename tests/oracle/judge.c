/* Whether a result is what the reference says: to the bit, or within the row's bound. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- References by name; a row may name one that is not written yet, which the tables' test tells */
#define ORACLE_LANE(name) __attribute__((weak)) oracle_lane_reference oracle_ref_##name;
#define ORACLE_WARP(name) __attribute__((weak)) oracle_warp_reference oracle_ref_##name;
#include "tab/refs.inc"
#undef ORACLE_LANE
#undef ORACLE_WARP

static const struct {
    const char *name;
    oracle_lane_reference *lane;
    oracle_warp_reference *warp;
} references[] = {
#define ORACLE_LANE(name) { #name, oracle_ref_##name, NULL },
#define ORACLE_WARP(name) { #name, NULL, oracle_ref_##name },
#include "tab/refs.inc"
#undef ORACLE_LANE
#undef ORACLE_WARP
};

bool oracle_reference(const char *name, oracle_lane_reference **ret_lane, oracle_warp_reference **ret_warp)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        if (!strcmp(references[i].name, name)) {
            *ret_lane = references[i].lane;
            *ret_warp = references[i].warp;
            return *ret_lane || *ret_warp;
        }
    }
    return false;
}

/* ---- Bounds */
struct oracle_bound oracle_bound_from(const char *ulp)
{
    char *end;
    double n = strtod(ulp, &end);

    if (!strncmp(ulp, "2^-", 3))
        return (struct oracle_bound){ .relative = exp2(-strtod(ulp + 3, NULL)) };
    if (!strcmp(end, "ulp"))
        return (struct oracle_bound){ .ulps = n };
    return (struct oracle_bound){ 0 }; /* "0", and "doc": the reference says in abs_error */
}

static uint64_t bits_at(const union oracle_value *v, unsigned at, unsigned width)
{
    uint64_t r = v->u64[at / 64] >> at % 64;
    if (at % 64 + width > 64)
        r |= v->u64[at / 64 + 1] << (64 - at % 64);
    return width < 64 ? r & ((1ull << width) - 1) : r;
}

/* Position on a line of all floats of a width: the distance of neighbours is 1. */
static int64_t ordered(uint64_t bits, unsigned width)
{
    uint64_t sign = 1ull << (width - 1);
    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static bool same_float(enum ptx_type element, const struct oracle_lane *lane, struct oracle_bound bound, uint64_t want,
                       uint64_t got)
{
    double w, g, next;
    unsigned width = ptx_type_bits(element);

    if (want == got)
        return true;
    if (lane->may_vanish && width == 32 && (want & INT32_MAX) == 0x00800000 && got == (want & 0x80000000))
        return true;
    if (oracle_is_nan(element, want) || oracle_is_nan(element, got))
        return lane->any_nan && oracle_is_nan(element, want) && oracle_is_nan(element, got);
    if (!oracle_to_double(element, want, &w) || !oracle_to_double(element, got, &g))
        return false;
    if (bound.ulps > 0 && (double)llabs(ordered(want, width) - ordered(got, width)) <= bound.ulps)
        return true;
    double allowed = lane->abs_error;
    if (bound.relative > 0 && isfinite(w)) {
        oracle_to_double(element, want + 1, &next); /* the reference itself is rounded: half a unit */
        double step = isfinite(next) ? fabs(next - w) / 2 : 0, relative = bound.relative * fabs(w) + step;
        allowed = allowed > relative ? allowed : relative;
    }
    return allowed > 0 && fabs(w - g) <= allowed;
}

bool oracle_same(enum ptx_type type, unsigned n_items, const struct oracle_lane *lane, struct oracle_bound bound,
                 const union oracle_value *want, const union oracle_value *got)
{
    enum ptx_type element;
    unsigned n = oracle_elements(type, &element) * n_items, width = ptx_type_bits(element);

    for (unsigned i = 0; i < n && (i + 1) * width <= 512; i++)
        if (!same_float(element, lane, bound, bits_at(want, i * width, width), bits_at(got, i * width, width)))
            return false;
    return true;
}
