/* The cards that can be shown: those whose instructions isa/ has.  ROCr 5.2 does not know gfx942, gfx1100 and gfx1201.  Figures
 * are those of the smallest Radeon or Instinct of that kind, with fewer compute units: more of them would only make occupancy
 * limits larger. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../sim.h"

#include <string.h>

enum { KIB = 1024 };

static const struct sim_card cards[] = {
    /* The register file of an RDNA2 SIMD holds 1024 registers of 32 lanes for each lane slot; that of GCN and CDNA 256 of 64
     * lanes, with as many again for accumulation from gfx908 on (one file of 512 on gfx90a). */
    { .name = "gfx1030", .marketing = "Simulated Radeon (gfx1030)", .major = 10, .minor = 3, .stepping = 0, .pci_id = 0x73bf,
      .wave32 = true, .cus = 8, .simds_per_cu = 2, .waves_per_simd = 16, .vgprs_per_simd_lane = 1024, .lds_bytes = 64 * KIB },
    { .name = "gfx900", .marketing = "Simulated Radeon (gfx900)", .major = 9, .minor = 0, .stepping = 0, .pci_id = 0x687f,
      .cus = 8, .simds_per_cu = 4, .waves_per_simd = 10, .vgprs_per_simd_lane = 256, .lds_bytes = 64 * KIB },
    { .name = "gfx906", .marketing = "Simulated Radeon (gfx906)", .major = 9, .minor = 0, .stepping = 6, .pci_id = 0x66a1,
      .cus = 8, .simds_per_cu = 4, .waves_per_simd = 10, .vgprs_per_simd_lane = 256, .lds_bytes = 64 * KIB },
    { .name = "gfx90a", .marketing = "Simulated Instinct (gfx90a)", .major = 9, .minor = 0, .stepping = 10, .pci_id = 0x7408,
      .packed_ids = true, .agprs = true, .cus = 8, .simds_per_cu = 4, .waves_per_simd = 8, .vgprs_per_simd_lane = 512,
      .lds_bytes = 64 * KIB },
    { .name = "gfx942", .marketing = "Simulated Instinct (gfx942)", .major = 9, .minor = 4, .stepping = 2, .pci_id = 0x74a1,
      .packed_ids = true, .agprs = true, .cus = 8, .simds_per_cu = 4, .waves_per_simd = 8, .vgprs_per_simd_lane = 512,
      .lds_bytes = 64 * KIB },
    { .name = "gfx1100", .marketing = "Simulated Radeon (gfx1100)", .major = 11, .minor = 0, .stepping = 0, .pci_id = 0x744c,
      .wave32 = true, .packed_ids = true, .cus = 8, .simds_per_cu = 2, .waves_per_simd = 16, .vgprs_per_simd_lane = 1536,
      .lds_bytes = 64 * KIB },
    { .name = "gfx1201", .marketing = "Simulated Radeon (gfx1201)", .major = 12, .minor = 0, .stepping = 1, .pci_id = 0x7550,
      .wave32 = true, .packed_ids = true, .cus = 8, .simds_per_cu = 2, .waves_per_simd = 16, .vgprs_per_simd_lane = 1536,
      .lds_bytes = 64 * KIB },
};

const struct sim_card *sim_card_find(const char *name)
{
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        if (strcmp(cards[i].name, name) == 0)
            return &cards[i];
    return NULL;
}

const struct sim_card *sim_card_at(size_t i)
{
    return i < sizeof cards / sizeof *cards ? &cards[i] : NULL;
}
