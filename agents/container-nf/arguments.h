// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery::container_nf {

struct RunOptions {
  std::string near;
  std::string far;
  std::string instance;  // file
  std::string control;   // socket
};

enum class Command { kHelp, kNfs, kHold, kRun };

struct Arguments {
  Command command = Command::kHelp;
  RunOptions run;
};

extern const char* const kUsage;

// Throws std::invalid_argument, which says what is wrong with the command line.
Arguments parse_arguments(int argc, char** argv);

}  // namespace orrery::container_nf
