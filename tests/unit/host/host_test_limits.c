/* Tests of how much of the machine the host device takes: limits of control groups of both versions, read from trees made up
 * here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider/host/host.h"

static char root[64];

/* A file below the root, with its directories. */
static void put(const char *path, const char *text)
{
    char full[400];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    CHECK(f != NULL);
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static void tree_create(void)
{
    snprintf(root, sizeof root, "/tmp/aw-host-limits-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
    aw_host_root = root;
    put("/proc/meminfo", "MemTotal:       4096 kB\nMemAvailable:   3000 kB\n");
}

static void tree_destroy(void)
{
    char command[128];
    aw_host_root = "";
    snprintf(command, sizeof command, "rm -rf %s", root);
    EQ(system(command), 0);
}

static void test_limits(void)
{
    uint32_t all = aw_host_cpu_count(); /* at least one, of this machine */
    CHECK(all >= 1);

    tree_create(); /* version 2: the tightest of the group and its ancestors */
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/memory.max", "2097152\n");
    put("/sys/fs/cgroup/a/b/memory.current", "1048576\n");
    EQ(aw_host_cpu_count(), 1);
    EQ(aw_host_memory_limit(), 2097152);
    EQ(aw_host_memory_available(), 1048576);
    tree_destroy();

    tree_create(); /* version 1: controllers in trees of their own, one of them under two names */
    put("/proc/self/cgroup", "4:memory:/x/y\n3:cpuset:/elsewhere\n2:cpu,cpuacct:/x\n0::/\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1048576\n");
    put("/sys/fs/cgroup/memory/x/y/memory.usage_in_bytes", "4096\n");
    EQ(aw_host_cpu_count(), 1);
    EQ(aw_host_memory_limit(), 1048576);
    EQ(aw_host_memory_available(), 1048576 - 4096);
    tree_destroy();

    tree_create(); /* a container with version 1: the directory is the host's, the tree begins at the group */
    put("/proc/self/cgroup", "2:cpu,cpuacct:/docker/0123\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "30000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    EQ(aw_host_cpu_count(), 1);
    EQ(aw_host_memory_limit(), 4096 * 1024);
    tree_destroy();

    tree_create(); /* no limit, and text that is none */
    put("/proc/self/cgroup", "12:\n::\ngarbage\n0::/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "nothing\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "0\n");
    EQ(aw_host_memory_limit(), 4096 * 1024);
    EQ(aw_host_memory_available(), 3000 * 1024);
    CHECK(aw_host_cpu_count() >= all);
    tree_destroy();
}

const struct test limit_tests[] = {
    { "limits", test_limits },
    { NULL, NULL },
};
