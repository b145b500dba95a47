// SPDX-License-Identifier: Apache-2.0
// A device profile: the device that the board emulates. profiles/*.json; `sources` there says where each figure is
// from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "board/image/header.h"

namespace orrery::board {

struct Resources {
  uint64_t lut = 0;
  uint64_t ff = 0;
  uint64_t bram_kib = 0;
};

struct Region {
  std::string name;
  Resources resources;
};

// Load time of a bitstream: set-up, then a byte rate.
struct Configuration {
  uint64_t bytes = 0;
  double bytes_per_s = 0;
  double setup_s = 0;
};

struct Profile {
  std::string name;
  std::string title;
  std::string device;
  std::string family;
  uint32_t clock_mhz = 0;
  Resources resources;
  std::vector<Region> regions;  // of each slot
  Configuration full;
  Configuration partial;
  double dma_bytes_per_s = 0;
  double dma_latency_us = 0;
  double port_mbps = 0;

  const Configuration& configuration(ImageKind kind) const { return kind == ImageKind::kFull ? full : partial; }
  // Board time, in seconds, to load `bytes`.
  double load_s(ImageKind kind, uint64_t bytes) const {
    return configuration(kind).setup_s + static_cast<double>(bytes) / configuration(kind).bytes_per_s;
  }
};

nlohmann::json to_json(const Resources& resources);

// Throws EngineError with a pointer to the bad member.
Profile parse_profile(const nlohmann::json& document);

// Throws std::runtime_error with the path if the file is missing, not JSON or not a valid profile.
Profile read_profile(const std::string& path);

}  // namespace orrery::board
