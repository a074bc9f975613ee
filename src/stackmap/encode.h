/* Writing stack maps. */
#pragma once

#include "../api/code.h"
