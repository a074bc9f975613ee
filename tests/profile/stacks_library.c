/* A library whose functions have frames of FRAME bytes, and a name of their own: NAME. */
#include <string.h>

static __attribute__((noinline)) void NAME(void (*f)(void)) {
    volatile char frame[FRAME];
    memset((char *)frame, 0, FRAME);
    f();
    frame[0] = 1;
}

void relay(void (*f)(void)) {
    NAME(f);
    __asm__ volatile("" ::: "memory");
}
