/* The bits by which the last collection of a cycle passes over handles (handles/settle.h). A clump of two handles, which a mutator
   stores to: object 0 is marked, object 1 is not, and nobody marks it meanwhile. The marker says that both handles are settled, reads
   their places, and takes back what is not. Each read and store is a step of its own. At the end, when the world is stopped, a handle
   that is settled must refer to object 0.

   Faults: FLAG_FIRST, the mutator ends that the clump is settled before it writes the place; READ_FIRST, the marker reads the places
   before it says that they are settled; NO_COMPARE, it takes back without looking whether a store has come since. */
#define STORES 3

byte place[2];   /* 0 and 1: objects */
byte settled[2]; /* bits of one word: each step reads or writes both */
byte running = 2;

#define SET(both) atomic { settled[0] = both; settled[1] = both }

proctype mutator() {
    byte i, h, o;
    for (i : 1 .. STORES) {
        if :: h = 0 :: h = 1 fi;
        if :: o = 0 :: o = 1 fi;
#ifdef FLAG_FIRST
        SET(0);
        place[h] = o;
#else
        place[h] = o;
        SET(0);
#endif
    }
    atomic { o = 0; h = 0; running-- }
}

proctype marker() {
    byte pass, had[2], seen[2];
    for (pass : 1 .. 2) {
#ifdef READ_FIRST
        seen[0] = place[0];
        seen[1] = place[1];
#endif
        atomic { had[0] = settled[0]; had[1] = settled[1]; settled[0] = 1; settled[1] = 1 } /* an exchange */
#ifndef READ_FIRST
        if :: had[0] -> seen[0] = 0 :: else -> seen[0] = place[0] fi;
        if :: had[1] -> seen[1] = 0 :: else -> seen[1] = place[1] fi;
#endif
        atomic {
#ifdef NO_COMPARE
            settled[0] = !seen[0]; settled[1] = !seen[1];
#else
            if
            :: settled[0] && settled[1] -> settled[0] = !seen[0]; settled[1] = !seen[1]
            :: else
            fi;
#endif
            seen[0] = 0; seen[1] = 0; had[0] = 0; had[1] = 0
        }
    }
    atomic { pass = 0; running-- }
}

init {
    atomic {
        if :: place[0] = 0 :: place[0] = 1 fi;
        if :: place[1] = 0 :: place[1] = 1 fi;
        run mutator();
        run marker()
    }
    running == 0;
    assert(!settled[0] || place[0] == 0);
    assert(!settled[1] || place[1] == 0)
}
