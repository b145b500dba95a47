// SPDX-License-Identifier: Apache-2.0
#include "nfs/url-filter/url_rules.h"

#include <algorithm>
#include <tuple>

namespace orrery::url_filter {
namespace {

using nlohmann::json;

constexpr size_t kMaxPatternBytes = 1000;

// Lower case; nothing where it is no name of a host or address.
std::optional<std::string> host_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > Request::kMaxHost || text.starts_with('.')) return std::nullopt;
  std::string out;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool good = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '-' ||
                      lower == '.' || lower == '_' || lower == ':';
    if (!good) return std::nullopt;
    out += lower;
  }
  return out;
}

UrlRule read_rule(const json& value, std::string pointer) {
  ConfigReader reader(value, std::move(pointer));
  UrlRule rule{};
  rule.block = reader.choice("action", {"allow", "block"}) == "block";
  if (reader.optional("host") != nullptr) {
    const std::string text = reader.string("host", Request::kMaxHost + 2);
    rule.subdomains = text.starts_with("*.");
    const auto host = host_name(std::string_view(text).substr(rule.subdomains ? 2 : 0));
    if (!host) reader.fail("host", "must be a host such as www.example.com, or *.example.com for all names below one");
    rule.host = *host;
  }
  if (reader.optional("path") != nullptr) {
    rule.path = reader.string("path", Request::kMaxPath);
    if (!rule.path.starts_with('/')) reader.fail("path", "must begin with /");
  }
  if (reader.optional("pattern") != nullptr) rule.pattern = reader.pattern("pattern", kMaxPatternBytes);
  rule.regex = reader.choice_or("kind", {"literal", "regex"}, "literal") == "regex";
  rule.nocase = reader.boolean_or("nocase", true);
  reader.done();
  return rule;
}

std::vector<Pattern> patterns_of(const std::vector<UrlRule>& rules) {
  std::vector<Pattern> patterns;
  for (size_t i = 0; i < rules.size(); ++i) {
    const UrlRule& rule = rules[i];
    if (rule.pattern.empty()) continue;
    patterns.push_back({rule.pattern, rule.regex, rule.nocase, "/rules/" + std::to_string(i) + "/pattern"});
  }
  return patterns;
}

}  // namespace

std::vector<UrlRule> read_url_rules(ConfigReader& reader) {
  const json& items = reader.array_or_empty("rules", kMaxRules);
  std::vector<UrlRule> rules;
  rules.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) rules.push_back(read_rule(items[i], reader.pointer_to("rules", i)));
  return rules;
}

UrlRules::UrlRules(std::vector<UrlRule> rules) : rules_(std::move(rules)), matcher_(patterns_of(rules_)) {
  for (size_t n = 0; n < rules_.size(); ++n) {
    const auto i = static_cast<uint16_t>(n);
    const UrlRule& rule = rules_[i];
    if (!rule.pattern.empty()) by_pattern_.push_back(i);
    if (rule.host.empty()) {
      any_host_.push_back(i);
      continue;
    }
    const auto same = std::ranges::find_if(
        hosts_, [&](const Host& host) { return host.name == rule.host && host.subdomains == rule.subdomains; });
    if (same == hosts_.end()) {
      hosts_.push_back({rule.host, rule.subdomains, {i}});
    } else {
      same->rules.push_back(i);
    }
  }
  std::ranges::sort(hosts_, {},
                    [](const Host& host) { return std::tuple(std::string_view(host.name), host.subdomains); });
}

std::optional<uint16_t> UrlRules::first_match(const Request& request, RequestKind kind) {
  if (!by_pattern_.empty()) {
    found_.reset();
    const std::string_view url = request.url();
    matcher_.scan(
        {reinterpret_cast<const uint8_t*>(url.data()), url.size()},
        [](void* self, uint32_t pattern) {
          auto* rules = static_cast<UrlRules*>(self);
          rules->found_.set(rules->by_pattern_[pattern]);
        },
        this);
  }
  size_t first = rules_.size();
  consider(any_host_, request, kind, first);
  const std::string_view host = request.host();
  if (const Host* exact = find(host, false)) consider(exact->rules, request, kind, first);
  for (size_t dot = host.find('.'); dot != std::string_view::npos; dot = host.find('.', dot + 1))
    if (const Host* above = find(host.substr(dot + 1), true)) consider(above->rules, request, kind, first);
  return first == rules_.size() ? std::nullopt : std::optional(static_cast<uint16_t>(first));
}

void UrlRules::consider(const std::vector<uint16_t>& candidates, const Request& request, RequestKind kind,
                        size_t& first) const {
  for (const uint16_t i : candidates) {
    if (i >= first) return;
    const UrlRule& rule = rules_[i];
    if (!rule.path.empty() && (kind != RequestKind::kHttp || !request.path().starts_with(rule.path))) continue;
    if (!rule.pattern.empty() && !found_[i]) continue;
    first = i;
    return;
  }
}

const UrlRules::Host* UrlRules::find(std::string_view name, bool subdomains) const {
  const auto key = std::tuple(name, subdomains);
  const auto at = std::ranges::lower_bound(
      hosts_, key, {}, [](const Host& host) { return std::tuple(std::string_view(host.name), host.subdomains); });
  return at != hosts_.end() && at->name == name && at->subdomains == subdomains ? &*at : nullptr;
}

}  // namespace orrery::url_filter
