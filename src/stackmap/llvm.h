/* The stack maps of LLVM. */
#pragma once

#include "../api/code.h"
