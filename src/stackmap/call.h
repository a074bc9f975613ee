/* Calls between native and compiled code. */
#pragma once

#include "../api/code.h"
