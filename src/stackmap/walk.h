/* Walking frames of compiled code. */
#pragma once

#include "../api/code.h"
