/* The status line (progress.h).  What is waited for is counted with atomics, and one thread draws at a time: nobody waits for the
 * line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/demangle.h"
#include "base/env.h"

enum {
    PATIENCE_MS = 500, /* of waiting, in all, before anything is shown */
    REDRAW_MS = 100,
    WIDTH_MAX = 512,
};

static struct {
    _Atomic pid_t owner;       /* whose counts these are: a child of fork begins anew */
    _Atomic int waiting;       /* begun and not ended */
    _Atomic unsigned ended;
    _Atomic int64_t since, waited; /* ms: when the present waiting began; what earlier ones took */
    _Atomic int64_t drawn;     /* ms: when the line was last drawn; 0: it is not there */
    atomic_flag drawing;
    char what[WIDTH_MAX];      /* of the last begun; held by `drawing` */
    bool plain;                /* its names are as the source has them; held by `drawing` */
} line = { .drawing = ATOMIC_FLAG_INIT };

/* A terminal that this process may write to: a shell's background job stays silent. */
static bool wanted(void)
{
    const char *quiet = aw_env_harmless("ANYWARP_QUIET"), *term = aw_env_harmless("TERM");
    if ((quiet && *quiet && strcmp(quiet, "0") != 0) || !term || !strcmp(term, "dumb"))
        return false;
    return isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static unsigned terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

static void put(const char *text, size_t n)
{
    ssize_t ignored = write(STDERR_FILENO, text, n);
    (void)ignored; /* nowhere to report it */
}

void aw_progress_hide(void)
{
    static const char erase[] = "\r\033[K";
    if (atomic_load(&line.owner) == getpid() && atomic_exchange(&line.drawn, 0))
        put(erase, sizeof erase - 1);
}

/* Returns whether this thread may use `what` now. */
static bool lock(void)
{
    return !atomic_flag_test_and_set_explicit(&line.drawing, memory_order_acquire);
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&line.drawing, memory_order_release);
}

void aw_progress_begin(const char *what)
{
    pid_t self = getpid();
    if (atomic_exchange(&line.owner, self) != self) {
        atomic_store(&line.waiting, 0);
        atomic_store(&line.drawn, 0);
        unlock(); /* whoever held it is the parent's */
    }
    if (atomic_fetch_add(&line.waiting, 1) == 0)
        atomic_store(&line.since, aw_clock_ms());
    if (lock()) {
        snprintf(line.what, sizeof line.what, "%s", what);
        line.plain = false;
        unlock();
    }
}

void aw_progress_end(void)
{
    atomic_fetch_add(&line.ended, 1);
    if (atomic_fetch_sub(&line.waiting, 1) > 1)
        return;
    atomic_fetch_add(&line.waited, aw_clock_ms() - atomic_load(&line.since));
    aw_progress_hide();
}

/* Most lines are never drawn, so names are looked into late. */
static void make_plain(void)
{
    char *plain = line.plain ? NULL : aw_demangle_text(line.what);
    if (plain)
        snprintf(line.what, sizeof line.what, "%s", plain);
    free(plain);
    line.plain = true;
}

/* "anywarp: compiling kernel k (m.cu) [3 under way, 12 done, 4 s]", cut where the terminal ends. */
static void draw(int64_t now, int64_t waited)
{
    char text[WIDTH_MAX + 128], under_way[32] = "", counts[128];
    int waiting = atomic_load(&line.waiting), width = (int)terminal_width() - 1;
    make_plain();
    if (waiting > 1)
        snprintf(under_way, sizeof under_way, "%d under way, ", waiting);
    int room = width - snprintf(counts, sizeof counts, " [%s%u done, %lld s]", under_way, atomic_load(&line.ended),
                                (long long)(waited / 1000));
    if (room < 16)
        return;
    int n = snprintf(text, sizeof text, "\ranywarp: %.*s%s\033[K", room - 9, line.what, counts);
    atomic_store(&line.drawn, now);
    put(text, (size_t)n);
}

int aw_progress_tick(void)
{
    if (!wanted())
        return -1;
    int64_t now = aw_clock_ms(), waited = atomic_load(&line.waited) + now - atomic_load(&line.since);
    if (waited < PATIENCE_MS)
        return (int)(PATIENCE_MS - waited);
    if (now - atomic_load(&line.drawn) >= REDRAW_MS && lock()) {
        draw(now, waited);
        unlock();
    }
    return REDRAW_MS;
}
