#ifndef CUSHIM_H
#define CUSHIM_H

#include "cushim_driver.h"

#if defined(UINTPTR_MAX) && UINTPTR_MAX < 0xffffffffffffffff
#error "cushim supports 64-bit platforms only"
#endif

