/* A library to preload: it intercepts calls of the C library and makes one file access of a program fail.
 *
 * TROUBLE         reader, writer, full, stop, kill, or gate: the access waits until the test has acted
 * TROUBLE_NUMBER  the number of the access, from 0, among those that the fault can hit
 * TROUBLE_ROOT    the directory of the test
 * TROUBLE_COUNT   a file to which the number of such accesses is written at the end
 * TROUBLE_MEETS   kinds of accesses that the fault can hit, instead of the default kinds for TROUBLE:
 *                 o open, r read, c create, w write, n rename, d remove
 * TROUBLE_WHERE   a part of the paths that the fault can hit
 * TROUBLE_STEP    the step that must be running
 * TROUBLE_GATE    gate: a file that contains the path of the access while it waits; the access continues when the file is removed
 * TROUBLE_LOG     a file to which accesses are appended: step, kind of step, kind of access and path, separated by tabs
 *
 * A program reports the running step by opening /step/KIND/NAME, a file that does not exist.
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

static const char *fault, *root, *count, *meets, *where, *only_step, *gate, *logged;
static char step[512], kind[64];
static long number;
static atomic_long seen;

static int is_fault(const char *name) { return fault && !strcmp(fault, name); }

__attribute__((constructor)) static void begin(void) {
    fault = getenv("TROUBLE");
    root = getenv("TROUBLE_ROOT");
    count = getenv("TROUBLE_COUNT");
    where = getenv("TROUBLE_WHERE");
    only_step = getenv("TROUBLE_STEP");
    gate = getenv("TROUBLE_GATE");
    logged = getenv("TROUBLE_LOG");
    meets = getenv("TROUBLE_MEETS");
    if (!meets) meets = is_fault("reader") ? "or" : is_fault("stop") || is_fault("gate") ? "orcwnd" : is_fault("kill") ? "cwnd" : "cwn";
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

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Returns whether a path is in the directory of bundles, the cache or the data directory. */
static int is_meant(const char *path) {
    size_t length = root ? strlen(root) : 0;
    if (!fault || !length || strncmp(path, root, length) != 0) return 0;
    path += length;
    return !strncmp(path, "/source", 7) || !strncmp(path, "/store", 6) || !strncmp(path, "/data", 5);
}

static void append(const char *to, const char *text) {
    int file = REAL(open)(to, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) return;
    if (REAL(write)(file, text, strlen(text)) < 0) abort();
    close(file);
}

static void wait_at_gate(const char *path) {
    char made[4096];
    snprintf(made, sizeof made, "%s.made", gate);
    append(made, path);
    REAL(rename)(made, gate);
    while (access(gate, F_OK) == 0) usleep(200);
}

/* Returns the error with which to replace an access, or 0. */
static int trouble(char what, const char *path) {
    if (!is_meant(path)) return 0;
    if (logged) {
        char line[8192];
        snprintf(line, sizeof line, "%s\t%s\t%c\t%s\n", step, kind, what, path);
        append(logged, line);
    }
    if (!strchr(meets, what) || (where && !strstr(path, where))) return 0;
    int is_late = is_fault("full") && number >= 0 && atomic_load(&seen) > number;
    if (only_step && strcmp(only_step, step) != 0 && !is_late) return 0;
    long now = atomic_fetch_add(&seen, 1);
    if (is_fault("full")) return number >= 0 && now >= number ? ENOSPC : 0;
    if (now != number) return 0;
    if (is_fault("gate")) {
        wait_at_gate(path);
        return 0;
    }
    if (is_fault("kill")) kill(getpid(), SIGKILL);
    if (!is_fault("stop")) return EIO;
    kill(getpid(), SIGINT);
    return 0;
}

static int trouble_at(char what, int file) {
    char link[64], path[4096];
    if (!fault) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return trouble(what, path);
}

static void record_step(const char *path) {
    if (strncmp(path, "/step/", 6) != 0) return;
    const char *name = strchr(path + 6, '/');
    if (!name) return;
    snprintf(kind, sizeof kind, "%.*s", (int)(name - path - 6), path + 6);
    snprintf(step, sizeof step, "%s", name + 1);
}

#define UNLESS(error) do { int failed = (error); if (failed) { errno = failed; return -1; } } while (0)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = va_arg(rest, mode_t); \
        va_end(rest); \
        int makes = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; \
        record_step(path); \
        UNLESS(trouble(makes ? 'c' : 'o', path)); \
        return REAL(name)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

ssize_t read(int file, void *to, size_t size) {
    UNLESS(trouble_at('r', file));
    return REAL(read)(file, to, size);
}
ssize_t pread(int file, void *to, size_t size, off_t at) {
    UNLESS(trouble_at('r', file));
    return REAL(pread)(file, to, size, at);
}
ssize_t pread64(int file, void *to, size_t size, off64_t at) {
    UNLESS(trouble_at('r', file));
    return REAL(pread64)(file, to, size, at);
}
ssize_t write(int file, const void *from, size_t size) {
    UNLESS(trouble_at('w', file));
    return REAL(write)(file, from, size);
}
ssize_t writev(int file, const struct iovec *parts, int many) {
    UNLESS(trouble_at('w', file));
    return REAL(writev)(file, parts, many);
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
    UNLESS(trouble_at('w', file));
    return REAL(pwrite64)(file, from, size, at);
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    UNLESS(trouble_at('w', out));
    return REAL(copy_file_range)(in, from, out, to, size, flags);
}
int mkdir(const char *path, mode_t mode) {
    UNLESS(trouble('c', path));
    return REAL(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
    UNLESS(trouble('n', to));
    return REAL(rename)(from, to);
}
int link(const char *from, const char *to) {
    UNLESS(trouble('c', to));
    return REAL(link)(from, to);
}
int linkat(int in, const char *from, int out, const char *to, int flags) {
    UNLESS(trouble('c', to));
    return REAL(linkat)(in, from, out, to, flags);
}
/* Ignore temporary files: destructors remove them, and cannot report an error. */
static int removal(const char *path) { return strstr(path, "/.") ? 0 : trouble('d', path); }

int unlink(const char *path) {
    UNLESS(removal(path));
    return REAL(unlink)(path);
}
int rmdir(const char *path) {
    UNLESS(removal(path));
    return REAL(rmdir)(path);
}
