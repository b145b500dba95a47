// SPDX-License-Identifier: Apache-2.0
// A packet on its way: its fields, where its bytes are, and what the program has asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "p4/program/code.h"

namespace orrery::p4 {

enum class InstanceType : uint8_t {  // as simple_switch numbers them
  kNormal = 0,
  kIngressClone = 1,
  kEgressClone = 2,
  kRecirculate = 4,
  kReplication = 5,
  kResubmit = 6,
};

inline constexpr uint32_t kNoList = std::numeric_limits<uint32_t>::max();

struct Frame {
  std::vector<uint64_t> words;
  std::vector<uint8_t> varbits;
  const uint8_t* bytes = nullptr;
  uint32_t size = 0;
  uint32_t cursor = 0;          // what is behind it is the payload
  uint32_t length = 0;          // in bytes, with headers that were added and removed
  uint32_t ingress_length = 0;  // what counters and meters count
  uint32_t ingress_port = 0;
  uint32_t egress_port = 0;
  uint32_t truncate = std::numeric_limits<uint32_t>::max();
  uint32_t passes = 0;
  InstanceType type = InstanceType::kNormal;
  uint16_t rid = 0;

  // Asked for, done when the pipeline has ended.
  bool clone = false;
  bool resubmit = false;
  bool recirculate = false;
  bool exit = false;
  bool failed = false;  // assert or assume
  uint32_t clone_session = 0;
  uint32_t clone_list = kNoList;
  uint32_t again_list = kNoList;  // of resubmit or recirculate
  uint32_t digest = kNoList;

  void forget_requests() {
    clone = resubmit = recirculate = exit = failed = false;
    clone_list = again_list = digest = kNoList;
  }
};

}  // namespace orrery::p4
