/* The server and its visitors: see meeting.h.
 *
 * A request is a letter ('S' set, 'G' get, 'F' forget), the lengths of key and data, and these.  Only 'G' is answered, once the
 * key is there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "meeting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/env.h"
#include "base/hash.h"

/* What is in the 128 bytes of an id. */
struct id {
    char magic[8];
    char word[33]; /* hexadecimal */
    char address[INET6_ADDRSTRLEN];
    char port[6];
};
static const char id_magic[8] = "awnccl1";
_Static_assert(sizeof(struct id) <= sizeof(ncclUniqueId), "an id has 128 bytes");

bool aw_nccl_id_known(const ncclUniqueId *id)
{
    return !memcmp(id->internal, id_magic, sizeof id_magic);
}

/* ---- Addresses. */

static bool interface_wanted(const char *name, const char *wish)
{
    bool exact = *wish == '=';
    for (const char *p = wish + exact; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ",");
        if (!strncmp(name, p, len) && (!exact || !name[len]))
            return true;
    }
    return false;
}

static char own_address[INET6_ADDRSTRLEN];

static void address_choose(void)
{
    const char *wish = aw_env("NCCL_SOCKET_IFNAME");
    struct ifaddrs *list = NULL;
    int best = 0;
    strcpy(own_address, "127.0.0.1");
    if (getifaddrs(&list))
        return;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
            continue;
        bool four = i->ifa_addr->sa_family == AF_INET, six = i->ifa_addr->sa_family == AF_INET6;
        if (!four && (!six || IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr)))
            continue;
        bool wanted = wish && *wish && interface_wanted(i->ifa_name, wish);
        /* Bridges of containers are seen by this machine only. */
        bool local = i->ifa_flags & IFF_LOOPBACK || !strncmp(i->ifa_name, "docker", 6) || !strncmp(i->ifa_name, "virbr", 5);
        int worth = wanted * 8 + !local * 4 + four * 2;
        if (worth <= best)
            continue;
        best = worth;
        getnameinfo(i->ifa_addr, four ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6), own_address, sizeof own_address,
                    NULL, 0, NI_NUMERICHOST);
    }
    freeifaddrs(list);
}

const char *aw_nccl_address(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, address_choose);
    return own_address;
}

/* ---- Whole reads and writes. */

struct head {
    uint32_t what, key, data;
};

static bool write_all(int fd, const void *data, size_t size)
{
    for (const char *p = data; size;) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t size)
{
    for (char *p = data; size;) {
        ssize_t n = recv(fd, p, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* ---- The server: a thread for each visitor, as there are few and they wait. */

struct entry {
    struct entry *next;
    size_t size;
    char *data;
    char key[];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct entry *entries;
    int fd; /* listens; 0: not started */
    char port[6];
} server = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static struct entry *entry_find(const char *key)
{
    struct entry *e = server.entries;
    while (e && strcmp(e->key, key) != 0)
        e = e->next;
    return e;
}

static bool serve_set(const char *key, char *data, size_t size)
{
    struct entry *e = malloc(sizeof *e + strlen(key) + 1);
    if (!e)
        return false;
    e->data = data;
    e->size = size;
    strcpy(e->key, key);
    pthread_mutex_lock(&server.lock);
    e->next = server.entries;
    server.entries = e;
    pthread_cond_broadcast(&server.changed);
    pthread_mutex_unlock(&server.lock);
    return true;
}

static bool serve_get(int fd, const char *key)
{
    pthread_mutex_lock(&server.lock);
    struct entry *e;
    while (!(e = entry_find(key)))
        pthread_cond_wait(&server.changed, &server.lock);
    uint32_t size = (uint32_t)e->size;
    char *copy = malloc(e->size + 1);
    if (copy)
        memcpy(copy, e->data, e->size);
    pthread_mutex_unlock(&server.lock);
    bool fine = copy && write_all(fd, &size, sizeof size) && write_all(fd, copy, size);
    free(copy);
    return fine;
}

static void serve_forget(const char *prefix)
{
    pthread_mutex_lock(&server.lock);
    for (struct entry **p = &server.entries, *e; (e = *p);) {
        if (strncmp(e->key, prefix, strlen(prefix)) != 0) {
            p = &e->next;
            continue;
        }
        *p = e->next;
        free(e->data);
        free(e);
    }
    pthread_mutex_unlock(&server.lock);
}

static void *serve_visitor(void *arg)
{
    enum { KEY_MAX = 256, DATA_MAX = 16 << 20 };
    int fd = (int)(intptr_t)arg;
    struct head head;
    char key[KEY_MAX + 1];
    bool fine = true;
    while (fine && read_all(fd, &head, sizeof head) && head.key >= sizeof((struct id *)0)->word - 1 && head.key <= KEY_MAX &&
           head.data <= DATA_MAX) {
        char *data = malloc(head.data + 1);
        fine = data && read_all(fd, key, head.key) && read_all(fd, data, head.data);
        key[head.key] = 0;
        if (fine && head.what == 'S' && serve_set(key, data, head.data))
            continue; /* which keeps the data */
        free(data);
        if (fine && head.what == 'G')
            fine = serve_get(fd, key);
        else if (fine && head.what == 'F')
            serve_forget(key);
        else
            fine = false;
    }
    close(fd);
    return NULL;
}

static void *serve(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_t thread;
        int fd = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EBADF || errno == EINVAL))
            return NULL;
        if (fd < 0)
            continue;
        if (pthread_create(&thread, NULL, serve_visitor, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
        else
            close(fd);
    }
}

static bool listen_any(int family, int *ret_fd)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr *address = family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t len = family == AF_INET6 ? sizeof six : sizeof four;
    struct sockaddr_storage bound;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (bind(fd, address, len) || listen(fd, SOMAXCONN) ||
        (len = sizeof bound, getsockname(fd, (struct sockaddr *)&bound, &len)) ||
        getnameinfo((struct sockaddr *)&bound, len, NULL, 0, server.port, sizeof server.port, NI_NUMERICSERV)) {
        close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

/* Locked. */
static bool server_start(void)
{
    pthread_t thread;
    int fd;
    if (server.fd)
        return true;
    if (!listen_any(strchr(aw_nccl_address(), ':') ? AF_INET6 : AF_INET, &fd))
        return false;
    server.fd = fd;
    if (pthread_create(&thread, NULL, serve, NULL)) {
        close(fd);
        server.fd = 0;
        return false;
    }
    pthread_detach(thread);
    return true;
}

bool aw_nccl_id_create(ncclUniqueId *ret_id)
{
    struct id id = { 0 };
    unsigned char random[16];
    pthread_mutex_lock(&server.lock);
    bool fine = server_start();
    pthread_mutex_unlock(&server.lock);
    if (!fine || getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    memcpy(id.magic, id_magic, sizeof id.magic);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(id.word + 2 * i, 3, "%02x", random[i]);
    strcpy(id.address, aw_nccl_address());
    strcpy(id.port, server.port);
    memset(ret_id, 0, sizeof *ret_id);
    memcpy(ret_id, &id, sizeof id);
    return true;
}

ncclUniqueId aw_nccl_id_derive(const ncclUniqueId *packed, const void *bytes, size_t size)
{
    ncclUniqueId derived = *packed;
    struct aw_hasher hasher;
    struct id id;
    memcpy(&id, packed, sizeof id);
    aw_hasher_init(&hasher);
    aw_hasher_add(&hasher, id.word, sizeof id.word);
    aw_hasher_add(&hasher, bytes, size);
    aw_hash128_hex(aw_hasher_end(&hasher), id.word);
    memcpy(&derived, &id, sizeof id);
    return derived;
}

/* ---- Visitors. */

struct aw_nccl_visit {
    int fd;
    const volatile int *cancel;
    char word[33];
};

static int connect_once(const struct id *id)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found;
    if (getaddrinfo(id->address, id->port, &hints, &found))
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen)) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

struct aw_nccl_visit *aw_nccl_visit_begin(const ncclUniqueId *packed, const volatile int *cancel)
{
    struct id id;
    struct aw_nccl_visit *visit = calloc(1, sizeof *visit);
    memcpy(&id, packed, sizeof id);
    id.word[sizeof id.word - 1] = id.address[sizeof id.address - 1] = id.port[sizeof id.port - 1] = 0;
    if (!visit)
        return NULL;
    visit->cancel = cancel;
    memcpy(visit->word, id.word, sizeof visit->word);
    while ((visit->fd = connect_once(&id)) < 0) {
        if (*cancel) {
            free(visit);
            return NULL;
        }
        usleep(20000);
    }
    return visit;
}

void aw_nccl_visit_end(struct aw_nccl_visit *visit)
{
    if (!visit)
        return;
    close(visit->fd);
    free(visit);
}

static bool ask(struct aw_nccl_visit *visit, char what, const char *key, const void *data, size_t size)
{
    char full[256];
    int len = snprintf(full, sizeof full, "%s/%s", visit->word, key);
    struct head head = { .what = (unsigned char)what, .key = (uint32_t)len, .data = (uint32_t)size };
    return len < (int)sizeof full && write_all(visit->fd, &head, sizeof head) && write_all(visit->fd, full, (size_t)len) &&
           (!size || write_all(visit->fd, data, size));
}

static bool visit_set(void *user, const char *key, const void *data, size_t size)
{
    return ask(user, 'S', key, data, size);
}

/* The answer may be long in coming: who gives up meanwhile is noticed. */
static bool visit_get(void *user, const char *key, void **ret_data, size_t *ret_size)
{
    struct aw_nccl_visit *visit = user;
    struct pollfd poll_fd = { .fd = visit->fd, .events = POLLIN };
    uint32_t size;
    if (!ask(visit, 'G', key, NULL, 0))
        return false;
    while (poll(&poll_fd, 1, 100) == 0)
        if (*visit->cancel)
            return false;
    if (!read_all(visit->fd, &size, sizeof size))
        return false;
    void *data = malloc(size + 1u);
    if (!data || !read_all(visit->fd, data, size)) {
        free(data);
        return false;
    }
    *ret_data = data;
    *ret_size = size;
    return true;
}

struct aw_nccl_meeting aw_nccl_visit_meeting(struct aw_nccl_visit *visit)
{
    return (struct aw_nccl_meeting){ .user = visit, .set = visit_set, .get = visit_get };
}

void aw_nccl_visit_forget(struct aw_nccl_visit *visit)
{
    ask(visit, 'F', "", NULL, 0);
}
