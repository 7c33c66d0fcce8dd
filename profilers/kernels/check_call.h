#pragma once

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Why a call is not one of those that KernelKind describes (numbers of arguments, ranks, shapes
/// and dtypes that do not fit each other), or empty. Whether views lie inside of their storage is
/// not looked at.
std::string WhyMalformed(const KernelCall& call);

}  // namespace emplace
