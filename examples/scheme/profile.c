/* profile.c - the call stack in Scheme, for profiles of gc.h. */
#include "compile.h"

#ifdef GC_STANDALONE
void profile_init(machine *m) { (void)m; }
#else
enum { NAME_BYTES = 64, DEPTH_MAX = 256 };

static const char *frame_name(const machine *m, const code *c, char *text) {
    if (c->name == NO_NAME) return c->file ? "(lambda)" : "(prelude)";
    value name = symbol_of(vector_of(m->r.symbols)->items[c->name])->name;
    size_t bytes = string_length(name) < NAME_BYTES ? string_length(name) : NAME_BYTES - 1;
    memcpy(text, string_of(name)->bytes, bytes);
    text[bytes] = 0;
    return text;
}

/* Called by gc.h within an allocation: the machine's registers are saved then. Instructions are run by one C function, in whose
   place the profile has these frames. */
static size_t scheme_stack(void *host, gc_thread *thread, gc_profile_frame *frames, size_t most) {
    static char texts[DEPTH_MAX][NAME_BYTES];
    const machine *m = host;
    const value *fp = m->running ? m->fp : NULL;
    const uint32_t *pc = m->pc;
    size_t count = 0;
    (void)thread;
    for (; fp && count < most && count < DEPTH_MAX; count++) {
        const code *c = closure_of(fp[-3])->code;
        frames[count].function = frame_name(m, c, texts[count]);
        frames[count].file = m->files[c->file];
        frames[count].line = c->lines[pc - c->instructions - 1];
        frames[count].native = count ? NULL : m->loop;
        pc = (const uint32_t *)fp[-2];
        fp = (const value *)fp[-1];
    }
    return count;
}

void profile_init(machine *m) {
    gc_profile_host host = {scheme_stack, NULL, m};
    gc_profile_set_host(&host);
}
#endif
