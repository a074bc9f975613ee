/* What makes a stack map whole. */
#pragma once

#include "unwind.h"
