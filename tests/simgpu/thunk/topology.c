/* The machine as ROCr sees it: one processor and the simulated cards, with their memory, caches and links; and the library's
 * beginning and end.  Values that ROCr does not read are left 0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"

#define AMD_VENDOR 0x1002
#define FIRST_RENDER_MINOR 128

uint64_t thunk_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Opening, and statistics at the end ---- */

__attribute__((destructor)) static void at_exit(void)
{
    sim_exit_report();
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtOpenKFD(void)
{
    const struct sim_settings *s = sim_settings();
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    THUNK_TRACE("OpenKFD");
    if (s->check_race)
        pthread_once(&once, sim_exit_watch);
    if (s->problem[0]) {
        sim_say("%s", s->problem);
        return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
    }
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtCloseKFD(void)
{
    THUNK_TRACE("CloseKFD");
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *version)
{
    version->KernelInterfaceMajorVersion = 1;
    version->KernelInterfaceMinorVersion = 8;
    return HSAKMT_STATUS_SUCCESS;
}

/* Refused, as by kernels that cannot debug: ROCr then uses the queues' inactive signals for errors. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtRuntimeEnable(void *debug, bool setup_ttmp)
{
    return HSAKMT_STATUS_NOT_SUPPORTED;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtRuntimeDisable(void)
{
    return HSAKMT_STATUS_NOT_SUPPORTED;
}

/* ---- Nodes ---- */

THUNK_EXPORT HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *p)
{
    memset(p, 0, sizeof *p);
    p->NumNodes = 1 + sim_settings()->n_cards;
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
    return HSAKMT_STATUS_SUCCESS;
}

static bool is_node(HSAuint32 node)
{
    return node <= sim_settings()->n_cards;
}

static void set_name(HsaNodeProperties *p, const char *name)
{
    for (size_t i = 0; name[i] && i + 1 < HSA_PUBLIC_NAME_SIZE; i++)
        p->MarketingName[i] = (unsigned char)name[i];
}

static void host_properties(HsaNodeProperties *p)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    p->NumCPUCores = cores > 0 ? (HSAuint32)cores : 1;
    p->NumMemoryBanks = 1;
    p->NumCaches = 1;
    p->NumIOLinks = sim_settings()->n_cards;
    p->MaxEngineClockMhzCCompute = 3000;
    set_name(p, "Host processor");
}

/* What the card calls itself.  HSA_OVERRIDE_GFX_VERSION is AMD's own libhsakmt's: with "8.0.3" all cards say that they are a
 * gfx803, and go on executing their own instructions.  False when it makes no sense. */
static bool version_of(const struct sim_card *card, unsigned ret_version[3])
{
    const char *text = aw_env("HSA_OVERRIDE_GFX_VERSION");
    int end = 0;
    ret_version[0] = card->major;
    ret_version[1] = card->minor;
    ret_version[2] = card->stepping;
    if (!text)
        return true;
    if (sscanf(text, "%2u.%3u.%3u%n", &ret_version[0], &ret_version[1], &ret_version[2], &end) == 3 && !text[end] &&
        ret_version[0] <= 63 && ret_version[1] <= 255 && ret_version[2] <= 255)
        return true;
    sim_say("HSA_OVERRIDE_GFX_VERSION='%s' is not of the form 10.3.0", text);
    return false;
}

static bool card_properties(HsaNodeProperties *p, HSAuint32 node, const struct sim_card *card)
{
    unsigned version[3];
    if (!version_of(card, version))
        return false;
    p->NumFComputeCores = card->cus * card->simds_per_cu;
    p->NumSIMDPerCU = card->simds_per_cu;
    p->NumShaderBanks = 1;
    p->NumArrays = 1;
    p->NumCUPerArray = card->cus;
    p->MaxWavesPerSIMD = card->waves_per_simd;
    p->MaxSlotsScratchCU = card->waves_per_simd * card->simds_per_cu;
    p->LDSSizeInKB = card->lds_bytes / 1024;
    p->WaveFrontSize = card->wave32 ? 32 : 64;
    p->VGPRSizePerCU = card->vgprs_per_simd_lane * (card->wave32 ? 32 : 64) * 4 * card->simds_per_cu;
    p->SGPRSizePerCU = 0x4000;
    p->NumMemoryBanks = 3;
    p->NumCaches = 2;
    p->NumIOLinks = sim_settings()->n_cards; /* to the host and to each other card */
    p->FComputeIdLo = 0x80000000 + node * 0x1000;
    p->EngineId.ui32.uCode = 100;
    p->EngineId.ui32.Major = version[0];
    p->EngineId.ui32.Minor = version[1];
    p->EngineId.ui32.Stepping = version[2];
    p->Capability.ui32.DoorbellType = 2;
    p->Capability.ui32.SRAM_EDCSupport = card->agprs && card->packed_ids; /* Instinct: gcnArchName says sramecc+ */
    p->VendorId = AMD_VENDOR;
    p->DeviceId = card->pci_id;
    p->LocationId = (node + 1) << 8; /* bus, device 0, function 0 */
    p->LocalMemSize = sim_settings()->vram;
    p->MaxEngineClockMhzFCompute = 2000;
    p->DrmRenderMinor = FIRST_RENDER_MINOR + (HSAint32)node - 1;
    p->NumSdmaEngines = 2;
    p->NumSdmaQueuesPerEngine = 2;
    p->NumCpQueues = 8;
    p->NumGws = 64;
    p->UniqueID = 0x53494d0000000000ull + node;
    set_name(p, card->marketing);
    snprintf((char *)p->AMDName, sizeof p->AMDName, "%s", card->name);
    return true;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *p)
{
    if (!is_node(node))
        return HSAKMT_STATUS_INVALID_NODE_UNIT;
    memset(p, 0, sizeof *p);
    if (node)
        return card_properties(p, node, thunk_card(node)) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
    host_properties(p);
    return HSAKMT_STATUS_SUCCESS;
}

static uint64_t host_memory(void)
{
    struct sysinfo info;
    return sysinfo(&info) ? 1ull << 30 : (uint64_t)info.totalram * info.mem_unit & ~0xfffull;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 node, HSAuint32 count, HsaMemoryProperties *p)
{
    const struct sim_card *card = thunk_card(node);
    if (!is_node(node))
        return HSAKMT_STATUS_INVALID_NODE_UNIT;
    memset(p, 0, sizeof *p * count);
    if (!card && count) {
        p[0] = (HsaMemoryProperties){
            .HeapType = HSA_HEAPTYPE_SYSTEM, .SizeInBytes = host_memory(), .Width = 64, .MemoryClockMax = 1600
        };
    } else if (card) {
        const HsaMemoryProperties banks[3] = {
            { .HeapType = HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC, .SizeInBytes = sim_settings()->vram, .Width = 256,
              .MemoryClockMax = 1000 },
            { .HeapType = HSA_HEAPTYPE_GPU_LDS, .SizeInBytes = card->lds_bytes, .VirtualBaseAddress = SIM_LDS_APERTURE },
            { .HeapType = HSA_HEAPTYPE_GPU_SCRATCH, .SizeInBytes = 1ull << 32, .VirtualBaseAddress = SIM_SCRATCH_APERTURE },
        };
        memcpy(p, banks, sizeof *p * (count < 3 ? count : 3));
    }
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 node, HSAuint32 processor, HSAuint32 count,
                                                        HsaCacheProperties *p)
{
    if (!is_node(node))
        return HSAKMT_STATUS_INVALID_NODE_UNIT;
    memset(p, 0, sizeof *p * count);
    for (HSAuint32 i = 0; i < count; i++) {
        p[i].ProcessorIdLow = processor;
        p[i].CacheLevel = i + 1;
        p[i].CacheSize = i ? 4096 : 16; /* KiB */
        p[i].CacheLineSize = node && i ? 128 : 64;
        p[i].CacheType.ui32.Data = 1;
        p[i].CacheType.ui32.HSACU = node != 0;
        p[i].CacheType.ui32.CPU = node == 0;
    }
    return HSAKMT_STATUS_SUCCESS;
}

/* A link from every node to every other. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties *p)
{
    if (!is_node(node))
        return HSAKMT_STATUS_INVALID_NODE_UNIT;
    memset(p, 0, sizeof *p * count);
    for (HSAuint32 i = 0, to = 0; i < count; i++, to++) {
        if (to == node)
            to++;
        p[i] = (HsaIoLinkProperties){ .IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS, .NodeFrom = node, .NodeTo = to,
                                      .Weight = node && to ? 40 : 20, .MinimumBandwidth = 16000, .MaximumBandwidth = 16000 };
    }
    return HSAKMT_STATUS_SUCCESS;
}

/* ---- Small things ---- */

THUNK_EXPORT HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters *c)
{
    c->GPUClockCounter = c->CPUClockCounter = c->SystemClockCounter = thunk_now();
    c->SystemClockFrequencyHz = 1000000000;
    return HSAKMT_STATUS_SUCCESS;
}

/* The tables' sizes and the one entry that ROCr's image part wants to see before it takes a card of an older family: mode 8 is
 * that of aligned rows. */
static void tiles_before_gfx9(HsaGpuTileConfig *c)
{
    if (c->NumTileConfigs > 32)
        c->NumTileConfigs = 32;
    if (c->NumMacroTileConfigs > 16)
        c->NumMacroTileConfigs = 16;
    if (c->TileConfig && c->NumTileConfigs > 8)
        c->TileConfig[8] = 1 << 2;
}

/* Images are kept in rows, so the tables say nothing; ROCr wants the address configuration all the same. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 node, HsaGpuTileConfig *c)
{
    const struct sim_card *card = thunk_card(node);
    unsigned version[3];
    if (!card || !version_of(card, version))
        return HSAKMT_STATUS_INVALID_NODE_UNIT;
    if (c->TileConfig)
        memset(c->TileConfig, 0, c->NumTileConfigs * sizeof *c->TileConfig);
    if (c->MacroTileConfig)
        memset(c->MacroTileConfig, 0, c->NumMacroTileConfigs * sizeof *c->MacroTileConfig);
    c->GbAddrConfig = version[0] >= 10 ? 0x444 : version[0] == 9 ? 0x24000042 : 0x22011003;
    c->NumBanks = c->NumRanks = 0;
    if (version[0] < 9)
        tiles_before_gfx9(c);
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
    *enable = 0;
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable)
{
    return enable ? HSAKMT_STATUS_NOT_SUPPORTED : HSAKMT_STATUS_SUCCESS;
}

/* Memory is coherent whatever the policy. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtSetMemoryPolicy(HSAuint32 node, HSAuint32 policy, HSAuint32 alternate, void *base,
                                                 HSAuint64 size)
{
    return HSAKMT_STATUS_SUCCESS;
}

/* ROCr's handler reports errors to the queue; aql.c does that itself when a wave stops. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtSetTrapHandler(HSAuint32 node, void *code, HSAuint64 size, void *buffer, HSAuint64 buffer_size)
{
    return HSAKMT_STATUS_SUCCESS;
}
