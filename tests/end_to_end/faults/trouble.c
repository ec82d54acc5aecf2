/* Stands between a program and the C library: one access to a file of the test goes wrong. To be preloaded.
 *
 * TROUBLE         reader, writer, full or stop
 * TROUBLE_NUMBER  at which access among those that it can meet, from 0
 * TROUBLE_ROOT    the folder of the test
 * TROUBLE_COUNT   a file that the number of such accesses is written to at the end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *kind, *root, *count;
static long number;
static atomic_long seen;

__attribute__((constructor)) static void begin(void) {
    kind = getenv("TROUBLE");
    root = getenv("TROUBLE_ROOT");
    count = getenv("TROUBLE_COUNT");
    const char *text = getenv("TROUBLE_NUMBER");
    number = text ? atol(text) : -1;
}

__attribute__((destructor)) static void end(void) {
    FILE *file = count ? fopen(count, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", atomic_load(&seen));
        fclose(file);
    }
}

/* Bundles, store and data. */
static int is_meant(const char *path) {
    size_t length = root ? strlen(root) : 0;
    if (!kind || !length || strncmp(path, root, length) != 0) return 0;
    path += length;
    return !strncmp(path, "/source", 7) || !strncmp(path, "/store", 6) || !strncmp(path, "/data", 5);
}

/* The error that takes the place of an access; 0: none. */
static int trouble(int changes, const char *path) {
    if (!is_meant(path)) return 0;
    int stops = !strcmp(kind, "stop"), reads = !strcmp(kind, "reader"), full = !strcmp(kind, "full");
    if (!stops && reads == changes) return 0;
    long now = atomic_fetch_add(&seen, 1);
    if (full) return number >= 0 && now >= number ? ENOSPC : 0;
    if (now != number) return 0;
    if (!stops) return EIO;
    kill(getpid(), SIGINT);
    return 0;
}

static int trouble_at(int changes, int file) {
    char link[64], path[4096];
    if (!kind) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return trouble(changes, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define UNLESS(error) do { int failed = (error); if (failed) { errno = failed; return -1; } } while (0)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = va_arg(rest, mode_t); \
        va_end(rest); \
        UNLESS(trouble((flags & O_CREAT) != 0, path)); \
        return REAL(name)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

ssize_t read(int file, void *to, size_t size) {
    UNLESS(trouble_at(0, file));
    return REAL(read)(file, to, size);
}
ssize_t pread(int file, void *to, size_t size, off_t at) {
    UNLESS(trouble_at(0, file));
    return REAL(pread)(file, to, size, at);
}
ssize_t pread64(int file, void *to, size_t size, off64_t at) {
    UNLESS(trouble_at(0, file));
    return REAL(pread64)(file, to, size, at);
}
ssize_t write(int file, const void *from, size_t size) {
    UNLESS(trouble_at(1, file));
    return REAL(write)(file, from, size);
}
ssize_t writev(int file, const struct iovec *parts, int many) {
    UNLESS(trouble_at(1, file));
    return REAL(writev)(file, parts, many);
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
    UNLESS(trouble_at(1, file));
    return REAL(pwrite64)(file, from, size, at);
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    UNLESS(trouble_at(1, out));
    return REAL(copy_file_range)(in, from, out, to, size, flags);
}
int mkdir(const char *path, mode_t mode) {
    UNLESS(trouble(1, path));
    return REAL(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
    UNLESS(trouble(1, to));
    return REAL(rename)(from, to);
}
int link(const char *from, const char *to) {
    UNLESS(trouble(1, to));
    return REAL(link)(from, to);
}
int linkat(int in, const char *from, int out, const char *to, int flags) {
    UNLESS(trouble(1, to));
    return REAL(linkat)(in, from, out, to, flags);
}
