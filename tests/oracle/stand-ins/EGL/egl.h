/* Stand-in: the types of EGL that cudaEGL.h names. */
#pragma once
#include <stdint.h>
typedef int32_t EGLint;
