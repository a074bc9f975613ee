/* collector.h - gc.h, told which words are references. Every file that uses gc.h includes it through this one. */
#pragma once

#include "calc.h"

#define GC_VALUE_IS_REF(word) is_object(word)
#define GC_VALUE_TO_REF(word) (word)
#define GC_VALUE_FROM_REF(ref, word) (ref)
#include "gc.h"
