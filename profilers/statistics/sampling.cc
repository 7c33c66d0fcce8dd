#include "profilers/statistics/sampling.h"
