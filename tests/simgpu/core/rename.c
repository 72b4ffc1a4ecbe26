/* What gfx11 and later call instructions that were there before, in the words of the rows.  Only names: where operands or results
 * changed as well (ds_cmpstore), there is a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "decode.h"

/* A name in two parts: what stands before and behind. */
struct pair {
    const char *from, *to;
};

static const struct pair whole[] = {
    { "s_and_not1_b32", "s_andn2_b32" }, { "s_and_not1_b64", "s_andn2_b64" }, { "s_or_not1_b32", "s_orn2_b32" },
    { "s_or_not1_b64", "s_orn2_b64" },
    { "s_and_not1_saveexec_b32", "s_andn2_saveexec_b32" }, { "s_and_not1_saveexec_b64", "s_andn2_saveexec_b64" },
    { "s_or_not1_saveexec_b32", "s_orn2_saveexec_b32" }, { "s_or_not1_saveexec_b64", "s_orn2_saveexec_b64" },
    { "s_and_not0_saveexec_b32", "s_andn1_saveexec_b32" }, { "s_and_not0_saveexec_b64", "s_andn1_saveexec_b64" },
    { "s_or_not0_saveexec_b32", "s_orn1_saveexec_b32" }, { "s_or_not0_saveexec_b64", "s_orn1_saveexec_b64" },
    { "s_and_not0_wrexec_b32", "s_andn1_wrexec_b32" }, { "s_and_not0_wrexec_b64", "s_andn1_wrexec_b64" },
    { "s_and_not1_wrexec_b32", "s_andn2_wrexec_b32" }, { "s_and_not1_wrexec_b64", "s_andn2_wrexec_b64" },
    { "s_ctz_i32_b32", "s_ff1_i32_b32" }, { "s_ctz_i32_b64", "s_ff1_i32_b64" }, { "s_clz_i32_u32", "s_flbit_i32_b32" },
    { "s_clz_i32_u64", "s_flbit_i32_b64" }, { "s_cls_i32", "s_flbit_i32" }, { "s_cls_i32_i64", "s_flbit_i32_i64" },
    { "v_ctz_i32_b32", "v_ffbl_b32" }, { "v_clz_i32_u32", "v_ffbh_u32" }, { "v_cls_i32", "v_ffbh_i32" },
    { "s_set_inst_prefetch_distance", "s_inst_prefetch" }, { "v_mul_dx9_zero_f32", "v_mul_legacy_f32" },
    { "v_fma_dx9_zero_f32", "v_fma_legacy_f32" },
    { "v_fmac_dx9_zero_f32", "v_fmac_legacy_f32" },
    { "v_dot2acc_f32_f16", "v_dot2c_f32_f16" },
    { "v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32" }, { "v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32" },
    { "v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_i16_f16" }, { "v_cvt_pk_norm_u16_f16", "v_cvt_pknorm_u16_f16" },
    { "v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32" }, { "v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32" },
    { "v_cmp_t_f16", "v_cmp_tru_f16" }, { "v_cmp_t_f32", "v_cmp_tru_f32" }, { "v_cmp_t_f64", "v_cmp_tru_f64" },
    { "v_cmpx_t_f16", "v_cmpx_tru_f16" }, { "v_cmpx_t_f32", "v_cmpx_tru_f32" }, { "v_cmpx_t_f64", "v_cmpx_tru_f64" },
    { "v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32" },
    /* gfx12 */
    { "s_add_co_u32", "s_add_u32" }, { "s_sub_co_u32", "s_sub_u32" }, { "s_add_co_ci_u32", "s_addc_u32" },
    { "s_sub_co_ci_u32", "s_subb_u32" },
    { "s_add_co_i32", "s_add_i32" }, { "s_sub_co_i32", "s_sub_i32" }, { "s_addk_co_i32", "s_addk_i32" },
    { "v_mad_co_u64_u32", "v_mad_u64_u32" }, { "v_mad_co_i64_i32", "v_mad_i64_i32" }, { "s_wait_alu", "s_waitcnt_depctr" },
    { "ds_min_num_f32", "ds_min_f32" }, { "ds_max_num_f32", "ds_max_f32" }, { "ds_min_num_rtn_f32", "ds_min_rtn_f32" },
    { "ds_max_num_rtn_f32", "ds_max_rtn_f32" }, { "ds_min_num_f64", "ds_min_f64" }, { "ds_max_num_f64", "ds_max_f64" },
    { "ds_min_num_rtn_f64", "ds_min_rtn_f64" }, { "ds_max_num_rtn_f64", "ds_max_rtn_f64" },
};

static const struct pair loads[] = {
    { "load_u8", "load_ubyte" }, { "load_i8", "load_sbyte" }, { "load_u16", "load_ushort" }, { "load_i16", "load_sshort" },
    { "load_b32", "load_dword" }, { "load_b64", "load_dwordx2" }, { "load_b96", "load_dwordx3" }, { "load_b128", "load_dwordx4" },
    { "load_d16_u8", "load_ubyte_d16" }, { "load_d16_i8", "load_sbyte_d16" }, { "load_d16_b16", "load_short_d16" },
    { "load_d16_hi_u8", "load_ubyte_d16_hi" },
    { "load_d16_hi_i8", "load_sbyte_d16_hi" },
    { "load_d16_hi_b16", "load_short_d16_hi" },
    { "store_b8", "store_byte" }, { "store_b16", "store_short" }, { "store_b32", "store_dword" },
    { "store_b64", "store_dwordx2" },
    { "store_b96", "store_dwordx3" }, { "store_b128", "store_dwordx4" }, { "store_d16_hi_b8", "store_byte_d16_hi" },
    { "store_d16_hi_b16", "store_short_d16_hi" },
    { "atomic_swap_b32", "atomic_swap" }, { "atomic_swap_b64", "atomic_swap_x2" }, { "atomic_cmpswap_b32", "atomic_cmpswap" },
    { "atomic_cmpswap_b64", "atomic_cmpswap_x2" }, { "atomic_add_u32", "atomic_add" }, { "atomic_add_u64", "atomic_add_x2" },
    { "atomic_sub_u32", "atomic_sub" }, { "atomic_sub_u64", "atomic_sub_x2" }, { "atomic_min_i32", "atomic_smin" },
    { "atomic_min_i64", "atomic_smin_x2" }, { "atomic_min_u32", "atomic_umin" }, { "atomic_min_u64", "atomic_umin_x2" },
    { "atomic_max_i32", "atomic_smax" }, { "atomic_max_i64", "atomic_smax_x2" }, { "atomic_max_u32", "atomic_umax" },
    { "atomic_max_u64", "atomic_umax_x2" }, { "atomic_and_b32", "atomic_and" }, { "atomic_and_b64", "atomic_and_x2" },
    { "atomic_or_b32", "atomic_or" }, { "atomic_or_b64", "atomic_or_x2" }, { "atomic_xor_b32", "atomic_xor" },
    { "atomic_xor_b64", "atomic_xor_x2" }, { "atomic_inc_u32", "atomic_inc" }, { "atomic_inc_u64", "atomic_inc_x2" },
    { "atomic_dec_u32", "atomic_dec" }, { "atomic_dec_u64", "atomic_dec_x2" },
};

static const struct pair scalar_loads[] = {
    { "load_b32", "load_dword" }, { "load_b64", "load_dwordx2" }, { "load_b96", "load_dwordx3" }, { "load_b128", "load_dwordx4" },
    { "load_b256", "load_dwordx8" }, { "load_b512", "load_dwordx16" },
};

/* The beginnings of LDS instructions; what follows stays. */
static const struct pair local[] = {
    { "ds_load_2addr_stride64_", "ds_read2st64_" }, { "ds_load_2addr_", "ds_read2_" }, { "ds_load_", "ds_read_" },
    { "ds_store_2addr_stride64_", "ds_write2st64_" },
    { "ds_store_2addr_", "ds_write2_" },
    { "ds_storexchg_2addr_stride64_", "ds_wrxchg2st64_" },
    { "ds_storexchg_2addr_", "ds_wrxchg2_" }, { "ds_storexchg_", "ds_wrxchg_" }, { "ds_store_", "ds_write_" },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Of one of the pairs the first part is all of `name`. */
static const char *same(const struct pair *pairs, size_t n, const char *name, size_t length)
{
    for (size_t k = 0; k < n; k++)
        if (strlen(pairs[k].from) == length && memcmp(pairs[k].from, name, length) == 0)
            return pairs[k].to;
    return NULL;
}

bool sim_rename(const char *name, size_t length, char *ret, size_t size)
{
    static const char *const vector[] = { "global_", "flat_", "scratch_", "buffer_" }, *const scalar[] = { "s_", "s_buffer_" };
    const char *to = same(whole, COUNT(whole), name, length);
    if (to)
        return (size_t)snprintf(ret, size, "%s", to) < size;
    for (size_t k = 0; k < COUNT(local); k++) {
        size_t n = strlen(local[k].from);
        if (length > n && memcmp(name, local[k].from, n) == 0)
            return (size_t)snprintf(ret, size, "%s%.*s", local[k].to, (int)(length - n), name + n) < size;
    }
    for (size_t k = 0; k < COUNT(vector) + COUNT(scalar); k++) {
        bool is_scalar = k >= COUNT(vector);
        const char *prefix = is_scalar ? scalar[k - COUNT(vector)] : vector[k];
        size_t n = strlen(prefix);
        if (length <= n || memcmp(name, prefix, n) != 0)
            continue;
        to = is_scalar ? same(scalar_loads, COUNT(scalar_loads), name + n, length - n)
                       : same(loads, COUNT(loads), name + n, length - n);
        if (to)
            return (size_t)snprintf(ret, size, "%s%s", prefix, to) < size;
    }
    return false;
}
