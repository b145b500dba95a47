// SPDX-License-Identifier: Apache-2.0
#include "nfs/ids/matcher.h"

#include <hs/hs.h>

#include "nfs/nf_core.h"

namespace orrery::ids {
namespace {

// Literals and expressions share a database, so a literal becomes an expression of nothing but bytes.
std::string as_expression(const IdsRule& rule) {
  if (rule.regex) return rule.pattern;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(rule.pattern.size() * 4);
  for (char c : rule.pattern) {
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

struct Report {
  Matcher::OnMatch on_match;
  void* context;
};

int report_match(unsigned id, unsigned long long, unsigned long long, unsigned, void* context) {
  const auto* report = static_cast<const Report*>(context);
  report->on_match(report->context, id);
  return 0;
}

}  // namespace

void Matcher::FreeDatabase::operator()(hs_database* database) const {
  hs_free_database(database);
}
void Matcher::FreeScratch::operator()(hs_scratch* scratch) const {
  hs_free_scratch(scratch);
}

Matcher::Matcher(std::span<const IdsRule> rules) {
  if (rules.empty()) return;
  std::vector<std::string> expressions;
  std::vector<const char*> pointers;
  std::vector<unsigned> flags;
  std::vector<unsigned> ids;
  expressions.reserve(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].regex && rules[i].pattern.find('\0') != std::string::npos)
      throw ConfigError("/rules/" + std::to_string(i) + "/pattern", "must not hold a NUL character; write \\x00");
    expressions.push_back(as_expression(rules[i]));
    pointers.push_back(expressions.back().c_str());
    flags.push_back(HS_FLAG_SINGLEMATCH | (rules[i].nocase ? unsigned{HS_FLAG_CASELESS} : 0u));
    ids.push_back(static_cast<unsigned>(i));
  }
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  const hs_error_t compiled =
      hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(rules.size()), HS_MODE_BLOCK,
                       nullptr, &database, &error);
  if (compiled != HS_SUCCESS) {
    const std::string detail = error->message;
    const int index = error->expression;
    hs_free_compile_error(error);
    throw ConfigError(index < 0 ? "/rules" : "/rules/" + std::to_string(index) + "/pattern", detail);
  }
  database_.reset(database);
  hs_scratch_t* scratch = nullptr;
  if (hs_alloc_scratch(database, &scratch) != HS_SUCCESS)
    throw ConfigError("/rules", "no memory to match the patterns");
  scratch_.reset(scratch);
}

bool Matcher::scan(std::span<const uint8_t> bytes, OnMatch on_match, void* context) const {
  if (database_ == nullptr || bytes.empty()) return true;
  Report report{on_match, context};
  return hs_scan(database_.get(), reinterpret_cast<const char*>(bytes.data()), static_cast<unsigned>(bytes.size()), 0,
                 scratch_.get(), report_match, &report) == HS_SUCCESS;
}

}  // namespace orrery::ids
