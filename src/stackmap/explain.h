/* Sentences. */
#pragma once

#include "dump.h"
