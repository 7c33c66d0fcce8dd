#include "profilers/kernels/kernel_call.h"
