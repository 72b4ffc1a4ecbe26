/* The libraries that the loader would give a program: see needs.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "needs.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

const Elf64_Phdr *aw_needs_segment(const struct aw_elf *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->n_segments; i++)
        if (elf->segments[i].p_type == type && elf->segments[i].p_offset <= elf->size &&
            elf->segments[i].p_filesz <= elf->size - elf->segments[i].p_offset)
            return &elf->segments[i];
    return NULL;
}

/* "libx.so.1 => /lib/libx.so.1 (0x…)", "libx.so.1 => not found", "/lib/libx.so.1 (0x…)". */
static void library_line(struct aw_needs *needs, char *line)
{
    struct aw_need library = { 0 };
    char *name = line + strspn(line, " \t"), *arrow = strstr(name, " => "), *end = strrchr(name, '(');
    if (end && end > name)
        end[-1] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (arrow)
        *arrow = '\0';
    const char *path = arrow ? arrow + 4 : name, *slash = strrchr(name, '/');
    if (strncmp(path, "not found", 9) != 0 && *path == '/')
        library.path = strdup(path);
    library.name = strdup(slash ? slash + 1 : name);
    if (!library.name || (!library.path && !arrow) || !aw_vec_push(&needs->list, library)) { /* linux-vdso.so.1 has no file */
        free(library.name);
        free(library.path);
    }
}

/* The loader that the program names; a library's, which names none, is the usual one. */
static const char *loader_of(const struct aw_elf *elf)
{
    const Elf64_Phdr *interp = aw_needs_segment(elf, PT_INTERP);
    bool named = interp && interp->p_filesz && !elf->bytes[interp->p_offset + interp->p_filesz - 1];
    return named ? (const char *)elf->bytes + interp->p_offset : "/lib64/ld-linux-x86-64.so.2";
}

bool aw_needs_list(const struct aw_parts *parts, const struct aw_elf *elf, const char *path, struct aw_needs *needs)
{
    const char *loader = loader_of(elf);
    char line[2 * PATH_MAX];
    int fds[2], status;
    fflush(stdout);
    if (pipe(fds) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        if (aw_run_environment(parts))
            execl(loader, loader, "--list", path, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    FILE *f = fdopen(fds[0], "r");
    while (f && pid > 0 && fgets(line, sizeof line, f))
        library_line(needs, line);
    if (f)
        fclose(f);
    else
        close(fds[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

void aw_needs_fini(struct aw_needs *needs)
{
    for (size_t i = 0; i < needs->list.n; i++) {
        free(needs->list.at[i].name);
        free(needs->list.at[i].path);
    }
    aw_vec_fini(&needs->list);
}

bool aw_need_is_cudas(const char *name)
{
    static const char *const names[] = { "libcu", "libnv", "libnpp", "libnccl" };
    static const char *const others[] = { "libcups", "libcurl", "libcunit", "libcue", "libnvme" };
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is |= !strncmp(name, names[i], strlen(names[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is &= strncmp(name, others[i], strlen(others[i])) != 0;
    return is;
}

/* Ours lie beside our runtimes, or in a build tree below the same folder. */
bool aw_need_is_ours(const struct aw_parts *parts, const char *path)
{
    char root[PATH_MAX];
    size_t n = strlen(parts->lib_dir);
    if (!strncmp(path, parts->lib_dir, n) && path[n] == '/')
        return true;
    snprintf(root, sizeof root, "%s", parts->lib_dir);
    char *tail = strstr(root, "/src/abi");
    if (!tail || tail[8])
        return false;
    snprintf(tail, 7, "/libs/");
    return !strncmp(path, root, strlen(root));
}
