// SPDX-License-Identifier: Apache-2.0
// orrery-flows: many concurrent flows from an interface of its network namespace, and what counts them at the other
// end.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "flows/generate.h"
#include "flows/settings.h"
#include "flows/sink.h"
#include "support/end_signals.h"
#include "support/errors.h"

namespace {

constexpr char kUsage[] = "usage: orrery-flows generate|sink SETTINGS\n";

void report(const nlohmann::json& metrics, const std::string& detail) {
  const nlohmann::json line = {{"metrics", metrics},
                               {"detail", detail.empty() ? nlohmann::json() : nlohmann::json(detail)}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool generates = argc == 3 && std::strcmp(argv[1], "generate") == 0;
  if (!generates && (argc != 3 || std::strcmp(argv[1], "sink") != 0)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    const nlohmann::json settings = nlohmann::json::parse(argv[2]);
    std::atomic<bool> stop = false;
    const orrery::EndSignals signals([&stop] { stop = true; });
    if (generates) {
      orrery::flows::generate(orrery::flows::generate_settings(settings), stop, report);
    } else {
      orrery::flows::sink(orrery::flows::sink_settings(settings), stop, report);
    }
  } catch (const orrery::EngineError& error) {
    std::fprintf(stderr, "orrery-flows: %s %s\n", error.pointer.c_str(), error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery-flows: %s\n", error.what());
    return 1;
  }
  return 0;
}
