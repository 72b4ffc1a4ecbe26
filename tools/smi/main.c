/* nvidia-smi's command line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "smi_calls.h"

enum mode { TABLE, LIST, FULL, QUERY_GPU, QUERY_APPS, TOPOLOGY, HELP, VERSION };
enum { DEVICES = 64 };

struct wish {
    enum mode mode;
    const char *fields, *devices; /* of the query; which devices, or NULL */
    bool csv, header, units;
    double loop; /* seconds, 0: once */
};

static int usage(const char *what, const char *option)
{
    aw_tell("nvidia-smi", SMI_OPTION, what, option);
    return SMI_USAGE;
}

static void help(void)
{
    printf("nvidia-smi of anywarp: what NVML tells of the devices that CUDA programs run on.\n\n"
           "    nvidia-smi                        a table of all devices and of what runs on them\n"
           "    -L, --list-gpus                   a line for each device\n"
           "    -q, --query                       all that is known\n"
           "    --query-gpu=FIELD,...             values of fields, with --format=csv[,noheader][,nounits]\n"
           "    --query-compute-apps=FIELD,...    processes, in the same formats\n"
           "    topo -m                           how the devices are connected\n"
           "    -i, --id=DEVICE[,...]             only these, by index, UUID or PCI bus id\n"
           "    -l, --loop=SECONDS, -lms, --loop-ms=MILLISECONDS   again and again\n"
           "    --version\n\nSettings of devices are not changed: options for that are refused.\n");
}

/* The value of `--name=VALUE`, `--name VALUE` or `-n VALUE`; NULL: `arg` is another option. */
static const char *option_value(char **argv, int *i, const char *name, const char *brief)
{
    size_t len = strlen(name);
    const char *arg = argv[*i];
    if (!strncmp(arg, name, len) && arg[len] == '=')
        return arg + len + 1;
    if (strcmp(arg, name) != 0 && (!brief || strcmp(arg, brief) != 0))
        return NULL;
    return argv[*i + 1] ? argv[++*i] : "";
}

static bool format_read(struct wish *w, const char *format)
{
    for (const char *p = format; *p; p += strcspn(p, ","), p += *p == ',') {
        p += *p == ' ';
        size_t len = strcspn(p, ",");
        if (len == 3 && !strncmp(p, "csv", 3))
            w->csv = true;
        else if (len == 8 && !strncmp(p, "noheader", 8))
            w->header = false;
        else if (len == 7 && !strncmp(p, "nounits", 7))
            w->units = false;
        else
            return false;
    }
    return true;
}

static int arguments_read(struct wish *w, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (!strcmp(argv[i], "-L") || !strcmp(argv[i], "--list-gpus"))
            w->mode = LIST;
        else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
            w->mode = HELP;
        else if (!strcmp(argv[i], "--version"))
            w->mode = VERSION;
        else if (!strcmp(argv[i], "-q") || !strcmp(argv[i], "--query"))
            w->mode = FULL;
        else if (!strcmp(argv[i], "topo") && i + 1 < argc && (!strcmp(argv[i + 1], "-m") || !strcmp(argv[i + 1], "--matrix")))
            w->mode = TOPOLOGY, i++;
        else if ((value = option_value(argv, &i, "--query-gpu", NULL)))
            w->mode = QUERY_GPU, w->fields = value;
        else if ((value = option_value(argv, &i, "--query-compute-apps", NULL)) ||
                 (value = option_value(argv, &i, "--query-apps", NULL)))
            w->mode = QUERY_APPS, w->fields = value;
        else if ((value = option_value(argv, &i, "--format", NULL))) {
            if (!format_read(w, value))
                return usage("no such format", value);
        } else if ((value = option_value(argv, &i, "--id", "-i")))
            w->devices = value;
        else if ((value = option_value(argv, &i, "--loop-ms", "-lms")))
            w->loop = atof(value) / 1000;
        else if ((value = option_value(argv, &i, "--loop", "-l")))
            w->loop = atof(value);
        else
            return usage("no such option", argv[i]);
    }
    if ((w->mode == QUERY_GPU || w->mode == QUERY_APPS) && !w->csv)
        return usage("\"--format=\" switch is missing", "--format=csv");
    return SMI_FINE;
}

/* One device by what the user calls it. */
static nvmlReturn_t device_find(const char *name, nvmlDevice_t *ret)
{
    char *end;
    unsigned long index = strtoul(name, &end, 10);
    if (*name && !*end)
        return smi_nvmlDeviceGetHandleByIndex_v2((unsigned)index, ret);
    return strncmp(name, "GPU-", 4) ? smi_nvmlDeviceGetHandleByPciBusId_v2(name, ret) : smi_nvmlDeviceGetHandleByUUID(name, ret);
}

static int devices_read(const struct wish *w, struct smi_device devices[DEVICES], unsigned *ret_n)
{
    unsigned count = 0, n = 0;
    nvmlReturn_t result = smi_nvmlDeviceGetCount_v2(&count);
    if (result != NVML_SUCCESS)
        return smi_exit_code(result);
    for (unsigned i = 0; !w->devices && i < count && n < DEVICES; i++)
        if (smi_nvmlDeviceGetHandleByIndex_v2(i, &devices[n].handle) == NVML_SUCCESS) {
            devices[n].index = i;
            devices[n++].count = count;
        }
    for (const char *p = w->devices; p && *p && n < DEVICES; p += strcspn(p, ","), p += *p == ',') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
        struct smi_device *d = &devices[n];
        if (device_find(name, &d->handle) != NVML_SUCCESS || smi_nvmlDeviceGetIndex(d->handle, &d->index) != NVML_SUCCESS) {
            printf("No devices were found\n");
            return SMI_NOT_FOUND;
        }
        d->count = count;
        n++;
    }
    *ret_n = n;
    return SMI_FINE;
}

static int query_gpu(const struct wish *w, const struct smi_device *devices, unsigned n, bool header)
{
    enum { MOST = 128 };
    const struct smi_field *fields[MOST];
    char text[256];
    size_t n_fields = 0;
    for (const char *p = w->fields; *p && n_fields < MOST; p += strcspn(p, ","), p += *p == ',') {
        p += *p == ' ';
        size_t len = strcspn(p, ",");
        if (!(fields[n_fields] = smi_field_find(p, len))) {
            printf("Field \"%.*s\" is not a valid field to query.\n\n", (int)len, p);
            return SMI_USAGE;
        }
        n_fields++;
    }
    for (size_t f = 0; header && f < n_fields; f++) {
        printf("%s%s", f ? ", " : "", fields[f]->name);
        if (w->units && fields[f]->unit)
            printf(" [%s]", fields[f]->unit);
    }
    if (header)
        printf("\n");
    for (unsigned i = 0; i < n; i++, printf("\n"))
        for (size_t f = 0; f < n_fields; f++) {
            smi_field_print(fields[f], &devices[i], w->units, false, text, sizeof text);
            printf("%s%s", f ? ", " : "", text);
        }
    return n_fields ? SMI_FINE : usage("no fields", w->fields);
}

static int show(const struct wish *w, bool first)
{
    struct smi_device devices[DEVICES];
    unsigned n = 0;
    char version[80];
    int code = devices_read(w, devices, &n);
    if (code != SMI_FINE)
        return code;
    switch (w->mode) {
    case LIST: smi_report_list(devices, n); break;
    case FULL: smi_report_full(devices, n); break;
    case TOPOLOGY: smi_report_topology(devices, n); break;
    case QUERY_GPU: return query_gpu(w, devices, n, w->header && first);
    case QUERY_APPS: return smi_report_processes(devices, n, w->fields, w->header && first, w->units) ? SMI_FINE : SMI_USAGE;
    case VERSION:
        smi_nvmlSystemGetDriverVersion(version, sizeof version);
        printf("NVIDIA-SMI version  : %s (anywarp)\nDRIVER version      : %s\n", version, version);
        break;
    default: smi_report_table(devices, n); break;
    }
    return SMI_FINE;
}

int main(int argc, char **argv)
{
    struct wish w = { .mode = TABLE, .header = true, .units = true };
    int code = arguments_read(&w, argc, argv);
    if (code != SMI_FINE)
        return code;
    if (w.mode == HELP) {
        help();
        return SMI_FINE;
    }
    code = smi_open();
    if (code == SMI_FINE)
        code = show(&w, true);
    while (code == SMI_FINE && w.loop > 0 && w.mode != LIST && w.mode != VERSION) {
        fflush(stdout);
        usleep((useconds_t)(w.loop * 1e6));
        code = show(&w, false);
    }
    return code;
}
