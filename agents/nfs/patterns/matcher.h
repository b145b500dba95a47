// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct hs_database;
struct hs_scratch;

namespace orrery {

// Bytes to find, or an expression in PCRE syntax without back references and look-around.
struct Pattern {
  std::string text;
  bool regex;
  bool nocase;
  std::string pointer;  // to it in the configuration

  bool operator==(const Pattern&) const = default;
};

struct FreeHyperscan {
  void operator()(hs_database* database) const;
  void operator()(hs_scratch* scratch) const;
};
using HyperscanDatabase = std::unique_ptr<hs_database, FreeHyperscan>;
using HyperscanScratch = std::unique_ptr<hs_scratch, FreeHyperscan>;

// Throws ConfigError that points to the pattern that cannot be used. `streams`: for bytes that come in pieces, in which
// a pattern may be reported many times. Precondition: there are patterns.
HyperscanDatabase compile_patterns(std::span<const Pattern> patterns, bool streams);
HyperscanScratch scratch_for(const HyperscanDatabase& database, const Pattern& first);

// All patterns as one Hyperscan database in block mode.
class Matcher {
 public:
  // Throws ConfigError that points to the pattern that cannot be used.
  explicit Matcher(std::span<const Pattern> patterns);

  // Calls on_match(context, position in the list) for each pattern that matches, once each, in no particular order.
  // False when the bytes could not be scanned.
  using OnMatch = void (*)(void* context, uint32_t pattern);
  bool scan(std::span<const uint8_t> bytes, OnMatch on_match, void* context) const;

 private:
  HyperscanDatabase database_;  // null without patterns
  HyperscanScratch scratch_;
};

}  // namespace orrery
