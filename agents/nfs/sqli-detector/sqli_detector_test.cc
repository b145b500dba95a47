// SPDX-License-Identifier: Apache-2.0
// GCC 12 with sanitizers warns wrongly about std::regex (GCC bug 105562).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "sqli_patterns.h"

namespace orrery::sqli_detector {
namespace {

using namespace orrery::testing;
using nlohmann::json;

const MetadataField kVerdict = {"verdict", 7, 2, {{"clean", 1}, {"attack", 2}}};

std::unique_ptr<NfCore> make_detector(const json& config) {
  return make_nf("sqli-detector", config, {&kVerdict, 1});
}

int class_of(const Outcome& o) {
  return o.metadata >> 7 & 3;
}

int class_of(NfCore& nf, const FrameSpec& spec, Direction in = Direction::kForward) {
  return class_of(run_one(nf, build_frame(spec), in));
}

FrameSpec with_payload(std::string payload) {
  FrameSpec spec;
  spec.payload = std::move(payload);
  return spec;
}

std::map<std::string, uint64_t> hits_of(const NfCore& nf) {
  std::map<std::string, uint64_t> hits;
  const json state = nf.state(100);
  for (const json& pattern : state["patterns"]) hits[pattern["name"]] = pattern["packets"];
  return hits;
}

// One text for each pattern, in their order.
const std::vector<std::string> kSamples = {
    "id=1 UNION+all%20Select",
    "' oR  1 = 1",
    "x%27or'",
    "' and 12%3d",
    "admin'--",
    "; DROP table users",
    "%3binsert into t",
    ";delete+from t",
    "; update users set",
    ";Shutdown",
    ";exec(",
    "xp_cmdshell",
    "sp_oacreate",
    "Information_Schema.tables",
    "mysql.user",
    "1 sleep(10)",
    "pg_sleep(",
    "benchmark%285",
    "waitfor%20delay",
    "LOAD_FILE(",
    "into outfile",
    "updatexml(",
    "order by 3--",
    "having 1=",
    "group_concat(",
    "char(39)",
    "%40@version",
    "dbms_pipe",
    "utl_http",
    "/*!50000",
    "=0xDEADBEEF",
    "ascii(substring(",
};

TEST(SqliDetector, EqualsAnotherMatcherOnRandomTexts) {
  static constexpr const char* kPieces[] = {
      "'",      "%27",  " ",       "+",      "%20",   "/**/",   "or",     "OR",    "and",    "1",    "42",
      "=",      "%3d",  "--",      "#",      ";",     "%3B",    "union",  "ALL",   "select", "drop", "table",
      "insert", "into", "from",    "delete", "order", "by",     "having", "char",  "(",      ")",    "%28",
      "%29",    ",",    "sleep",   "x",      "_",     "update", "set",    "ascii", "mid",    "=0x",  "deadbeef",
      "@@",     "%40",  "version", "\n",     "\x80",  "exec",   "ute",    "file",  "out"};
  Rng rng(1);
  std::vector<std::regex> oracle;
  for (const SqliPattern& pattern : kSqliPatterns)
    oracle.emplace_back(pattern.expression, std::regex::ECMAScript | std::regex::icase | std::regex::optimize);
  const auto nf = make_detector(json::object());
  std::map<std::string, uint64_t> expected_hits;
  uint64_t attacks = 0;
  constexpr int kTexts = 1500;
  for (int i = 0; i < kTexts; ++i) {
    std::string text = rng() % 3 == 0 ? kSamples[rng() % kSamples.size()] : "";
    for (uint64_t n = rng() % 10; n > 0; --n) text += kPieces[rng() % std::size(kPieces)];
    if (!text.empty() && rng() % 3 == 0) text[rng() % text.size()] ^= static_cast<char>(1u << rng() % 8);
    bool attack = false;
    for (size_t p = 0; p < oracle.size(); ++p) {
      const bool hit = std::regex_search(text, oracle[p]);
      expected_hits[kSqliPatterns[p].name] += hit;
      attack |= hit;
    }
    attacks += attack;
    ASSERT_EQ(class_of(*nf, with_payload(text)), attack ? 2 : 1) << text;
  }
  EXPECT_EQ(hits_of(*nf), expected_hits);
  EXPECT_GT(attacks, 300u);
  EXPECT_LT(attacks, kTexts - 300u);
  EXPECT_EQ(nf->state(0)["attacks"], attacks);
}

TEST(SqliDetector, FindsEachPattern) {
  ASSERT_EQ(std::size(kSqliPatterns), 32u);
  ASSERT_EQ(kSamples.size(), 32u);
  const auto nf = make_detector(json::object());
  for (size_t i = 0; i < kSamples.size(); ++i) {
    const auto before = hits_of(*nf);
    EXPECT_EQ(class_of(*nf, with_payload("GET /?q=" + kSamples[i] + " HTTP/1.1\r\n")), 2) << kSamples[i];
    EXPECT_EQ(hits_of(*nf)[kSqliPatterns[i].name], before.at(kSqliPatterns[i].name) + 1) << kSamples[i];
  }
  const json alert = nf->state(1)["alerts"][0];
  EXPECT_EQ(alert["dst_port"], 80);
  EXPECT_EQ(alert["patterns"], json::array({"ascii-substring"}));
  EXPECT_EQ(nf->state(100)["alerts"].size(), 32u);
}

TEST(SqliDetector, LetsOrdinaryRequestsBe) {
  const auto nf = make_detector({{"drop", true}});
  for (const char* payload :
       {"", "GET /union/select/committee HTTP/1.1\r\nHost: example.org\r\n\r\n", "name=O'Reilly&order=by+name",
        "q=drop+shipping+tables", "sleep(soundly)", "it's 1=1 or so", "price=0x12"})
    EXPECT_EQ(run_one(*nf, build_frame(with_payload(payload))).reason, "") << payload;
  EXPECT_EQ(nf->state(1)["clean"], 7);
}

TEST(SqliDetector, SearchesTheWholePayloadAndNothingElse) {
  const auto nf = make_detector(json::object());
  const std::string attack = "' or 1=1";
  FrameSpec spec = with_payload(std::string(1400, 'x') + attack);
  EXPECT_EQ(class_of(*nf, spec), 2) << "to its last byte";
  spec.ip_option_words = 5;
  EXPECT_EQ(class_of(*nf, spec), 2);
  spec = with_payload("' or 1=");
  spec.padding = 1;
  Frame padded = build_frame(spec);
  padded.back() = '1';
  EXPECT_EQ(class_of(run_one(*nf, padded)), 1) << "padding is not payload";
  spec = with_payload(attack);
  spec.dst_port = 81;
  EXPECT_EQ(class_of(*nf, spec), 1) << "another port";
  spec = reply_of(with_payload(attack));
  EXPECT_EQ(class_of(*nf, spec, Direction::kReturn), 1) << "from the port";
  spec = with_payload(attack);
  EXPECT_EQ(class_of(*nf, spec, Direction::kReturn), 2);
  spec.proto = kUdp;
  EXPECT_EQ(class_of(*nf, spec), 1);
  spec.proto = kTcp;
  spec.fragment_offset = 4;
  EXPECT_EQ(class_of(*nf, spec), 1) << "a later fragment has no port";
  EXPECT_EQ(nf->state(0)["searched"], 4);
}

TEST(SqliDetector, LeavesWhatIsNotIpv4WithoutAVerdict) {
  const auto nf = make_detector(json::object());
  EXPECT_EQ(run(*nf, {arp_frame()}, Direction::kForward, 1, 0xffff)[0].metadata, 0xffff & ~0x180);
  EXPECT_EQ(run(*nf, {build_frame({})}, Direction::kForward, 1, 0xffff)[0].metadata, (0xffff & ~0x180) | 0x80);
  Frame cut = build_frame(with_payload("' or 1=1"));
  cut.pop_back();
  EXPECT_EQ(class_of(run_one(*nf, cut)), 1) << "malformed";
}

TEST(SqliDetector, DropsAttacksWhenToldSo) {
  const auto nf = make_detector({{"ports", {8080, 443}}, {"drop", true}});
  FrameSpec spec = with_payload("' or 1=1");
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "");
  spec.dst_port = 443;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "attack");
  nf->configure({{"ports", {443}}}, {&kVerdict, 1});
  const Outcome tagged = run_one(*nf, build_frame(spec));
  EXPECT_EQ(tagged.reason, "");
  EXPECT_EQ(class_of(tagged), 2);
}

TEST(SqliDetector, PointsToABadPort) {
  EXPECT_EQ(config_error("sqli-detector", {{"ports", json::array()}}), "/ports");
  EXPECT_EQ(config_error("sqli-detector", {{"ports", {1, 2, 3, 4, 5}}}), "/ports");
  EXPECT_EQ(config_error("sqli-detector", {{"ports", {1, 2, 3, 4}}}), "none");
  for (const json& bad : {json(0), json(65536), json("80"), json(-1), json(80)})
    EXPECT_EQ(config_error("sqli-detector", {{"ports", json::array({80, bad})}}), "/ports/1") << bad;
}

}  // namespace
}  // namespace orrery::sqli_detector
