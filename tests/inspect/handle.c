/* A program with windows on a screen: native code holds each by a strong handle, and forgets to destroy the handle of those that
   were closed. */
#include "inspect.h"

typedef struct picture {
    gc_array header;
    uint32_t pixels[];
} picture;

typedef struct window {
    gc_object header;
    text *title;
    picture *contents;
} window;

typedef struct screen {
    gc_array header;
    window *windows[];
} screen;

static const gc_type picture_type = GC_TYPE_ARRAY_LEAF(picture, pixels);
static const gc_type window_type = GC_TYPE(window, title, contents);
static const gc_type screen_type = GC_TYPE_ARRAY(screen, windows);

enum { SHOWN = 3 };

/* What the window system would keep. */
static gc_handle native[64];

static window *open_window(gc_heap *heap, gc_thread *gc, int number) {
    char title[32];
    int length = snprintf(title, sizeof title, "window %d", number);
    window *fresh = (window *)gc_new(gc, &window_type);
    GC_ROOTS(gc, fresh);
    text *t = new_text(gc, title, (size_t)length);
    gc_store(gc, &fresh->title, t);
    picture *contents = (picture *)gc_new_array(gc, &picture_type, 64 * 48);
    gc_store(gc, &fresh->contents, contents);
    native[number] = gc_handle_create(heap, GC_HANDLE_STRONG, fresh);
    return fresh;
}

static void run(gc_heap *heap, gc_thread *gc) {
    screen *desktop = (screen *)gc_new_array(gc, &screen_type, SHOWN);
    GC_ROOTS(gc, desktop);
    for (int number = 0; number < 40; number++) {
        window *fresh = open_window(heap, gc, number);
        gc_store(gc, &desktop->windows[number % SHOWN], fresh); /* closes the one that was there; its handle remains */
    }
    for (int i = 0; i < 2; i++) gc_collect(heap, 2, GC_COLLECT_DEFAULT); /* all objects are old then */
    wait_for_inspection();
}

int main(void) {
    gc_heap *heap = new_heap(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    gc_thread_set_name(gc, "main");
    run(heap, gc);
}
