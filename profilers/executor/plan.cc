#include "profilers/executor/plan.h"
