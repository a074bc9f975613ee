/* Code ranges by address. */
#pragma once

#include "../api/code.h"
