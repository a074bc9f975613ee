/* Names of native code. */
#pragma once

#include "model.h"

/* Finds modules, and for each native frame its name, module, file and line. It runs in a copy of the profile, by the thread
   that writes, and may take long. New texts are made by gc__profile_text_add. */
GC__FN void gc__names_find(gc__profile *profile) { (void)profile; }
