/* Stopping threads in compiled code. */
#pragma once

#include "../api/code.h"
