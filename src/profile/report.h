/* The report: types by what was allocated of them, each with its stacks, as text. */
#pragma once

#include "model.h"

GC__FN void gc__write_report(const gc__profile *profile, gc__output *output) { (void)profile, (void)output; }
