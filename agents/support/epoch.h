// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery {

// 16 random hexadecimal digits, which tell one run of a program from the next: counters began anew in between.
std::string random_epoch();

}  // namespace orrery
