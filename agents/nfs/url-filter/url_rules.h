// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nfs/config_reader.h"
#include "nfs/patterns/matcher.h"
#include "nfs/url-filter/request.h"

namespace orrery::url_filter {

inline constexpr size_t kMaxRules = 1024;

// What a request must have to match; empty: anything.
struct UrlRule {
  bool block;
  std::string host;     // in lower case
  bool subdomains;      // `host` stands for all names below it, itself not among them
  std::string path;     // how the path begins; requests without a path do not match
  std::string pattern;  // found in host and path together
  bool regex;
  bool nocase;

  bool operator==(const UrlRule&) const = default;
};

// The member `rules`. Throws ConfigError.
std::vector<UrlRule> read_url_rules(ConfigReader& reader);

// Finds the first rule that a request matches: by its host, and by each name above it, through a sorted list; patterns
// are searched at once.
class UrlRules {
 public:
  // Throws ConfigError that points to /rules/<i>/pattern.
  explicit UrlRules(std::vector<UrlRule> rules);

  const std::vector<UrlRule>& rules() const { return rules_; }

  // Position of the rule; nothing: none matches. Not const: it notes which patterns are there.
  std::optional<uint16_t> first_match(const Request& request, RequestKind kind);

 private:
  // Rules for one name, as such or for what is below it.
  struct Host {
    std::string name;
    bool subdomains;
    std::vector<uint16_t> rules;  // ascending
  };

  void consider(const std::vector<uint16_t>& candidates, const Request& request, RequestKind kind, size_t& first) const;
  const Host* find(std::string_view name, bool subdomains) const;

  std::vector<UrlRule> rules_;
  std::vector<Host> hosts_;           // sorted
  std::vector<uint16_t> any_host_;    // rules without one
  std::vector<uint16_t> by_pattern_;  // the rule of each pattern
  Matcher matcher_;
  std::bitset<kMaxRules> found_;  // of the request at hand: rules whose pattern is there
};

}  // namespace orrery::url_filter
