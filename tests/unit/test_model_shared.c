/* The same host, whose sizes several threads may ask for: collector threads, and marking beside the program. */
#define MODEL_IS_SHARED
#define GC_IMPLEMENTATION
#include "test_model.c"
