/* A server that leaks: a session that has ended leaves the list of sessions, but not the table by which it is found. */
#include "inspect.h"

typedef struct session {
    gc_object header;
    struct session *next;
    text *user, *buffer;
    uint64_t id;
} session;

typedef struct table {
    gc_array header;
    session *entries[];
} table;

typedef struct server {
    gc_object header;
    session *open; /* those that have not ended */
    table *by_id;
} server;

static const gc_type session_type = GC_TYPE(session, next, user, buffer);
static const gc_type table_type = GC_TYPE_ARRAY(table, entries);
static const gc_type server_type = GC_TYPE(server, open, by_id);

static server *the_server;

static void begin_session(gc_thread *gc, uint64_t id) {
    char name[32];
    session *fresh = (session *)gc_new(gc, &session_type);
    GC_ROOTS(gc, fresh);
    int length = snprintf(name, sizeof name, "user %llu", (unsigned long long)id);
    fresh->id = id;
    text *user = new_text(gc, name, (size_t)length);
    gc_store(gc, &fresh->user, user);
    text *buffer = new_text(gc, "GET /index.html HTTP/1.1", 1000);
    gc_store(gc, &fresh->buffer, buffer);
    gc_store(gc, &fresh->next, the_server->open);
    gc_store(gc, &the_server->open, fresh);
    gc_store(gc, &the_server->by_id->entries[id % the_server->by_id->header.length], fresh);
}

static void end_all_but_newest(gc_thread *gc) {
    if (the_server->open) gc_store(gc, &the_server->open->next, (session *)NULL);
}

int main(void) {
    gc_heap *heap = new_heap(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    gc_thread_set_name(gc, "main");
    gc_roots_add(heap, &the_server, 1, 0);
    the_server = (server *)gc_new(gc, &server_type);
    table *by_id = (table *)gc_new_array(gc, &table_type, 20011);
    gc_store(gc, &the_server->by_id, by_id);
    for (uint64_t id = 1;; id++) {
        begin_session(gc, id);
        end_all_but_newest(gc);
        if (id % 10000) continue;
        for (int i = 0; i < 2; i++) gc_collect(heap, 2, GC_COLLECT_DEFAULT); /* all objects are old then */
        wait_for_inspection();
    }
}
