// SPDX-License-Identifier: Apache-2.0
// What the control side puts into tables.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "p4/core/bytes.h"

namespace orrery::p4 {

// Of one key field, in the order of the table's key. No bit of a value may be outside of its mask or prefix.
struct KeyMatch {
  bool any = false;            // lpm, ternary, range, optional: every value matches
  ByteString value = {};       // low end of a range
  ByteString mask = {};        // ternary: the mask; range: the high end
  uint32_t prefix_length = 0;  // lpm

  bool operator==(const KeyMatch&) const = default;
};

struct ActionCall {
  uint32_t action = 0;  // index in Program::actions
  std::vector<ByteString> args = {};

  bool operator==(const ActionCall&) const = default;
};
struct MemberRef {
  uint32_t id;
  bool operator==(const MemberRef&) const = default;
};
struct GroupRef {
  uint32_t id;
  bool operator==(const GroupRef&) const = default;
};
// A call in a table of its own actions, the others in one with an action profile.
using EntryAction = std::variant<ActionCall, MemberRef, GroupRef>;

struct TableEntry {
  std::vector<KeyMatch> key = {};
  // The larger one wins, as in P4Runtime; at least 1 where the table has a ternary, range or optional field, else 0.
  // Entries of the JSON count the other way round and are turned about when they are loaded.
  int32_t priority = 0;
  EntryAction action = {};
  uint64_t idle_timeout_ns = 0;  // 0: none

  bool operator==(const TableEntry&) const = default;
};

using EntryHandle = uint32_t;  // of an entry as long as it is there; used again afterwards

struct CounterValue {
  uint64_t packets = 0;
  uint64_t bytes = 0;

  bool operator==(const CounterValue&) const = default;
};

}  // namespace orrery::p4
