// SPDX-License-Identifier: Apache-2.0
// Runs an NF on frames in tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "nfs/registry.h"
#include "support/clock.h"
#include "support/testing/frames.h"

namespace orrery::testing {

struct Outcome {
  Frame frame;
  NfVerdict verdict;
  uint16_t metadata;
  std::string reason;  // empty unless dropped
};

inline std::unique_ptr<NfCore> make_nf(std::string_view kind, const nlohmann::json& config,
                                       std::span<const MetadataField> metadata = {}) {
  return find_nf(kind)(config, metadata);
}

// Each frame in a buffer of exactly its size, so that a read beyond it is found; with room around it for an NF that
// resizes packets.
inline std::vector<Outcome> run(NfCore& nf, const std::vector<Frame>& frames, Direction in = Direction::kForward,
                                uint64_t now_ns = monotonic_ns(), uint16_t metadata = 0) {
  const uint16_t headroom = nf.resizes() ? kLeastHeadroom : 0, tailroom = nf.resizes() ? kLeastTailroom : 0;
  std::vector<std::unique_ptr<uint8_t[]>> buffers;
  std::vector<NfPacket> packets;
  for (const Frame& frame : frames) {
    buffers.push_back(std::make_unique<uint8_t[]>(headroom + frame.size() + tailroom));
    uint8_t* data = buffers.back().get() + headroom;
    std::copy(frame.begin(), frame.end(), data);
    packets.push_back({data, static_cast<uint32_t>(frame.size()), parse_packet(frame), metadata, headroom, tailroom});
  }
  std::vector<NfVerdict> verdicts(frames.size(), NfVerdict{true, 255, Direction(7)});
  nf.process(packets, in, verdicts, now_ns);
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < frames.size(); ++i) {
    const NfVerdict& v = verdicts[i];
    const NfPacket& p = packets[i];
    EXPECT_EQ(p.data - p.headroom, buffers[i].get()) << "the room that is left is accounted for";
    EXPECT_EQ(p.headroom + p.length + p.tailroom, headroom + frames[i].size() + tailroom);
    const bool named = v.drop && v.drop_reason < nf.drop_reasons().size();
    outcomes.push_back({Frame(packets[i].data, packets[i].data + packets[i].length), v, packets[i].metadata,
                        named ? std::string(nf.drop_reasons()[v.drop_reason]) : std::string(v.drop ? "?" : "")});
  }
  return outcomes;
}

inline Outcome run_one(NfCore& nf, const Frame& frame, Direction in = Direction::kForward,
                       uint64_t now_ns = monotonic_ns()) {
  return run(nf, {frame}, in, now_ns)[0];
}

// The pointer of the ConfigError that `action` throws, "none" when it throws nothing.
template <class Action>
std::string error_pointer(Action&& action) {
  try {
    action();
  } catch (const ConfigError& e) {
    EXPECT_STRNE(e.what(), "");
    return e.pointer;
  }
  return "none";
}

inline std::string config_error(std::string_view kind, const nlohmann::json& config) {
  return error_pointer([&] { make_nf(kind, config); });
}

// NFS_SOURCE_DIR is set by the build.
inline nlohmann::json descriptor_of(std::string_view kind) {
  std::ifstream file(std::string(NFS_SOURCE_DIR) + "/" + std::string(kind) + "/descriptor.json");
  return nlohmann::json::parse(file);
}

}  // namespace orrery::testing
