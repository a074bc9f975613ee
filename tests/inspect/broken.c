/* Heaps with a fault that `verify` finds: broken barrier | header | reference | none; a type whose name nobody would choose; a
   record of gc_thread_create; and with `code` an object that only compiled code has. */
#include "inspect.h"

typedef struct node {
    gc_object header;
    struct node *left, *right;
} node;
static const gc_type node_type = GC_TYPE(node, left, right);
static gc_type odd_type = GC_TYPE_LEAF(node);
typedef struct held {
    gc_object header;
    size_t number;
} held;
static const gc_type held_type = GC_TYPE_LEAF(held);

static node *old;

static node *new_node(gc_thread *gc) { return (node *)gc_new(gc, &node_type); }

static void break_heap(gc_heap *heap, gc_thread *gc, const char *how) {
    node *young = new_node(gc);
    GC_ROOTS(gc, young);
    if (strcmp(how, "barrier") == 0) {
        gc_collect(heap, 2, GC_COLLECT_DEFAULT); /* cleans the cards of what is old now */
        young = new_node(gc);
        old->left = young;
    } else if (strcmp(how, "header") == 0) {
        old->right->header.type = (const gc_type *)0x1000;
    } else if (strcmp(how, "reference") == 0) {
        old->right->left = (node *)((char *)old->right + 8);
    } else if (strcmp(how, "code") == 0) {
        static struct { /* as compiled code keeps it: gc_code_frame */
            void *previous;
            uintptr_t pc, registers[16];
            uint32_t known;
        } record;
        record.pc = 0x1234;
        record.registers[3] = (uintptr_t)gc_new(gc, &held_type);
        record.known = 1u << 3;
        gc->code = (struct gc_code_frame *)(void *)&record;
    }
    wait_for_inspection();
}

/* A long list, a handle of each kind, and both ends of a dependent one. */
static void fill(gc_heap *heap, gc_thread *gc) {
    node *list = NULL, *kept = NULL;
    GC_ROOTS(gc, list, kept);
    for (int i = 0; i < 100000; i++) {
        node *next = new_node(gc);
        gc_store(gc, &next->left, list);
        list = next;
    }
    gc_store(gc, &old->right, list);
    kept = (node *)gc_new(gc, &odd_type);
    gc_handle_create_dependent(heap, list, kept);
    gc_handle_create(heap, GC_HANDLE_WEAK, list);
    gc_handle_create(heap, GC_HANDLE_PINNED, old);
    gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
}

static void nobody(void *host) { (void)host; }

int main(int argc, char **argv) {
    gc_heap *heap = new_heap(NULL), *second = new_heap(&(gc_options){.suspend = nobody, .restart = nobody});
    gc_thread *gc = gc_thread_attach(heap);
    gc_thread_create(second);
    odd_type.name = "odd \"\\\x1b[31m\x80\xc3\xa9";
    gc_thread_set_name(gc, "main");
    gc_roots_add(heap, &old, 1, 0);
    old = new_node(gc);
    fill(heap, gc);
    for (int i = 0; i < 2; i++) gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    break_heap(heap, gc, argc > 1 ? argv[1] : "none");
}
