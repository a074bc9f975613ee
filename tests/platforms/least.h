/* The least that gc.h needs of a system, for a pretended one: calls of POSIX, and pthread_getattr_np. docs/platforms.md has the table. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Memory */
GC__FN size_t gc__os_page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }
GC__FN void *least_map(size_t bytes, int access) {
    void *mapped = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}
GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable) {
    char *mapped = (char *)least_map(bytes + alignment, readable ? PROT_READ : PROT_NONE);
    if (!mapped) return NULL;
    return (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1)); /* what is around it stays reserved */
}
GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible) {
    return mprotect(address, bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}
GC__FN bool gc__os_commit(void *address, size_t bytes) { return gc__os_access(address, bytes, true); }
GC__FN bool gc__os_discard(void *address, size_t bytes) {
    return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1, 0) == address;
}
GC__FN void *gc__os_map(size_t bytes) { return least_map(bytes, PROT_READ | PROT_WRITE); }
GC__FN void gc__os_unmap(void *address, size_t bytes) { munmap(address, bytes); }
GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes) {
    void *mapped = gc__os_map(new_bytes);
    if (!mapped) return NULL;
    memcpy(mapped, address, old_bytes < new_bytes ? old_bytes : new_bytes);
    gc__os_unmap(address, old_bytes);
    return mapped;
}
GC__INLINED bool gc__os_new_aligned(void **memory, size_t alignment, size_t bytes) {
    return posix_memalign(memory, alignment, bytes) == 0;
}
GC__INLINED void gc__os_free_aligned(void *memory) { free(memory); }

/* Clocks */
GC__FN uint64_t least_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
GC__FN uint64_t gc__os_now_ns(void) { return least_clock(CLOCK_MONOTONIC); }
GC__FN uint64_t gc__os_cpu_ns(void) { return least_clock(CLOCK_THREAD_CPUTIME_ID); }

/* Locks and waiting */
struct gc__lock {
    pthread_mutex_t mutex;
    uint64_t owner; /* atomic; 0: nobody */
};
#define GC__LOCK_INITIALIZER \
    { PTHREAD_MUTEX_INITIALIZER, 0 }
GC__FN void gc__lock_init(gc__lock *lock) {
    pthread_mutex_init(&lock->mutex, NULL);
    lock->owner = 0;
}
GC__FN void gc__lock_end(gc__lock *lock) { pthread_mutex_destroy(&lock->mutex); }
GC__FN bool least_taken(gc__lock *lock, int error) {
    if (!error) __atomic_store_n(&lock->owner, gc__os_self(), __ATOMIC_RELAXED);
    return !error;
}
GC__FN void gc__lock_take(gc__lock *lock) { least_taken(lock, pthread_mutex_lock(&lock->mutex)); }
GC__FN bool gc__lock_try(gc__lock *lock) { return least_taken(lock, pthread_mutex_trylock(&lock->mutex)); }
GC__FN void gc__lock_release(gc__lock *lock) {
    __atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock->mutex);
}
GC__FN void least_pause(void) {
    struct timespec pause = {0, 50000};
    nanosleep(&pause, NULL);
}
GC__FN bool gc__lock_take_for(gc__lock *lock, uint64_t ns) {
    for (uint64_t start = gc__os_now_ns(); !gc__lock_try(lock); least_pause())
        if (gc__ns_since(gc__os_now_ns(), start) > ns) return false;
    return true;
}
GC__FN bool gc__lock_is_mine(const gc__lock *lock) { return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == gc__os_identity; }
GC__FN bool gc__lock_is_free(const gc__lock *lock) { return !__atomic_load_n(&lock->owner, __ATOMIC_RELAXED); }
GC__FN void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns) { /* it may return too early */
    (void)ns;
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) least_pause();
}
GC__FN void gc__os_wake(const uint32_t *word) { (void)word; }

/* Threads */
struct gc__os_thread {
    pthread_t id;
    uint64_t self; /* atomic */
    void (*f)(void *context);
    void *context;
};
GC__FN void *least_thread(void *thread) {
    gc__os_thread *self = (gc__os_thread *)thread;
    __atomic_store_n(&self->self, gc__os_self(), __ATOMIC_RELAXED);
    self->f(self->context);
    return NULL;
}
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context) {
    thread->f = f;
    thread->context = context;
    thread->self = 0;
    return pthread_create(&thread->id, NULL, least_thread, thread) == 0;
}
GC__FN void gc__os_thread_join(gc__os_thread *thread) { pthread_join(thread->id, NULL); }
GC__FN void gc__os_thread_abandon(gc__os_thread *thread) { pthread_detach(thread->id); }
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread) {
    return __atomic_load_n(&thread->self, __ATOMIC_RELAXED) == gc__os_self();
}
static pthread_key_t least_key;
static bool least_has_key;
static bool (*least_end)(void);
GC__FN void least_at_end(void *unused) {
    (void)unused;
    if (least_end()) pthread_setspecific(least_key, &least_key);
}
GC__FN bool gc__os_at_thread_end(bool (*f)(void)) { /* gc.h calls it under a lock of the heap; this program has one heap */
    least_end = f;
    if (!least_has_key) least_has_key = pthread_key_create(&least_key, least_at_end) == 0;
    return least_has_key && pthread_setspecific(least_key, &least_key) == 0;
}
GC__FN void gc__os_leave(void) {
    if (least_has_key) pthread_key_delete(least_key);
    least_has_key = false;
}

/* The bounds of the thread's stack */
GC__FN bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    *low = (uintptr_t)lowest;
    *high = *low + bytes;
    return true;
}
