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

namespace orrery::ids {

struct IdsRule {
  std::string id;
  std::string pattern;
  bool regex;
  bool nocase;

  bool operator==(const IdsRule&) const = default;
};

// All patterns as one Hyperscan database in block mode.
class Matcher {
 public:
  // Throws ConfigError that points to /rules/<i>/pattern.
  explicit Matcher(std::span<const IdsRule> rules);

  // Calls on_match(context, rule index) for each rule that matches, once a rule, in no particular order.
  // False when the bytes could not be scanned.
  using OnMatch = void (*)(void* context, uint32_t rule);
  bool scan(std::span<const uint8_t> bytes, OnMatch on_match, void* context) const;

 private:
  struct FreeDatabase {
    void operator()(hs_database* database) const;
  };
  struct FreeScratch {
    void operator()(hs_scratch* scratch) const;
  };

  std::unique_ptr<hs_database, FreeDatabase> database_;  // null without rules
  std::unique_ptr<hs_scratch, FreeScratch> scratch_;
};

}  // namespace orrery::ids
