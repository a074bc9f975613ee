/* Streams of bits. */
#pragma once

#include "../api/code.h"
