/* Stack maps as text. */
#pragma once

#include "../api/code.h"
