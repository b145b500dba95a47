// SPDX-License-Identifier: Apache-2.0
// What a packet did, step by step, for a console to draw. Names are those of the program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace orrery::p4 {

using NamedValues = std::vector<std::pair<std::string, std::string>>;  // name, value as "0x.."

namespace step {
struct Begin {       // of a pass: which copy this is from here on
  std::string kind;  // normal, resubmit, recirculate, ingress_clone, egress_clone, replication
  uint32_t port;     // where it came in; behind ingress where it goes out
  uint16_t rid;
  uint32_t bytes;
};
struct ParserState {
  std::string parser;
  std::string state;
  std::vector<std::string> extracted;  // header instances
  std::string next;                    // state, or "accept"
};
struct ParserFailed {
  std::string state;
  std::string error;  // PacketTooShort
};
struct ChecksumVerified {
  std::string name;
  bool right;
};
struct ChecksumUpdated {
  std::string name;
  std::string value;
};
struct Pipeline {
  std::string name;  // ingress, egress
};
struct TableLookup {
  std::string table;
  NamedValues key;
  bool hit;
  uint32_t entry;  // handle, meaningful on a hit
};
struct ActionRun {
  std::string action;
  NamedValues args;
};
struct Condition {
  std::string name;
  std::string source;  // text of the P4 program, where the JSON has it
  bool taken;
};
struct Counted {
  std::string counter;
  uint64_t index;
};
struct Metered {
  std::string meter;
  uint64_t index;
  uint8_t colour;
};
struct Register {
  std::string name;
  uint64_t index;
  bool write;
  std::string value;
};
struct Logged {
  std::string text;
};
struct Copied {
  std::string kind;  // clone, multicast, resubmit, recirculate, digest, truncate
  uint64_t id;       // session, group, learn list, length
  uint32_t copies;
};
struct Dropped {
  std::string reason;
};
struct Deparsed {
  std::vector<std::string> headers;
  uint32_t header_bytes;
  uint32_t payload_bytes;
};
struct Sent {
  uint32_t port;
  uint32_t bytes;
};
}  // namespace step

using TraceStep =
    std::variant<step::Begin, step::ParserState, step::ParserFailed, step::ChecksumVerified, step::ChecksumUpdated,
                 step::Pipeline, step::TableLookup, step::ActionRun, step::Condition, step::Counted, step::Metered,
                 step::Register, step::Logged, step::Copied, step::Dropped, step::Deparsed, step::Sent>;

// Of one packet that came in, with all that became of it. Steps beyond the bound are counted, not kept.
struct PacketTrace {
  static constexpr size_t kMaxSteps = 4096;

  std::vector<TraceStep> steps;
  uint64_t left_out = 0;
};

}  // namespace orrery::p4
