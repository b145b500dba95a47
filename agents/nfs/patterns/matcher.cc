// SPDX-License-Identifier: Apache-2.0
#include "nfs/patterns/matcher.h"

#include <hs/hs.h>

#include "nfs/nf_core.h"
#include "nfs/patterns/report.h"

namespace orrery {
namespace {

// Literals and expressions share a database, so a literal becomes an expression of nothing but bytes.
std::string as_expression(const Pattern& pattern) {
  if (pattern.regex) return pattern.text;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(pattern.text.size() * 4);
  for (char c : pattern.text) {
    const auto byte = static_cast<uint8_t>(c);
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (letter || (byte >= '0' && byte <= '9')) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace

void FreeHyperscan::operator()(hs_database* database) const {
  hs_free_database(database);
}
void FreeHyperscan::operator()(hs_scratch* scratch) const {
  hs_free_scratch(scratch);
}

HyperscanDatabase compile_patterns(std::span<const Pattern> patterns, bool streams) {
  std::vector<std::string> expressions;
  std::vector<const char*> pointers;
  std::vector<unsigned> flags;
  std::vector<unsigned> ids;
  expressions.reserve(patterns.size());
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].regex && patterns[i].text.find('\0') != std::string::npos)
      throw ConfigError(patterns[i].pointer, "must not hold a NUL character; write \\x00");
    expressions.push_back(as_expression(patterns[i]));
    pointers.push_back(expressions.back().c_str());
    // Of a stream a single match would be the only one for as long as it lasts.
    flags.push_back((streams ? 0u : unsigned{HS_FLAG_SINGLEMATCH}) |
                    (patterns[i].nocase ? unsigned{HS_FLAG_CASELESS} : 0u));
    ids.push_back(static_cast<unsigned>(i));
  }
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  const hs_error_t compiled =
      hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(patterns.size()),
                       streams ? HS_MODE_STREAM : HS_MODE_BLOCK, nullptr, &database, &error);
  if (compiled != HS_SUCCESS) {
    const std::string detail = error->message;
    const int index = error->expression;
    hs_free_compile_error(error);
    throw ConfigError(patterns[index < 0 ? 0 : static_cast<size_t>(index)].pointer, detail);
  }
  return HyperscanDatabase(database);
}

HyperscanScratch scratch_for(const HyperscanDatabase& database, const Pattern& first) {
  hs_scratch_t* scratch = nullptr;
  if (hs_alloc_scratch(database.get(), &scratch) != HS_SUCCESS)
    throw ConfigError(first.pointer, "no memory to match the patterns");
  return HyperscanScratch(scratch);
}

Matcher::Matcher(std::span<const Pattern> patterns) {
  if (patterns.empty()) return;
  database_ = compile_patterns(patterns, false);
  scratch_ = scratch_for(database_, patterns[0]);
}

bool Matcher::scan(std::span<const uint8_t> bytes, OnMatch on_match, void* context) const {
  if (database_ == nullptr || bytes.empty()) return true;
  Report report{on_match, context};
  return hs_scan(database_.get(), reinterpret_cast<const char*>(bytes.data()), static_cast<unsigned>(bytes.size()), 0,
                 scratch_.get(), report_match, &report) == HS_SUCCESS;
}

}  // namespace orrery
