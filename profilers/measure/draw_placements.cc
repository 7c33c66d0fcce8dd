#include "profilers/measure/draw_placements.h"
