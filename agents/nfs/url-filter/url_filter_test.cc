// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <regex>

#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "nfs/url-filter/requests.h"

namespace orrery::url_filter {
namespace {

using namespace orrery::testing;
using namespace url_filter::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;

std::unique_ptr<NfCore> filter(const json& rules, const json& changes = json::object(),
                               std::span<const MetadataField> metadata = {}) {
  json config = {{"rules", rules}};
  config.update(changes);
  return make_nf("url-filter", config, metadata);
}

FrameSpec segment(const std::string& payload, uint16_t port = 1024, uint8_t version = 4) {
  FrameSpec spec;
  spec.ip_version = version;
  spec.src_port = port;
  spec.payload = payload;
  return spec;
}

std::string reason(NfCore& nf, const std::string& payload, uint16_t port = 1024, uint8_t version = 4) {
  return run_one(nf, build_frame(segment(payload, port, version))).reason;
}

// One rule after the other.
struct ModelRule {
  bool block;
  std::string host, path, pattern;
  bool regex, nocase;

  bool matches(const std::string& asked_host, const std::string& asked_path, bool tls) const {
    if (host.starts_with("*.")) {
      const std::string above = host.substr(1);
      if (asked_host.size() <= above.size() || !asked_host.ends_with(above)) return false;
    } else if (!host.empty() && asked_host != host) {
      return false;
    }
    if (!path.empty() && (tls || asked_path.substr(0, path.size()) != path)) return false;
    if (pattern.empty()) return true;
    const std::string url = tls ? asked_host : asked_host + asked_path;
    const auto flags = nocase ? std::regex::ECMAScript | std::regex::icase : std::regex::ECMAScript;
    return std::regex_search(url, std::regex(pattern, flags));
  }
};

TEST(UrlFilter, EqualsASearchThroughTheRulesOnRandomRequests) {
  Rng rng(1);
  static constexpr const char* kHosts[] = {"a.example",  "b.example", "www.a.example", "x.www.a.example",
                                           "xa.example", "example",   "www.b.example", "other.test"};
  static constexpr const char* kPaths[] = {"/",         "/games/", "/games/chess", "/news", "/News/x?ad=1",
                                           "/ads/b.js", "/x/ads"};
  static constexpr const char* kPatterns[] = {"ads", "chess", "example/news", "[xb]\\.", "ad=[0-9]", "^www"};
  std::map<std::string, int> seen;
  for (int round = 0; round < 60; ++round) {
    std::vector<ModelRule> rules;
    json config = json::array();
    for (uint64_t n = rng() % 30; n > 0; --n) {
      ModelRule rule{};
      rule.block = rng() % 2 == 0;
      if (rng() % 3 != 0) rule.host = std::string(rng() % 3 == 0 ? "*." : "") + kHosts[rng() % std::size(kHosts)];
      if (rng() % 3 == 0) rule.path = kPaths[rng() % std::size(kPaths)];
      if (rng() % 4 == 0) rule.pattern = kPatterns[rng() % std::size(kPatterns)];
      rule.regex = true;
      rule.nocase = rng() % 2 == 0;
      json item = {{"action", rule.block ? "block" : "allow"}, {"nocase", rule.nocase}};
      if (!rule.host.empty()) item["host"] = rule.host;
      if (!rule.path.empty()) item["path"] = rule.path;
      if (!rule.pattern.empty()) {
        item["pattern"] = rule.pattern;
        item["kind"] = "regex";
      }
      rules.push_back(rule);
      config.push_back(item);
    }
    const bool block_by_default = rng() % 2 == 0;
    const auto nf = filter(config, {{"default_action", block_by_default ? "block" : "allow"}});
    std::vector<uint64_t> hits(rules.size());
    for (uint16_t port = 1; port <= 300; ++port) {
      const std::string host = kHosts[rng() % std::size(kHosts)], path = kPaths[rng() % std::size(kPaths)];
      const bool tls = rng() % 3 == 0;
      bool block = block_by_default;
      const auto rule = std::ranges::find_if(rules, [&](const ModelRule& r) { return r.matches(host, path, tls); });
      if (rule != rules.end()) {
        block = rule->block;
        ++hits[static_cast<size_t>(rule - rules.begin())];
      }
      const std::string payload = tls ? client_hello(server_name_extension(host)) : http_request(path, host);
      ASSERT_EQ(reason(*nf, payload, port, rng() % 2 == 0 ? 4 : 6), block ? "blocked" : "")
          << config << ' ' << host << path << (tls ? " tls" : "");
      ++seen[std::string(block ? "block" : "allow") + (rule == rules.end() ? " by default" : "")];
    }
    const json state = nf->state(1000);
    for (size_t i = 0; i < rules.size(); ++i) ASSERT_EQ(state["rules"][i]["requests"], hits[i]);
  }
  for (const char* what : {"block", "allow", "block by default", "allow by default"})
    EXPECT_GT(seen[what], 300) << what;
}

const json kBlockGames = json::parse(R"([{"action": "block", "host": "games.example"}])");

TEST(UrlFilter, AFlowKeepsItsVerdictInBothDirections) {
  const MetadataField verdict{"verdict", 4, 2, {{"allowed", 1}, {"blocked", 2}}};
  for (const uint8_t version : {4, 6}) {
    const auto nf = filter(kBlockGames, json::object(), {&verdict, 1});
    const auto send = [&](uint16_t port, const std::string& payload, uint8_t flags, bool back = false) {
      FrameSpec spec = segment(payload, port, version);
      if (back) spec = reply_of(spec);
      const Outcome o = run(*nf, {tcp_frame(spec, flags)}, back ? Direction::kReturn : Direction::kForward,
                            monotonic_ns(), 0xffff)[0];
      EXPECT_EQ(o.metadata & 0xffcf, 0xffcf) << "the bits of others";
      return o.reason + std::to_string(o.metadata >> 4 & 3);
    };
    EXPECT_EQ(send(1, "", kTcpSyn), "0");
    EXPECT_EQ(send(1, "", kTcpSyn | kTcpAck, true), "0");
    EXPECT_EQ(send(1, http_request("/", "games.example"), kTcpAck), "blocked2");
    EXPECT_EQ(send(1, "more", kTcpAck), "blocked2");
    EXPECT_EQ(send(1, "reply", kTcpAck, true), "blocked2");
    EXPECT_EQ(send(1, http_request("/", "good.example"), kTcpAck), "blocked2");
    EXPECT_EQ(send(2, http_request("/", "good.example"), kTcpAck), "1");
    EXPECT_EQ(send(2, "body", kTcpAck), "1");
    EXPECT_EQ(send(2, http_request("/", "games.example"), kTcpAck, true), "1") << "replies are no requests";
    EXPECT_EQ(send(2, http_request("/", "games.example"), kTcpAck), "blocked2") << "a later request";
    EXPECT_EQ(send(3, "SSH-2.0", kTcpAck), "0");
    EXPECT_EQ(send(1, "", kTcpSyn), "0") << "a new connection";
    EXPECT_EQ(send(1, client_hello(server_name_extension("good.example")), kTcpAck), "1");
    const json state = nf->state(10);
    EXPECT_EQ(state["requests_blocked"], 2);
    EXPECT_EQ(state["packets_blocked"], 5);
    EXPECT_EQ(state["refusals"][0]["host"], "games.example");
    EXPECT_EQ(state["refusals"][0]["rule"], 0);
  }
}

TEST(UrlFilter, TagsOnlyWhereItIsToldNotToDrop) {
  const MetadataField verdict{"verdict", 0, 2, {{"allowed", 1}, {"blocked", 2}}};
  const auto nf = filter(kBlockGames, {{"drop", false}}, {&verdict, 1});
  const Outcome o = run_one(*nf, build_frame(segment(http_request("/", "games.example"))));
  EXPECT_EQ(o.reason, "");
  EXPECT_EQ(o.metadata, 2);
}

TEST(UrlFilter, UnreadableRequestsAreAllowedOrBlocked) {
  const std::string cut = http_request("/", "games.example").substr(0, 20);
  const auto lenient = filter(kBlockGames), strict = filter(kBlockGames, {{"unreadable", "block"}});
  EXPECT_EQ(reason(*lenient, cut), "");
  EXPECT_EQ(reason(*lenient, http_request("/", "games.example")), "blocked") << "nothing was decided before";
  EXPECT_EQ(reason(*strict, cut), "unreadable");
  EXPECT_EQ(reason(*strict, "more"), "blocked");
  EXPECT_EQ(reason(*strict, "SSH-2.0", 2), "");
  EXPECT_EQ(strict->state(1)["unreadable"], 1);
  EXPECT_EQ(run_one(*strict, Frame(5)).reason, "malformed");
}

TEST(UrlFilter, LooksAtItsPortsOnly) {
  const auto nf = filter(kBlockGames, {{"ports", {"8000-8010"}}});
  FrameSpec spec = segment(http_request("/", "games.example"));
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "");
  spec.dst_port = 8005;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "blocked");
  EXPECT_EQ(run_one(*nf, build_frame(reply_of(spec)), Direction::kReturn).reason, "blocked");
  spec.proto = kUdp;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "");
}

TEST(UrlFilter, BlockedFlowsAreForgottenLast) {
  const auto nf = filter(kBlockGames, {{"max_flows", 10}, {"idle_timeout_s", 10}});
  const uint64_t now = monotonic_ns();
  const auto send = [&](uint16_t port, const std::string& payload, uint64_t at) {
    return run_one(*nf, build_frame(segment(payload, port)), Direction::kForward, at).reason;
  };
  EXPECT_EQ(send(1, http_request("/", "games.example"), now), "blocked");
  for (uint16_t port = 100; port < 400; ++port) EXPECT_EQ(send(port, http_request("/", "good.example"), now), "");
  EXPECT_EQ(send(1, "more", now + 9 * kSecond), "blocked");
  EXPECT_EQ(send(1, "more", now + 18 * kSecond), "blocked");
  EXPECT_EQ(send(1, "more", now + 29 * kSecond), "") << "idle for too long";
}

TEST(UrlFilter, VerdictsStayWithTheirFlowsThroughNewRulesAndMoves) {
  for (const uint8_t version : {4, 6}) {
    const auto one = filter(kBlockGames);
    EXPECT_EQ(reason(*one, http_request("/", "games.example"), 1, version), "blocked");
    EXPECT_EQ(reason(*one, http_request("/", "good.example"), 2, version), "");
    const auto two = filter(json::array());
    two->import_state(json::parse(one->export_state(RowForm::kBinary).dump()));
    EXPECT_EQ(reason(*two, "more", 1, version), "blocked");
    EXPECT_EQ(two->state(1)["flow_count"], 2);
    one->configure({{"rules", json::array()}});
    EXPECT_EQ(reason(*one, "more", 1, version), "blocked");
    EXPECT_EQ(reason(*one, http_request("/", "games.example"), 3, version), "");
  }
}

TEST(UrlFilter, PointsToWhatIsWrongInARule) {
  const auto error = [](const json& rule) {
    return config_error("url-filter", {{"rules", json::array({{{"action", "allow"}}, rule})}});
  };
  const auto with = [&](const char* field, const json& value) { return error({{"action", "block"}, {field, value}}); };
  EXPECT_EQ(error(json::object()), "/rules/1/action");
  EXPECT_EQ(error({{"action", "drop"}}), "/rules/1/action");
  EXPECT_EQ(with("zz", 1), "/rules/1/zz");
  for (const char* bad : {"", "*.", "a b", "http://x", "x/y", "*.*.x", ".x"})
    EXPECT_EQ(with("host", bad), "/rules/1/host");
  for (const char* good : {"x", "*.x.example", "Example.COM.", "10.0.0.1", "2001:db8::1", "_x.example"})
    EXPECT_EQ(with("host", good), "none") << good;
  EXPECT_EQ(with("path", "games"), "/rules/1/path");
  EXPECT_EQ(error({{"action", "block"}, {"pattern", "("}, {"kind", "regex"}}), "/rules/1/pattern");
  EXPECT_EQ(error({{"action", "block"}, {"pattern", "("}}), "none");
  EXPECT_EQ(config_error("url-filter", {{"rules", json::array_t(1025, {{"action", "block"}})}}), "/rules");
  EXPECT_EQ(config_error("url-filter", {{"ports", {80, 70000}}}), "/ports/1");
}

}  // namespace
}  // namespace orrery::url_filter
