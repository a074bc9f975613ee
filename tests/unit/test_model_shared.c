/* The same host, whose sizes several threads may ask for: collector threads, and marking beside the program. It may change its
   barrier. */
#define GC_BARRIER at_run_time
#define MODEL_IS_SHARED
#define GC_IMPLEMENTATION
#include "test_model.c"
