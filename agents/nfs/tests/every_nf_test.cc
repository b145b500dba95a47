// SPDX-License-Identifier: Apache-2.0
// What holds for every NF: no packet harms it, its descriptor tells the truth, its configuration is checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nfs/state_copy.h"
#include "nfs/testing/allocation_count.h"
#include "nfs/testing/nf_driver.h"

namespace orrery {
namespace {

using namespace orrery::testing;
using nlohmann::json;

bool holds(const json& list, const std::string& value) {
  return std::any_of(list.begin(), list.end(), [&](const json& item) { return item == value; });
}

// The default, or an example of what has none.
json value_of(const json& schema) {
  return schema.contains("default") ? schema["default"] : schema["examples"][0];
}

// Of either IP version.
FrameSpec random_ip_spec(Rng& rng) {
  return rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
}

std::vector<Frame> harmful_frames(Rng& rng) {
  std::vector<Frame> frames = malformed_corpus(rng);
  for (Frame& frame : malformed_ipv6_corpus(rng)) frames.push_back(std::move(frame));
  return frames;
}

class EveryNf : public ::testing::TestWithParam<std::string_view> {
 protected:
  EveryNf() {
    const json& schema = descriptor_["config_schema"];
    for (const json& field : schema.value("required", json::array()))
      if (!config_.contains(field)) config_[field] = value_of(schema["properties"][field]);
    // What the packets of these tests would take by the clock proves nothing.
    if (config_.contains("packet_us")) config_["packet_us"] = 0;
  }

  json descriptor_ = descriptor_of(GetParam());
  json config_ = descriptor_["default_config"];
};

void expect_sound(const NfCore& nf, const std::vector<Frame>& frames, const std::vector<Outcome>& outcomes) {
  for (size_t i = 0; i < frames.size(); ++i) {
    const Outcome& o = outcomes[i];
    ASSERT_NE(o.reason, "?") << "a drop without a reason of the NF's own";
    ASSERT_LE(static_cast<unsigned>(o.verdict.out), 1u) << "every verdict is written";
    ASSERT_LT(nf.drop_reasons().size(), 9u);
    if (o.verdict.drop || parse_packet(frames[i]).kind == PacketKind::kMalformed) {
      ASSERT_TRUE(std::equal(frames[i].begin() + std::min<size_t>(14, frames[i].size()), frames[i].end(),
                             o.frame.begin() + std::min<size_t>(14, frames[i].size())))
          << "what cannot be understood is not written to";
    }
  }
}

TEST_P(EveryNf, SurvivesMalformedPacketsInBothDirections) {
  Rng rng(1);
  const std::vector<Frame> corpus = harmful_frames(rng);
  const auto nf = make_nf(GetParam(), config_);
  uint64_t now = monotonic_ns();
  for (Direction in : {Direction::kForward, Direction::kReturn}) {
    for (size_t begin = 0, size = 1; begin < corpus.size(); begin += size, size = size % 67 + 1, now += 1'000'000) {
      const auto end = std::min(begin + size, corpus.size());
      const std::vector<Frame> batch(corpus.begin() + static_cast<ptrdiff_t>(begin),
                                     corpus.begin() + static_cast<ptrdiff_t>(end));
      expect_sound(*nf, batch, run(*nf, batch, in, now));
    }
  }
  EXPECT_TRUE(nf->state(10).is_object());
}

TEST_P(EveryNf, SurvivesRepliesToWhatItLetOut) {
  Rng rng(2);
  const auto nf = make_nf(GetParam(), config_);
  std::vector<Frame> back;
  for (const Outcome& o : run(*nf, harmful_frames(rng))) {
    if (o.verdict.drop) continue;
    back.push_back(o.frame);
    if (parse_packet(o.frame).kind != PacketKind::kIpTransport || rng() % 20 != 0) continue;
    const Frame error = build_icmp_error(0x08080808, o.frame[14] >> 4 == 6 ? 1 : 3, o.frame, 8 + rng() % 40);
    for (size_t n = 30; n <= error.size(); ++n)
      back.emplace_back(error.begin(), error.begin() + static_cast<ptrdiff_t>(n));
    for (int i = 0; i < 20; ++i) {
      back.push_back(error);
      back.back()[rng() % error.size()] ^= static_cast<uint8_t>(1 + rng() % 255);
    }
  }
  expect_sound(*nf, back, run(*nf, back, Direction::kReturn));
}

TEST_P(EveryNf, TakesBatchesOfAnySize) {
  const auto nf = make_nf(GetParam(), config_);
  for (size_t size : {0, 1, 31, 32, 33, 64, 100, 1000})
    for (const Outcome& o : run(*nf, std::vector<Frame>(size, build_frame({}))))
      EXPECT_EQ(o.verdict.out, Direction::kForward);
}

TEST_P(EveryNf, AllocatesNothingForPackets) {
  Rng rng(5);
  const auto nf = make_nf(GetParam(), config_);
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(build_frame(random_ip_spec(rng)));
  frames.push_back(arp_frame());
  frames.push_back(Frame(9));
  FrameSpec attack;
  for (const char* payload : {"../../etc/passwd", "GET /?id=1' or 1=1 HTTP/1.1\r\n"}) {
    attack.payload = payload;
    frames.push_back(build_frame(attack));
    frames.push_back(build_frame(over_ipv6(attack)));
  }
  std::vector<NfPacket> packets;
  for (Frame& frame : frames) {
    const ParsedPacket parsed = parse_packet(frame);
    const auto length = static_cast<uint32_t>(frame.size());
    frame.insert(frame.begin(), kLeastHeadroom, 0);
    frame.resize(frame.size() + kLeastTailroom);
    packets.push_back({&frame[kLeastHeadroom], length, parsed, 0, kLeastHeadroom, kLeastTailroom});
  }
  std::vector<NfVerdict> verdicts(packets.size());
  const uint64_t before = allocation_count();
  ASSERT_GT(before, 0u);
  nf->process(packets, Direction::kForward, verdicts, monotonic_ns());
  nf->process(packets, Direction::kReturn, verdicts, monotonic_ns());
  nf->process(packets, Direction::kForward, verdicts, monotonic_ns() + 100'000'000'000u);
  EXPECT_EQ(allocation_count(), before);
}

// What would allocate, JSON and text above all, cannot be made while the worker is parked.
TEST_P(EveryNf, AllocatesNothingInThePausesOfTheWorker) {
  static_assert(!PlainFigures<json> && !PlainFigures<std::string> && !PlainFigures<std::vector<int>>);
  Rng rng(7);
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(build_frame(random_ip_spec(rng)));
  FrameSpec attack;
  attack.payload = "GET /../../etc/passwd?id=1' or 1=1 HTTP/1.1\r\n";
  frames.push_back(build_frame(attack));
  const auto nf = make_nf(GetParam(), config_), other = make_nf(GetParam(), config_);
  run(*nf, frames);
  const auto state = nf->copy_state(1000), flows = nf->copy_flows();
  const auto import = other->prepare_import(nf->export_state());
  const auto next = nf->prepare(config_, {});
  const uint64_t before = allocation_count();
  while (state->copy(100)) continue;
  while (flows->copy(100)) continue;
  while (import->take(100)) continue;
  nf->take(*next);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_TRUE(state->finish(RowForm::kArrays).is_object());
  EXPECT_EQ(other->export_state().size(), flows->finish(RowForm::kArrays).size());
}

// As the engine does it: packets come between the slices, some of flows that come in too.
TEST_P(EveryNf, StateThatIsImportedInSlicesIsThereInTheEnd) {
  Rng rng(8);
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(build_frame(random_ip_spec(rng)));
  const auto nf = make_nf(GetParam(), config_), other = make_nf(GetParam(), config_);
  run(*nf, frames);
  const json state = nf->export_state();
  const auto import = other->prepare_import(state);
  while (import->take(7)) run(*other, {build_frame(random_ip_spec(rng))});
  if (!state.contains("flows")) return;
  const auto keys = [](const json& rows) {
    std::set<std::string> out;
    for (const json& row : rows) out.insert(json(json::array_t(row.begin(), row.begin() + 3)).dump());
    return out;
  };
  const auto here = keys(other->export_state()["flows"]);
  size_t missing = 0;
  for (const std::string& flow : keys(state["flows"])) missing += !here.contains(flow);
  // A NAT refuses a mapping whose port a packet took meanwhile.
  EXPECT_LE(missing, other->state(1).value("imports_refused", 0u));
}

TEST_P(EveryNf, LetsNonIpThroughInItsDirection) {
  const auto nf = make_nf(GetParam(), config_);
  for (Direction in : {Direction::kForward, Direction::kReturn}) {
    const Outcome o = run_one(*nf, arp_frame(), in);
    EXPECT_FALSE(o.verdict.drop);
    EXPECT_EQ(o.verdict.out, in);
    EXPECT_EQ(o.frame, arp_frame());
  }
}

TEST_P(EveryNf, DropsOnlyIfItsDescriptorSaysSo) {
  const bool may_drop = descriptor_["actions"]["may_drop"];
  EXPECT_EQ(may_drop, !make_nf(GetParam(), config_)->drop_reasons().empty());
}

TEST_P(EveryNf, ChangesOnlyTheFieldsItsDescriptorNames) {
  Rng rng(3);
  json config = config_;
  if (GetParam() == "l2-forwarder") config["swap_macs"] = true;
  const auto nf = make_nf(GetParam(), config);
  const json& writes = descriptor_["actions"]["writes"];
  EXPECT_EQ(nf->resizes(), !descriptor_["actions"]["adds"].empty() || !descriptor_["actions"]["removes"].empty());
  const auto may_write = [&](const char* field) { return holds(writes, field); };
  for (int i = 0; i < 2000; ++i) {
    const Frame frame = build_frame(random_ip_spec(rng));
    const Outcome o = run_one(*nf, frame);
    const ParsedPacket before = parse_packet(frame);
    const ParsedPacket after = parse_packet(o.frame);
    ASSERT_TRUE(may_write("eth.src") || std::equal(frame.begin(), frame.begin() + 12, o.frame.begin()));
    ASSERT_TRUE(checksums_hold(o.frame));
    if (nf->resizes()) continue;
    ASSERT_EQ(frame.size(), o.frame.size());
    ASSERT_EQ(after.kind, before.kind);
    ASSERT_TRUE(std::equal(frame.begin() + 12, frame.begin() + 14, o.frame.begin() + 12));
    ASSERT_TRUE(may_write("ip.src") || after.ip_src == before.ip_src);
    ASSERT_TRUE(may_write("ip.dst") || after.ip_dst == before.ip_dst);
    ASSERT_TRUE(before.ip_version != 6 ||
                std::equal(frame.begin() + before.l3_offset, frame.end(), o.frame.begin() + before.l3_offset));
    ASSERT_TRUE(may_write("port.src") || after.src_port == before.src_port);
    ASSERT_TRUE(may_write("port.dst") || after.dst_port == before.dst_port);
    ASSERT_TRUE(
        std::equal(frame.begin() + before.payload_offset, frame.end(), o.frame.begin() + before.payload_offset));
  }
}

TEST_P(EveryNf, RefusesUnknownFieldsAndWrongTypes) {
  const auto nf = make_nf(GetParam(), config_);
  json unknown = config_;
  unknown["zz/~"] = 1;
  EXPECT_EQ(config_error(GetParam(), unknown), "/zz~1~0");
  EXPECT_EQ(error_pointer([&] { nf->configure(unknown); }), "/zz~1~0");
  EXPECT_EQ(config_error(GetParam(), json::array()), "");
  for (const auto& [field, schema] : descriptor_["config_schema"]["properties"].items()) {
    const std::vector<json> wrong = {json(nullptr), json({{"a", 1}}), json(-1), json(1.6),
                                     schema["type"] == "string" ? json(true) : json("x")};
    for (const json& value : wrong) {
      json config = config_;
      config[field] = value;
      EXPECT_EQ(config_error(GetParam(), config), "/" + field) << value;
    }
  }
}

// What JSON can say and no field means: beyond every integer, below zero, not whole, and numbers in strings.
TEST_P(EveryNf, RefusesAbsurdNumbersByName) {
  const auto nf = make_nf(GetParam(), config_);
  for (const auto& [field, schema] : descriptor_["config_schema"]["properties"].items()) {
    for (const char* text : {"1e300", "-1e300", "1e19", "18446744073709551616", "18446744073709551615", "-1",
                             "-9223372036854775808", "0.5e-300", "\"1\"", "[[1]]", "null"}) {
      json config = config_;
      config[field] = json::parse(text);
      EXPECT_EQ(config_error(GetParam(), config).substr(0, field.size() + 1), "/" + field) << text;
      EXPECT_TRUE(error_pointer([&] { nf->configure(config); }).starts_with("/" + field)) << text;
    }
  }
  const json state = nf->export_state();
  for (const auto& [field, value] : state.items()) {
    if (!value.is_number()) continue;
    for (const char* text : {"1e300", "18446744073709551616", "-1", "0.5", "\"1\"", "null"}) {
      json bad = state;
      bad[field] = json::parse(text);
      EXPECT_EQ(error_pointer([&] { nf->import_state(bad); }), "/" + field) << text;
    }
  }
}

TEST_P(EveryNf, HoldsToTheBoundsAndDefaultsOfItsSchema) {
  for (const auto& [field, schema] : descriptor_["config_schema"]["properties"].items()) {
    json config = config_;
    config[field] = value_of(schema);
    EXPECT_EQ(config_error(GetParam(), config), "none") << field;
    if (schema["type"] != "integer" && schema["type"] != "number") continue;
    if (field == "port_hi") config["port_lo"] = 1;
    const json step = schema.value("multipleOf", json(1));
    const auto lo = schema["minimum"].get<double>();
    const auto hi = schema["maximum"].get<double>();
    const auto beyond = step.get<double>();
    for (const auto& [value, good] : {std::pair{lo, true}, {hi, true}, {lo - beyond, false}, {hi + beyond, false}}) {
      config[field] = value;
      EXPECT_EQ(config_error(GetParam(), config), good ? "none" : "/" + field) << value;
    }
  }
}

TEST_P(EveryNf, AnAbsentFieldMeansTheDefaultOfTheSchema) {
  json defaults = json::object();
  json required = json::object();
  const json& schema = descriptor_["config_schema"];
  const json must = schema.value("required", json::array());
  for (const auto& [field, property] : schema["properties"].items()) {
    defaults[field] = value_of(property);
    if (holds(must, field)) required[field] = value_of(property);
  }
  EXPECT_EQ(make_nf(GetParam(), defaults)->state(100).dump(), make_nf(GetParam(), required)->state(100).dump());
  for (const auto& field : must) {
    json config = config_;
    config.erase(field.get<std::string>());
    EXPECT_EQ(config_error(GetParam(), config), "/" + field.get<std::string>());
  }
}

TEST_P(EveryNf, ExportedStateGoesIntoAnother) {
  Rng rng(4);
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(build_frame(random_ip_spec(rng)));
  const auto nf = make_nf(GetParam(), config_);
  run(*nf, frames);
  const json state = json::parse(nf->export_state().dump());
  const auto other = make_nf(GetParam(), config_);
  other->import_state(state);
  other->import_state(state);
  if (state.contains("flows")) {
    EXPECT_EQ(other->export_state()["flows"].size(), state["flows"].size());
  }
}

// Rows of either form as numbers, without the last two columns, which may be ages.
std::vector<json> without_ages(const json& state) {
  std::vector<json> out;
  for (json row : state["flows"]) {
    row.erase(row.end() - 2, row.end());
    out.push_back(std::move(row));
  }
  return out;
}

TEST_P(EveryNf, StateMeansTheSameInNumbersAndInBinaryRows) {
  Rng rng(5);
  std::vector<Frame> frames;
  for (int i = 0; i < 2000; ++i) frames.push_back(build_frame(random_ip_spec(rng)));
  const auto nf = make_nf(GetParam(), config_);
  run(*nf, frames);
  const json numbers = nf->export_state(RowForm::kArrays), binary = nf->export_state(RowForm::kBinary);
  const auto by_numbers = make_nf(GetParam(), config_), by_binary = make_nf(GetParam(), config_);
  by_numbers->import_state(json::parse(numbers.dump()));
  by_binary->import_state(json::parse(binary.dump()));
  EXPECT_EQ(numbers.size(), binary.size());
  if (!numbers.contains("flows")) return;
  EXPECT_TRUE(binary["flows"].is_string());
  EXPECT_EQ(without_ages(by_numbers->export_state()), without_ages(numbers));
  EXPECT_EQ(without_ages(by_binary->export_state()), without_ages(numbers));
}

// As the engine does it: packets come between the slices.
TEST_P(EveryNf, StateThatIsCopiedInSlicesHasEveryFlowThatStaysOnce) {
  Rng rng(6);
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(build_frame(random_ip_spec(rng)));
  const auto nf = make_nf(GetParam(), config_);
  run(*nf, frames);
  const auto flows = [](const json& state) {
    std::set<std::string> keys;
    for (const json& row : state.value("flows", json::array()))
      EXPECT_TRUE(keys.insert(json(std::vector<json>(row.begin(), row.begin() + 3)).dump() +
                              row[4 % row.size()].dump() + row[3].dump())
                      .second);
    return keys;
  };
  const std::set<std::string> before = flows(nf->export_state());
  const auto copy = nf->copy_flows();
  while (copy->copy(7)) run(*nf, {frames[rng() % frames.size()], build_frame(random_ip_spec(rng))});
  const std::set<std::string> copied = flows(copy->finish(RowForm::kArrays)), after = flows(nf->export_state());
  for (const std::string& flow : before) EXPECT_TRUE(copied.contains(flow) || !after.contains(flow)) << flow;
}

TEST_P(EveryNf, RefusesStateThatIsNotItsOwn) {
  const auto nf = make_nf(GetParam(), config_);
  EXPECT_EQ(error_pointer([&] { nf->import_state(json::array()); }), "");
  json state = nf->export_state();
  state["zz"] = 1;
  EXPECT_EQ(error_pointer([&] { nf->import_state(state); }), "/zz");
  if (!state.contains("flows")) return;
  const json before = nf->export_state();
  for (const json& row : {json(1), json::array({1}), json::array({"a", 1, 1, 1, 1, 1, 1, 1, 1})})
    EXPECT_TRUE(error_pointer([&] {
                  nf->import_state({{"flows", json::array({row})}});
                }).starts_with("/flows/0"))
        << row;
  EXPECT_EQ(nf->export_state(), before);
}

TEST_P(EveryNf, ABadConfigurationChangesNothing) {
  const auto nf = make_nf(GetParam(), config_);
  run(*nf, {build_frame({})});
  const auto settled_state = [&] {
    json state = nf->state(100);
    for (const char* field : {"flows", "mappings"}) state.erase(field);  // hold ages
    return state;
  };
  const json before = settled_state();
  for (const auto& [field, schema] : descriptor_["config_schema"]["properties"].items()) {
    json bad = config_;
    if (schema["type"] == "integer") bad[field] = schema["minimum"];
    if (schema["type"] == "array") bad[field] = json::array();
    bad["zz"] = 1;
    EXPECT_THROW(nf->configure(bad), ConfigError);
    EXPECT_EQ(settled_state(), before);
  }
  nf->configure(config_);
  EXPECT_EQ(settled_state(), before);
}

INSTANTIATE_TEST_SUITE_P(Nfs, EveryNf, ::testing::ValuesIn(nf_kinds().begin(), nf_kinds().end()), [](const auto& info) {
  std::string name(info.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Registry, KnowsItsKindsAndNoOther) {
  EXPECT_EQ(nf_kinds().size(), 16u);
  for (std::string_view kind : nf_kinds()) {
    EXPECT_NE(find_nf(kind), nullptr);
    EXPECT_EQ(descriptor_of(kind)["id"], kind);
  }
  EXPECT_EQ(find_nf("teapot"), nullptr);
}

}  // namespace
}  // namespace orrery
