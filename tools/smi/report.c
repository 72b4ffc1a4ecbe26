/* What is printed: the table, the list, the long form, processes, topology. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "smi_calls.h"

enum { TEXT = 160, PROCESSES = 256, NAME_WIDTH = 33 };

static const char *value(const struct smi_device *d, const char *name, bool units, char text[TEXT])
{
    smi_field_print(smi_field_find(name, strlen(name)), d, units, true, text, TEXT);
    return text;
}

static unsigned processes_read(const struct smi_device *d, nvmlProcessInfo_t list[PROCESSES])
{
    unsigned n = PROCESSES;
    return smi_nvmlDeviceGetComputeRunningProcesses_v3(d->handle, &n, list) == NVML_SUCCESS ? n : 0;
}

static void process_name(unsigned pid, char text[TEXT])
{
    char path[4096];
    snprintf(text, TEXT, "%.*s", TEXT - 1,
             smi_nvmlSystemGetProcessName(pid, path, sizeof path) == NVML_SUCCESS ? path : "[Not Found]");
}

static void process_memory(const nvmlProcessInfo_t *p, bool units, char text[TEXT])
{
    if (p->usedGpuMemory == UINT64_MAX)
        snprintf(text, TEXT, "[N/A]");
    else
        snprintf(text, TEXT, units ? "%llu MiB" : "%llu", p->usedGpuMemory >> 20);
}

/* ---- The list, and the long form. */

void smi_report_list(const struct smi_device *devices, unsigned n)
{
    char name[TEXT], uuid[TEXT];
    for (unsigned i = 0; i < n; i++)
        printf("GPU %u: %s (UUID: %s)\n", devices[i].index, value(&devices[i], "name", false, name),
               value(&devices[i], "uuid", false, uuid));
}

static void versions(char driver[TEXT], char nvml[TEXT], int *ret_cuda)
{
    *ret_cuda = 0;
    if (smi_nvmlSystemGetDriverVersion(driver, TEXT) != NVML_SUCCESS)
        strcpy(driver, "N/A");
    if (smi_nvmlSystemGetNVMLVersion(nvml, TEXT) != NVML_SUCCESS)
        strcpy(nvml, "N/A");
    smi_nvmlSystemGetCudaDriverVersion(ret_cuda);
}

void smi_report_full(const struct smi_device *devices, unsigned n)
{
    /* A line without a field opens a group. */
    static const struct {
        const char *label, *field;
    } lines[] = {
        { "    Product Name", "name" }, { "    Display Mode", "display_mode" }, { "    Display Active", "display_active" },
        { "    Persistence Mode", "persistence_mode" }, { "    Serial Number", "serial" }, { "    GPU UUID", "uuid" },
        { "    Minor Number", "minor_number" }, { "    VBIOS Version", "vbios_version" },
        { "    PCI", NULL }, { "        Bus", "pci.bus" }, { "        Device", "pci.device" }, { "        Domain", "pci.domain" },
        { "        Device Id", "pci.device_id" },
        { "        Bus Id", "pci.bus_id" },
        { "        Sub System Id", "pci.sub_device_id" },
        { "    Fan Speed", "fan.speed" }, { "    Performance State", "pstate" },
        { "    FB Memory Usage", NULL }, { "        Total", "memory.total" }, { "        Reserved", "memory.reserved" },
        { "        Used", "memory.used" }, { "        Free", "memory.free" }, { "    Compute Mode", "compute_mode" },
        { "    Utilization", NULL }, { "        GPU", "utilization.gpu" }, { "        Memory", "utilization.memory" },
        { "    ECC Mode", NULL }, { "        Current", "ecc.mode.current" },
        { "    Temperature", NULL }, { "        GPU Current Temp", "temperature.gpu" },
        { "    GPU Power Readings", NULL }, { "        Average Power Draw", "power.draw" },
        { "        Current Power Limit", "power.limit" },
        { "    Clocks", NULL }, { "        Graphics", "clocks.gr" }, { "        SM", "clocks.sm" },
        { "        Memory", "clocks.mem" },
        { "    Max Clocks", NULL }, { "        Graphics", "clocks.max.gr" }, { "        SM", "clocks.max.sm" },
        { "        Memory", "clocks.max.mem" },
    };
    char driver[TEXT], nvml[TEXT], text[TEXT];
    int cuda;
    time_t now = time(NULL);
    versions(driver, nvml, &cuda);
    printf("\n==============NVSMI LOG==============\n\n");
    strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", localtime(&now));
    printf("%-50s: %s\n%-50s: %s\n%-50s: %d.%d\n\n", "Timestamp", text, "Driver Version", driver, "CUDA Version", cuda / 1000,
           cuda / 10 % 100);
    printf("%-50s: %u\n", "Attached GPUs", n ? devices[0].count : 0);
    for (unsigned i = 0; i < n; i++) {
        nvmlProcessInfo_t list[PROCESSES];
        printf("GPU %s\n", value(&devices[i], "pci.bus_id", false, text));
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++)
            if (lines[k].field)
                printf("%-50s: %s%s\n", lines[k].label, value(&devices[i], lines[k].field, true, text),
                       !strcmp(lines[k].field, "temperature.gpu") && text[0] != 'N' ? " C" : "");
            else
                printf("%s\n", lines[k].label);
        unsigned found = processes_read(&devices[i], list);
        printf(found ? "    Processes\n" : "    %-46s: None\n", "Processes");
        for (unsigned p = 0; p < found; p++) {
            process_name(list[p].pid, text);
            printf("        %-42s: %u\n            %-38s: C\n            %-38s: %s\n", "Process ID", list[p].pid, "Type", "Name",
                   text);
            process_memory(&list[p], true, text);
            printf("            %-38s: %s\n", "Used GPU Memory", text);
        }
        printf("\n");
    }
}

/* ---- The table. */

static const char line[] = "+-----------------------------------------+------------------------+----------------------+\n";

static const char *on_off(const char *text)
{
    return !strcmp(text, "Enabled") ? "On" : !strcmp(text, "Disabled") ? "Off" : "N/A";
}

/* A number with its unit behind it, or N/A. */
static const char *number(const struct smi_device *d, const char *name, const char *unit, char text[TEXT])
{
    if (value(d, name, false, text)[0] != 'N')
        snprintf(text + strlen(text), TEXT - strlen(text), "%s", unit);
    return text;
}

static void table_device(const struct smi_device *d)
{
    char a[TEXT], b[TEXT], c[TEXT], e[TEXT], power[TEXT], memory[2 * TEXT + 8];
    printf("| %3u  %-26.26s %6.6s  |", d->index, value(d, "name", false, a), on_off(value(d, "persistence_mode", false, b)));
    printf("   %-16.16s %3.3s |%21.21s |\n", value(d, "pci.bus_id", false, a), on_off(value(d, "display_active", false, b)),
           "N/A");
    value(d, "power.draw", false, power);
    if (power[0] != 'N')
        snprintf(power, sizeof power, "%.0fW", atof(power));
    value(d, "power.limit", false, e);
    if (e[0] != 'N')
        snprintf(e, sizeof e, "%.0fW", atof(e));
    printf("| %3.4s  %4.5s   %-4.4s %13.9s / %6.6s |", number(d, "fan.speed", "%", a), number(d, "temperature.gpu", "C", b),
           value(d, "pstate", false, c), power, e);
    snprintf(memory, sizeof memory, "%s / %s", number(d, "memory.used", "MiB", a), number(d, "memory.total", "MiB", b));
    printf(" %22.22s | %7.7s %12.12s |\n", memory, number(d, "utilization.gpu", "%", a), value(d, "compute_mode", false, b));
    printf("|%41s|%24s|%21s |\n%s", "", "", "N/A", line);
}

void smi_report_table(const struct smi_device *devices, unsigned n)
{
    static const char wide[] = "+-----------------------------------------------------------------------------------------+\n";
    char driver[TEXT], nvml[TEXT], text[TEXT], head[32], memory[TEXT], own[32];
    int cuda;
    bool any = false;
    time_t now = time(NULL);
    versions(driver, nvml, &cuda);
    strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", localtime(&now));
    snprintf(head, sizeof head, "%d.%d", cuda / 1000, cuda / 10 % 100);
    snprintf(own, sizeof own, "%.12s (anywarp)", driver);
    printf("%s       \n%s| NVIDIA-SMI %-22.22s Driver Version: %-14.14s CUDA Version: %-8.8s |\n%s", text, wide, own, driver,
           head, line);
    printf("| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
           "|                                         |                        |               MIG M. |\n"
           "|=========================================+========================+======================|\n");
    for (unsigned i = 0; i < n; i++)
        table_device(&devices[i]);
    printf("\n%s| Processes:                                                                              |\n"
           "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
           "|        ID   ID                                                               Usage      |\n"
           "|=========================================================================================|\n", wide);
    for (unsigned i = 0; i < n; i++) {
        nvmlProcessInfo_t list[PROCESSES];
        unsigned found = processes_read(&devices[i], list);
        for (unsigned p = 0; p < found; p++, any = true) {
            process_name(list[p].pid, text);
            process_memory(&list[p], true, memory);
            size_t len = strlen(text), cut = len > NAME_WIDTH ? len - NAME_WIDTH : 0;
            for (size_t k = 0; cut && k < 3; k++)
                text[cut + k] = '.';
            printf("| %4u   N/A  N/A %16u      C   %-33.33s %11.11s |\n", devices[i].index, list[p].pid, text + cut, memory);
        }
    }
    printf("%s%s", any ? "" : "|  No running processes found                                                             |\n",
           wide);
}

/* ---- Processes and topology. */

enum column { PID, NAME, MEMORY, UUID, BUS_ID, GPU_NAME, SERIAL, TIMESTAMP };

bool smi_report_processes(const struct smi_device *devices, unsigned n, const char *fields, bool header, bool units)
{
    static const struct {
        const char *name, *also;
        enum column what;
    } known[] = { { "pid", NULL, PID },           { "process_name", "name", NAME }, { "used_gpu_memory", "used_memory", MEMORY },
                  { "gpu_uuid", NULL, UUID },     { "gpu_bus_id", NULL, BUS_ID },   { "gpu_name", NULL, GPU_NAME },
                  { "gpu_serial", NULL, SERIAL }, { "timestamp", NULL, TIMESTAMP } };
    unsigned columns[32], n_columns = 0;
    for (const char *p = fields; *p && n_columns < 32; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ","), i = 0;
        while (i < 8 && !(strlen(known[i].name) == len && !strncmp(known[i].name, p, len)) &&
               !(known[i].also && strlen(known[i].also) == len && !strncmp(known[i].also, p, len)))
            i++;
        if (i == 8) {
            printf("Field \"%.*s\" is not a valid field to query.\n\n", (int)len, p);
            return false;
        }
        if (header)
            printf("%s%s%s", n_columns ? ", " : "", known[i].name, known[i].what == MEMORY && units ? " [MiB]" : "");
        columns[n_columns++] = (unsigned)i;
    }
    if (header)
        printf("\n");
    for (unsigned d = 0; d < n; d++) {
        nvmlProcessInfo_t list[PROCESSES];
        unsigned found = processes_read(&devices[d], list);
        for (unsigned p = 0; p < found; p++, printf("\n"))
            for (unsigned c = 0; c < n_columns; c++) {
                static const char *const of_device[] = { [UUID] = "uuid", [BUS_ID] = "pci.bus_id", [GPU_NAME] = "name",
                                                         [SERIAL] = "serial", [TIMESTAMP] = "timestamp" };
                char text[TEXT];
                enum column what = known[columns[c]].what;
                if (what == PID)
                    snprintf(text, sizeof text, "%u", list[p].pid);
                else if (what == NAME)
                    process_name(list[p].pid, text);
                else if (what == MEMORY)
                    process_memory(&list[p], units, text);
                else
                    smi_field_print(smi_field_find(of_device[what], strlen(of_device[what])), &devices[d], units, false, text,
                                    TEXT);
                printf("%s%s", c ? ", " : "", text);
            }
    }
    return true;
}

void smi_report_topology(const struct smi_device *devices, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        printf("\tGPU%u", devices[i].index);
    printf("\n");
    for (unsigned i = 0; i < n; i++) {
        printf("GPU%u", devices[i].index);
        for (unsigned k = 0; k < n; k++) {
            nvmlGpuTopologyLevel_t level;
            const char *text = "N/A";
            if (i == k)
                text = " X ";
            else if (smi_nvmlDeviceGetTopologyCommonAncestor(devices[i].handle, devices[k].handle, &level) == NVML_SUCCESS)
                text = level <= NVML_TOPOLOGY_SINGLE ? "PIX" : level == NVML_TOPOLOGY_MULTIPLE ? "PXB" :
                       level == NVML_TOPOLOGY_HOSTBRIDGE ? "PHB" : level == NVML_TOPOLOGY_NODE ? "NODE" : "SYS";
            printf("\t%s", text);
        }
        printf("\n");
    }
}
