/* leak.c - a server that forgets to forget: what is in use, by where it was allocated, shows which call keeps the memory.

       GC_PROFILE=leak.html build/examples/profile/leak        and then open leak.html in a browser
       build/examples/profile/leak leak.txt leak.pb            a profile that the program takes of itself */
#define GC_IMPLEMENTATION
#include "gc_profile.h"

typedef struct text {
    gc_array header;
    char letters[];
} text;

typedef struct session {
    gc_object header;
    struct session *next;
    text *user;
    int number;
} session;

typedef struct answer {
    gc_object header;
    text *body;
} answer;

/* Sessions that were closed, for an auditor who never comes. */
typedef struct closed {
    gc_object header;
    session *session;
    struct closed *earlier;
} closed;

static const gc_type text_type = GC_TYPE_ARRAY_LEAF(text, letters);
static const gc_type session_type = GC_TYPE(session, next, user);
static const gc_type answer_type = GC_TYPE(answer, body);
static const gc_type closed_type = GC_TYPE(closed, session, earlier);

static gc_thread *gc;
static session *sessions;
static closed *audit_trail;

#define CALL static __attribute__((noinline))

CALL text *copy_text(const char *from) {
    size_t length = strlen(from);
    text *copy = gc_new_array(gc, &text_type, length);
    memcpy(copy->letters, from, length);
    return copy;
}

CALL void open_session(int number) {
    char name[64];
    session *opened = gc_new(gc, &session_type);
    GC_ROOTS(gc, opened);
    snprintf(name, sizeof name, "user %d, who came by the front door", number);
    text *user = copy_text(name);
    gc_store(gc, &opened->user, user);
    gc_store(gc, &opened->next, sessions);
    opened->number = number;
    sessions = opened;
}

/* Here is the leak: what is appended is never taken off. */
CALL void note_closed(session *ended) {
    GC_ROOTS(gc, ended);
    closed *entry = gc_new(gc, &closed_type);
    gc_store(gc, &entry->session, ended);
    gc_store(gc, &entry->earlier, audit_trail);
    audit_trail = entry;
}

CALL void close_oldest(void) {
    session *before = sessions;
    while (before && before->next && before->next->next) before = before->next;
    if (!before || !before->next) return;
    session *oldest = before->next;
    gc_store(gc, &before->next, NULL);
    note_closed(oldest);
}

CALL void handle_request(int number) {
    answer *reply = gc_new(gc, &answer_type);
    GC_ROOTS(gc, reply);
    text *body = copy_text("<html><body>Nothing here was worth keeping, and nothing of it is kept.</body></html>");
    gc_store(gc, &reply->body, body);
    if (number % 4) return;
    open_session(number);
    if (number > 40) close_oldest();
}

int main(int argc, char **argv) {
    gc_profile_options options = {.period_bytes = 1024, .seed = 1};
    if (argc > 1 && gc_profile_start(&options, NULL) != GC_OK) return 1;
    gc_heap *heap = gc_heap_create(NULL);
    if (!heap || !(gc = gc_thread_attach(heap))) return 1;
    gc_roots_add(heap, &sessions, 1, 0);
    gc_roots_add(heap, &audit_trail, 1, 0);
    for (int i = 0; i < 100000; i++) handle_request(i);
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    for (int i = 1; i < argc; i++)
        if (gc_profile_write(argv[i]) != GC_OK) fprintf(stderr, "%s\n", gc_last_message());
    gc_heap_destroy(heap);
    return 0;
}
