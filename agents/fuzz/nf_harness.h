// SPDX-License-Identifier: Apache-2.0
// NFs of the catalogue as fuzz targets run them.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/input.h"
#include "fuzz/packets.h"
#include "nfs/registry.h"
#include "support/clock.h"
#include "support/errors.h"

namespace orrery::fuzz {

struct Kind {
  std::string_view name;
  nlohmann::json config;  // its default one, with examples of what has no default
  std::vector<MetadataField> metadata;
};

// How many of the last kinds compile patterns, for which they take a hundred times as long as all else.
inline constexpr size_t kSlowKinds = 2;

// NFS_SOURCE_DIR is set by the build.
inline const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> out;
    for (const std::string_view name : nf_kinds()) {
      std::ifstream file(std::string(NFS_SOURCE_DIR) + "/" + std::string(name) + "/descriptor.json");
      const auto descriptor = nlohmann::json::parse(file);
      Kind kind{name, descriptor["default_config"], {}};
      // Small tables and few patterns, so that tables fill and an input takes little time.
      for (const char* size : {"max_flows", "max_peers", "max_datagrams"})
        if (kind.config.contains(size)) kind.config[size] = 32;
      if (name == "ids") kind.config["rules"].erase(kind.config["rules"].begin() + 2, kind.config["rules"].end());
      const nlohmann::json& schema = descriptor["config_schema"];
      for (const nlohmann::json& field : schema.value("required", nlohmann::json::array()))
        if (!kind.config.contains(field)) kind.config[field] = schema["properties"][field]["examples"][0];
      for (const nlohmann::json& attribute : descriptor["attributes"]) {
        MetadataField field{attribute["name"], 0, 8, {}};
        for (const nlohmann::json& value : attribute["values"])
          field.values.emplace_back(value["value"], field.values.size() + 1);
        kind.metadata.push_back(std::move(field));
      }
      out.push_back(std::move(kind));
    }
    std::ranges::stable_partition(out,
                                  [](const Kind& kind) { return kind.name != "ids" && kind.name != "sqli-detector"; });
    return out;
  }();
  return all;
}

// The slow ones seldom.
inline size_t kind_index(uint8_t byte) {
  const size_t fast = kinds().size() - kSlowKinds;
  return byte < 252 ? byte % fast : fast + byte % kSlowKinds;
}
// A byte for each kind.
inline std::vector<uint8_t> kind_bytes() {
  std::vector<uint8_t> out{252, 253};
  for (size_t i = 0; i < kinds().size() - kSlowKinds; ++i) out.push_back(static_cast<uint8_t>(i));
  return out;
}

// Sends frames through the NF as the engine does, each in a buffer of its size. What a worker relies on must hold.
inline void process(NfCore& nf, const std::vector<FuzzFrame>& frames, Direction in, uint64_t now_ns) {
  const uint16_t headroom = nf.resizes() ? kLeastHeadroom : 0, tailroom = nf.resizes() ? kLeastTailroom : 0;
  std::vector<std::unique_ptr<uint8_t[]>> buffers;
  std::vector<NfPacket> packets;
  for (const FuzzFrame& frame : frames) {
    const size_t length = frame.bytes.size();
    buffers.push_back(std::make_unique<uint8_t[]>(headroom + length + tailroom));
    uint8_t* data = buffers.back().get() + headroom;
    std::ranges::copy(frame.bytes, data);
    packets.push_back({data, static_cast<uint32_t>(length), parse_packet({data, length}), 0, headroom, tailroom});
  }
  std::vector<NfVerdict> verdicts(frames.size(), NfVerdict{true, 255, Direction(7)});
  nf.process(packets, in, verdicts, now_ns);
  for (size_t i = 0; i < frames.size(); ++i) {
    const NfPacket& p = packets[i];
    const size_t room = headroom + frames[i].bytes.size() + tailroom;
    require(p.data - p.headroom == buffers[i].get() && p.headroom + p.length + p.tailroom == room,
            "the room around the packet is accounted for");
    require(!verdicts[i].drop || verdicts[i].drop_reason < nf.drop_reasons().size(), "a drop has a reason");
    if (verdicts[i].drop) continue;
    require(verdicts[i].out == Direction::kForward || verdicts[i].out == Direction::kReturn, "a verdict is written");
    if (frames[i].intact && !nf.resizes())
      require(testing::checksums_hold(testing::Frame(p.data, p.data + p.length)), "right checksums stay right");
  }
}

// Whether `action` succeeds; a refusal is none if it says where and why.
template <class Action>
bool accepted(Action&& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    require(error.what()[0] != 0, "a refusal has a text");
    require(error.pointer.empty() || error.pointer[0] == '/', "a refusal points to a field");
    return false;
  }
  return true;
}

}  // namespace orrery::fuzz
