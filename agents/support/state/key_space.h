// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "support/state/bytes.h"

namespace orrery::state {

// A key as the store has it: `prefix` and `rest` one after the other. Points to what its maker owns.
struct StoreKey {
  std::string_view prefix;
  Bytes rest;

  size_t size() const { return prefix.size() + rest.size(); }
};

// The keys of one kind of a chain's state: `state:{CHAIN}:v:NAME:KEY`. The braces are the hash tag that keeps all of a
// chain in one slot of a cluster.
class KeySpace {
 public:
  // chain: an identifier of the contract; name: [a-z][a-z0-9-]{0,31}. Throws std::invalid_argument with the flaw.
  KeySpace(std::string_view chain, std::string_view name);

  // Valid as long as this and `key` are.
  StoreKey key(Bytes key) const { return {prefix_, key}; }

  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
};

}  // namespace orrery::state
