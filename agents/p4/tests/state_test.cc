// SPDX-License-Identifier: Apache-2.0
// programs/state.p4: what, index, value, result.
#include "p4/core/hash.h"
#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

class P4State : public ::testing::Test {
 protected:
  std::string result(const std::string& what, const std::string& index, const std::string& value) {
    return switch_.one(what + index + value + "00000000").substr(12, 8);
  }

  Switch switch_{read_program("state")};
};

TEST_F(P4State, RegistersKeepWhatWasWritten) {
  EXPECT_EQ(result("00", "03", "12345678"), "00000000");
  EXPECT_EQ(result("00", "03", "9abcdef0"), "12345678");
  EXPECT_EQ(result("00", "04", "00000000"), "00000000");
  EXPECT_EQ(result("00", "08", "11111111"), "00000000") << "beyond the array";
  EXPECT_EQ(result("01", "02", "12345678"), "00000000");
  EXPECT_EQ(result("01", "02", "00000000"), "12345678") << "100 bits";
  auto control = switch_.pipeline.control();
  EXPECT_EQ(hex_of(control.registers(0).read(3)), "9abcdef0");
  control.registers(0).write(3, to_bytes(7));
  EXPECT_EQ(hex_of(control.registers(0).read(3)), "07");
  EXPECT_EQ(hex_of(control.registers(1).read(2)), "05");
  EXPECT_EQ(control.registers(1).width_bits(), 100u);
  EXPECT_EQ(refusal([&] { control.registers(0).read(8); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { control.registers(0).write(0, to_bytes(uint64_t{1} << 32)); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { control.registers(2); }), Refusal::kNotFound);
  control.registers(0).clear();
  EXPECT_EQ(hex_of(control.registers(0).read(3)), "00");
}

TEST_F(P4State, CountersCountPacketsAndBytes) {
  for (int i = 0; i < 3; ++i) result("02", "05", "00000000");
  result("02", "09", "00000000");
  auto control = switch_.pipeline.control();
  EXPECT_EQ(control.counters(0).read(5), (CounterValue{3, 30}));
  control.counters(0).write(5, {1, 2});
  EXPECT_EQ(control.counters(0).read(5), (CounterValue{1, 2}));
  EXPECT_EQ(refusal([&] { control.counters(0).read(8); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { control.counters(0).write(8, {}); }), Refusal::kInvalid);
}

TEST_F(P4State, MetersMarkByTwoRates) {
  const MeterRates packets{.committed_rate = 1, .committed_burst = 2, .peak_rate = 2, .peak_burst = 3};
  const MeterRates bytes{.committed_rate = 10, .committed_burst = 20, .peak_rate = 10, .peak_burst = 30};
  EXPECT_EQ(result("03", "01", "00000000"), "00000000");
  {
    auto control = switch_.pipeline.control();
    control.meters(0).write(1, packets);
    control.meters(1).write(1, bytes);
    EXPECT_EQ(control.meters(0).read(1), packets);
    EXPECT_EQ(control.meters(0).read(2), std::nullopt);
    EXPECT_EQ(refusal([&] { control.meters(0).write(4, packets); }), Refusal::kInvalid);
  }
  for (const char* what : {"03", "04"}) {
    std::string colours;
    for (int i = 0; i < 4; ++i) colours += result(what, "01", "00000000").back();
    EXPECT_EQ(colours, "0012") << what;
  }
  switch_.now_ns += 1'000'000'000;
  std::string colours;
  for (int i = 0; i < 3; ++i) colours += result("03", "01", "00000000").back();
  EXPECT_EQ(colours, "012") << "one committed token and two of the peak rate have come";
  EXPECT_EQ(result("03", "04", "00000000"), "00000000") << "beyond the array nothing is written";
}

// Check values of the catalogue of parametrised CRCs (reveng): over "123456789".
TEST(P4Hash, GivesTheCheckValuesOfItsCrcs) {
  const std::string_view text = "123456789";
  const std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  EXPECT_EQ(Hash(HashKind::kCrc16).of(bytes), 0xbb3du);
  EXPECT_EQ(Hash(HashKind::kCrc32).of(bytes), 0xcbf43926u);
  EXPECT_EQ(Hash(HashKind::kCrcCcitt).of(bytes), 0x29b1u);
  Hash custom(HashKind::kCrc16Custom);
  custom.set_parameters(
      {.polynomial = 0x1021, .initial = 0xffff, .final_xor = 0xffff, .reflect_data = true, .reflect_remainder = true});
  EXPECT_EQ(custom.of(bytes), 0x906eu) << "CRC-16/IBM-SDLC";
  Hash bzip2(HashKind::kCrc32Custom);
  bzip2.set_parameters({.polynomial = 0x04c11db7,
                        .initial = 0xffffffff,
                        .final_xor = 0xffffffff,
                        .reflect_data = false,
                        .reflect_remainder = false});
  EXPECT_EQ(bzip2.of(bytes), 0xfc891918u);
  EXPECT_EQ(Hash(HashKind::kXor16).of(bytes), 0x3132u ^ 0x3334u ^ 0x3536u ^ 0x3738u ^ 0x3900u);
  EXPECT_EQ(Hash(HashKind::kIdentity).of(bytes), 0x3132333435363738u);
  const uint8_t words[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};  // RFC 1071 3
  EXPECT_EQ(Hash(HashKind::kCsum16).of(words), 0x220du);
}

TEST_F(P4State, HashesFieldsOneBehindTheOther) {
  const uint8_t bytes[] = {0x31, 0x32, 0x33, 0x34, 0x35};
  const auto hex = [](uint64_t value) { return hex_of(to_bytes(value | uint64_t{1} << 32)).substr(2); };
  EXPECT_EQ(result("05", "35", "31323334"), hex(Hash(HashKind::kCrc16).of(bytes)));
  EXPECT_EQ(result("06", "35", "31323334"), hex(Hash(HashKind::kCrc32).of(bytes)));
  EXPECT_EQ(result("07", "00", "00010002"), "0000fffc");
  EXPECT_EQ(result("08", "00", "12345678"), "0000444c");
  EXPECT_EQ(result("09", "00", "00000405"), hex(7 + 0x405 % 1000));
  EXPECT_EQ(result("0f", "00", "00000405"), "00000003") << "no size, no hash";
  const std::span<const uint8_t> four{bytes, 4};
  EXPECT_EQ(result("0a", "00", "31323334"), hex(Hash(HashKind::kCrc16).of(four)));
  EXPECT_EQ(result("0b", "00", "31323334"), hex(Hash(HashKind::kCrc32).of(four)));
  const CrcParameters xmodem{
      .polynomial = 0x1021, .initial = 0, .final_xor = 0, .reflect_data = false, .reflect_remainder = false};
  std::string custom;
  std::string usual;
  const nlohmann::json program = read_program("state");
  for (const auto& each : program["calculations"]) {
    if (each["algo"] == "crc16_custom") custom = each["name"];
    if (each["algo"] == "crc16") usual = each["name"];
  }
  switch_.pipeline.control().set_crc(custom, xmodem);
  EXPECT_EQ(result("0a", "00", "31323334"), hex(Crc(16, xmodem).of(four)));
  EXPECT_EQ(refusal([&] { switch_.pipeline.control().set_crc("nothing", xmodem); }), Refusal::kNotFound);
  EXPECT_EQ(refusal([&] { switch_.pipeline.control().set_crc(usual, xmodem); }), Refusal::kConstant);
}

TEST_F(P4State, ChanceStaysWithinItsBoundsAndRepeats) {
  Switch same(read_program("state"));
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string value = result("0c", "00", "0000000d");
    EXPECT_EQ(value, same.one("0c000000000d00000000").substr(12, 8));
    seen.insert(value);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"0000000a", "0000000b", "0000000c", "0000000d"}));
  EXPECT_EQ(result("0c", "00", "00000009"), "00000000") << "nothing lies between";
}

TEST_F(P4State, EntriesNameMembersOfAProfile) {
  const std::string table = "IngressImpl.by_profile";
  auto control = switch_.pipeline.control();
  ActionProfile& profile = control.action_profile(0);
  Table& entries = control.table(switch_.table(table));
  const auto set = [&](uint64_t value) { return switch_.call(table, "IngressImpl.set", {value}); };
  profile.insert_member(7, set(1));
  EXPECT_EQ(profile.member(7), set(1));
  EXPECT_EQ(profile.member(8), std::nullopt);
  EXPECT_EQ(refusal([&] { profile.insert_member(7, set(1)); }), Refusal::kAlreadyExists);
  EXPECT_EQ(refusal([&] { profile.insert_member(8, ActionCall{set(1).action, {}}); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { profile.insert_group(1, {}); }), Refusal::kInvalid) << "no selector";
  EXPECT_EQ(refusal([&] { entries.insert({.key = {exactly(1)}, .action = set(1)}); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { entries.insert({.key = {exactly(1)}, .action = MemberRef{9}}); }), Refusal::kNotFound);
  const EntryHandle entry = entries.insert({.key = {exactly(1)}, .action = MemberRef{7}});
  EXPECT_EQ(entries.entry(entry).action, EntryAction(MemberRef{7}));
  EXPECT_EQ(refusal([&] { profile.remove_member(7); }), Refusal::kInUse);
  profile.modify_member(7, set(2));
  for (uint32_t id = 8; id < 11; ++id) profile.insert_member(id, set(id));
  EXPECT_EQ(refusal([&] { profile.insert_member(20, set(1)); }), Refusal::kFull);
  uint32_t members = 0;
  profile.each_member([&](uint32_t /*id*/) { ++members; });
  EXPECT_EQ(members, 4u);
  profile.remove_member(10);
  entries.modify({.key = {exactly(1)}, .action = MemberRef{8}});
  profile.remove_member(7);
  { const auto gone = std::move(control); }
  EXPECT_EQ(result("0d", "01", "00000000"), "00000008");
  EXPECT_EQ(result("0d", "02", "00000000"), "00000000");
}

TEST_F(P4State, GroupsChooseByTheSelectorsHash) {
  const std::string table = "IngressImpl.by_selector";
  const auto set = [&](uint64_t value) { return switch_.call(table, "IngressImpl.set", {value}); };
  {
    auto control = switch_.pipeline.control();
    ActionProfile& profile = control.action_profile(1);
    for (uint32_t id = 1; id <= 3; ++id) profile.insert_member(id, set(id));
    EXPECT_EQ(refusal([&] { profile.insert_group(1, {{9}}); }), Refusal::kNotFound);
    EXPECT_EQ(refusal([&] { profile.insert_group(1, {{1, 0}}); }), Refusal::kInvalid);
    EXPECT_EQ(refusal([&] { profile.insert_group(1, {{1, 1 << 17}}); }), Refusal::kFull);
    profile.insert_group(1, {{1}, {2, 2}, {3, 1, false}});
    EXPECT_EQ(refusal([&] { profile.insert_group(1, {}); }), Refusal::kAlreadyExists);
    EXPECT_EQ(refusal([&] { profile.remove_member(2); }), Refusal::kInUse);
    EXPECT_EQ(refusal([&] { profile.remove_group(2); }), Refusal::kNotFound);
    profile.insert_group(2, {});
    Table& entries = control.table(switch_.table(table));
    const EntryHandle entry = entries.insert({.key = {exactly(1)}, .action = GroupRef{1}});
    entries.insert({.key = {exactly(2)}, .action = GroupRef{2}});
    entries.insert({.key = {exactly(3)}, .action = MemberRef{3}});
    EXPECT_EQ(entries.entry(entry).action, EntryAction(GroupRef{1}));
    EXPECT_EQ(refusal([&] { profile.remove_group(1); }), Refusal::kInUse);
    EXPECT_EQ(profile.group(1)->size(), 3u);
  }
  std::map<std::string, int> chosen;
  for (int i = 0; i < 90; ++i) {
    std::string value = hex_of(to_bytes(0x100000000 + static_cast<uint64_t>(i))).substr(2);
    const ByteString bytes = bytes_of(value);
    const uint64_t hash = Hash(HashKind::kCrc16).of({reinterpret_cast<const uint8_t*>(bytes.data()), 4});
    const std::string got = result("0e", "01", value);
    EXPECT_EQ(got, hash % 3 == 0 ? "00000001" : "00000002");
    chosen[got] += 1;
  }
  EXPECT_EQ(chosen.size(), 2u);
  EXPECT_EQ(result("0e", "02", "00000000"), "00000000") << "an empty group is a miss";
  EXPECT_EQ(result("0e", "03", "00000000"), "00000003");
  auto control = switch_.pipeline.control();
  control.action_profile(1).modify_group(1, {{3}});
  control.table(switch_.table(table)).remove({exactly(1)}, 0);
  control.action_profile(1).remove_group(1);
  control.action_profile(1).remove_member(1);
}

}  // namespace
}  // namespace orrery::p4::testing
