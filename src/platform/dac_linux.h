/* The system calls by which a process reads other processes: Linux. */
#pragma once

#include "../api/dac.h"
#include "image.h"

#ifndef __linux__
#error "gc_dac.h: reading other processes is for Linux only, so far"
#include GC__STOP
#endif
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#ifndef MAP_ANONYMOUS
#error "gc_dac.h: with GC_DAC_IMPLEMENTATION, include it before any other header, or compile with -D_GNU_SOURCE"
#include GC__STOP
#endif

#define GC__DAC_FN static __attribute__((unused))

/* Releases a mapped file's pages, which count as this process's memory; they are loaded again when they are read. */
GC__DAC_FN void gc__dac_os_let_go(const gc__image *file) {
    madvise((void *)(uintptr_t)file->bytes, file->size, MADV_DONTNEED);
}

/* Returns how many bytes, from the first on, the system has copied out of the process. */
GC__DAC_FN size_t gc__dac_os_read(int pid, uint64_t address, void *to, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return done < 0 ? 0 : (size_t)done;
}

/* Returns why the process cannot be read, with the remedy; NULL: it can. `address` is readable in any readable
   process. */
GC__DAC_FN const char *gc__dac_os_refusal(int pid, uint64_t address) {
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)address, 1};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1) return NULL;
    if (errno == ESRCH) return "there is no such process";
    if (errno == ENOSYS) return "this system has no process_vm_readv";
    if (errno == EFAULT) return "its memory is not readable";
    return "the system does not permit it: be the same user or root; or `sysctl kernel.yama.ptrace_scope=0`; or have "
           "the "
           "program call prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); in a container, allow SYS_PTRACE";
}

/* Returns whether the thread has released its process's memory. The first thread remains visible until all have
   ended. */
GC__DAC_FN bool gc__dac_os_has_ended(int tid) {
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};
    return process_vm_readv(tid, &local, 1, &remote, 1, 0) < 0 && errno == ESRCH;
}

/* Returns the thread by whose number the process's memory is read: its first one, unless that has ended before
   others. */
GC__DAC_FN int gc__dac_os_living(int pid) {
    char path[64];
    int found = pid;
    if (!gc__dac_os_has_ended(pid)) return pid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (const struct dirent *each; folder && found == pid && (each = readdir(folder)) != NULL;)
        if (atoi(each->d_name) > 0 && !gc__dac_os_has_ended(atoi(each->d_name))) found = atoi(each->d_name);
    if (folder) closedir(folder);
    return found;
}

GC__DAC_FN uint64_t gc__dac_os_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A native thread that ptrace has stopped. */
typedef struct gc__dac_stopped {
    int tid;
    int signal; /* a signal that the thread was about to receive; it is delivered when the thread continues */
} gc__dac_stopped;

typedef struct gc__dac_stops {
    gc__dac_stopped *threads;
    size_t count, capacity;
} gc__dac_stops;

#define GC__DAC_STOP_MS 5000 /* a thread that does not stop in this time waits for a device */

/* Waits until the thread is outside any system call that only a fatal signal ends: in such a call ptrace could neither
   stop it nor detach from it. Returns false if it remains there. */
GC__DAC_FN bool gc__dac_os_leaves_kernel(int tid) {
    uint64_t deadline = gc__dac_os_now_ms() + GC__DAC_STOP_MS;
    const struct timespec pause = {0, 1000000};
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", tid);
    while (gc__dac_os_now_ms() <= deadline) {
        FILE *file = fopen(path, "re");
        size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file) fclose(file);
        text[length] = 0;
        const char *name_end = strrchr(text, ')');
        if (!name_end || strncmp(name_end, ") D", 3) != 0) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Waits until the seized thread stands still. Returns false if it has ended, or does not stop. */
GC__DAC_FN bool gc__dac_os_await(gc__dac_stopped *thread) {
    uint64_t deadline = gc__dac_os_now_ms() + GC__DAC_STOP_MS;
    const struct timespec pause = {0, 20000};
    for (;;) {
        int status;
        int found = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (found < 0 && errno != EINTR) return false;
        if (found == thread->tid) {
            if (!WIFSTOPPED(status)) return false;
            if (status >> 16 == 0) thread->signal = WSTOPSIG(status);
            return true;
        }
        if (gc__dac_os_now_ms() > deadline) return false;
        nanosleep(&pause, NULL);
    }
}

/* Stops one thread, unless it is stopped already. Returns false if there is no memory. Sets *fault to why the thread
   cannot be stopped. */
GC__DAC_FN bool gc__dac_os_stop_thread(gc__dac_stops *stops, int tid, bool *fresh, const char **fault) {
    for (size_t i = 0; i < stops->count; i++)
        if (stops->threads[i].tid == tid) return true;
    if (stops->count == stops->capacity) {
        size_t capacity = stops->capacity ? stops->capacity * 2 : 16;
        void *threads = realloc(stops->threads, capacity * sizeof *stops->threads);
        if (!threads) return false;
        stops->threads = (gc__dac_stopped *)threads;
        stops->capacity = capacity;
    }
    gc__dac_stopped thread = {tid, 0};
    const char *waits = "one of its threads waits in the kernel, for a child of vfork or for a device, and cannot be "
                        "stopped there: try again later, or read the process while it runs";
    if (!gc__dac_os_leaves_kernel(tid)) {
        *fault = waits;
        return true;
    }
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        if (errno != ESRCH && !gc__dac_os_has_ended(tid))
            *fault = "the system does not permit ptrace: a debugger has the process already; or be the same user or "
                     "root; or `sysctl kernel.yama.ptrace_scope=0`; in a container, allow SYS_PTRACE";
        return true;
    }
    *fresh = true;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || !gc__dac_os_await(&thread)) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
        if (!gc__dac_os_has_ended(tid)) *fault = waits;
        return true;
    }
    stops->threads[stops->count++] = thread;
    return true;
}

GC__DAC_FN void gc__dac_os_resume(gc__dac_stops *stops) {
    for (size_t i = 0; i < stops->count; i++)
        ptrace(PTRACE_DETACH, stops->threads[i].tid, NULL, (void *)(uintptr_t)stops->threads[i].signal);
    free(stops->threads);
    memset(stops, 0, sizeof *stops);
}

/* Stops all threads of the process, including those created during this call. Returns NULL, or why that is
   impossible. */
GC__DAC_FN const char *gc__dac_os_stop(int pid, gc__dac_stops *stops) {
    char path[64];
    bool fresh = true, memory = true;
    const char *fault = NULL;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    memset(stops, 0, sizeof *stops);
    for (int round = 0; fresh && memory && !fault && round < 1000; round++) {
        DIR *folder = opendir(path);
        if (!folder) return "there is no such process, or no /proc";
        fresh = false;
        for (const struct dirent *each; memory && !fault && (each = readdir(folder)) != NULL;)
            if (atoi(each->d_name) > 0) memory = gc__dac_os_stop_thread(stops, atoi(each->d_name), &fresh, &fault);
        closedir(folder);
    }
    if (!fault && memory && stops->count) return NULL;
    gc__dac_os_resume(stops);
    if (!memory) return "there is no memory for the list of its threads";
    return fault ? fault : "it has ended, or none of its threads stops";
}

/* Reads the registers of a stopped thread in the order of the kernel. Returns their number; 0: they are not known. */
GC__DAC_FN unsigned gc__dac_os_registers(int tid, uint64_t *words, unsigned most) {
    struct iovec to = {words, most * sizeof *words};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &to) != 0) return 0;
    return (unsigned)(to.iov_len / sizeof *words);
}
