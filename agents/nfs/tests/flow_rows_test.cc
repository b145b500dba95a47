// SPDX-License-Identifier: Apache-2.0
#include "nfs/flow_rows.h"

#include <gtest/gtest.h>

#include <random>

#include "support/base64.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr RowLayout<4> kLayout{UINT8_MAX, UINT16_MAX, UINT32_MAX, (uint64_t{1} << 53) - 1};
using Rows = std::vector<std::array<uint64_t, 4>>;

Rows read(const json& rows) {
  const json state = {{"flows", rows}};
  ConfigReader reader(state, "");
  Rows out = read_rows(reader, "flows", kLayout);
  reader.done();
  return out;
}

std::string fault(const json& rows) {
  try {
    read(rows);
  } catch (const ConfigError& error) {
    return error.pointer + ' ' + error.what();
  }
  return "none";
}

TEST(FlowRows, AreWrittenAsTheContractReadsThem) {
  const Rows rows = {{1, 0x0102, 0x01020304, 0x01020304050607}, {255, 65535, UINT32_MAX, (uint64_t{1} << 53) - 1}};
  EXPECT_EQ(write_rows(kLayout, rows, RowForm::kBinary),
            "T0ZSMQQBAgQIAgAAAAECAQQDAgEHBgUEAwIBAP////////////////8fAA==");
}

TEST(FlowRows, MeanTheSameInBothForms) {
  std::mt19937_64 random(1);
  for (const size_t count : {0, 1, 2, 3, 1000}) {
    Rows rows(count);
    for (auto& row : rows)
      for (size_t n = 0; n < row.size(); ++n) row[n] = random() % (kLayout[n] + 1);
    EXPECT_EQ(read(write_rows(kLayout, rows, RowForm::kArrays)), rows);
    EXPECT_EQ(read(json::parse(write_rows(kLayout, rows, RowForm::kBinary).dump())), rows);
  }
  EXPECT_EQ(read(json::array()), Rows{});
}

constexpr RowLayout<4> kWithAddress{UINT16_MAX, kAddressWord, kAddressWord, UINT8_MAX};
constexpr Ipv6Address kIpv6{0x20010db8'00000000, 0x1}, kIpv4 = ipv4_mapped(0x0a000102);

Rows read_with_address(const json& rows) {
  const json state = {{"flows", rows}};
  ConfigReader reader(state, "");
  return read_rows(reader, "flows", kWithAddress);
}

std::string fault_with_address(const json& rows) {
  try {
    read_with_address(rows);
  } catch (const ConfigError& error) {
    return error.pointer + ' ' + error.what();
  }
  return "none";
}

TEST(FlowRows, WithIpv4AddressesAloneAreThoseOfVersion1) {
  const Rows rows = {{7, kIpv4.high, kIpv4.low, 9}};
  EXPECT_EQ(write_rows(kWithAddress, rows, RowForm::kArrays), json::parse("[[7,167772418,9]]"));
  const json binary = write_rows(kWithAddress, rows, RowForm::kBinary);
  EXPECT_EQ(*base64_decode(binary.get<std::string>()), std::string("OFR1\3\2\4\1\1\0\0\0\7\0\2\1\0\12\11", 19));
  EXPECT_EQ(read_with_address(binary), rows);
  EXPECT_EQ(read_with_address(json::parse("[[7,167772418,9]]")), rows) << "as boards write them";
}

TEST(FlowRows, WithAnIpv6AddressAreOfVersion2) {
  const Rows rows = {{7, kIpv4.high, kIpv4.low, 9}, {8, kIpv6.high, kIpv6.low, 10}};
  const json arrays = write_rows(kWithAddress, rows, RowForm::kArrays);
  EXPECT_EQ(arrays, json::parse(R"([[7,167772418,9],[8,"2001:db8::1",10]])"));
  EXPECT_EQ(read_with_address(arrays), rows);
  const json binary = write_rows(kWithAddress, rows, RowForm::kBinary);
  EXPECT_EQ(binary, "T0ZSMgMCEAECAAAABwACAQAK//8AAAAAAAAAAAAACQgAAQAAAAAAAAAAAAAAuA0BIAo=")
      << "as in the contract's test";
  EXPECT_EQ(read_with_address(binary), rows);
  EXPECT_EQ(max_rows(kWithAddress, AddressWidth::kIpv4), 3'000'000u / 7);
  EXPECT_EQ(max_rows(kWithAddress, AddressWidth::kIpv6), 3'000'000u / 19);
}

TEST(FlowRows, WithAddressesAreRefusedWhenDamaged) {
  EXPECT_EQ(fault_with_address(json::parse(R"([[7,"2001:db8::1"]])")), "/flows/0 must be an array of 3 numbers");
  for (const char* bad : {"-1", "4294967296", "\"x\"", "\"1.2.3.4\"", "\"::ffff:1.2.3.4\"", "null", "[]"})
    EXPECT_EQ(fault_with_address(json::parse("[[7," + std::string(bad) + ",9]]")),
              "/flows/0/1 must be an integer from 0 to 4294967295 or an IPv6 address");
  EXPECT_EQ(fault_with_address(json::parse(R"([[7,1,256]])")), "/flows/0/2 must be an integer from 0 to 255");
  const std::string good = *base64_decode(
      write_rows(kWithAddress, Rows(5, {8, kIpv6.high, kIpv6.low, 10}), RowForm::kBinary).get<std::string>());
  const auto wire = [](const std::string& bytes) { return json(base64_encode(bytes)); };
  EXPECT_EQ(fault_with_address(wire("OFR1" + good.substr(4))), "/flows have columns of other widths than this NF's");
  EXPECT_EQ(fault_with_address(wire("OFR3" + good.substr(4))), "/flows are no binary rows of version 1 or 2");
  for (size_t cut = 4; cut < good.size(); ++cut) EXPECT_NE(fault_with_address(wire(good.substr(0, cut))), "none");
  EXPECT_NE(fault_with_address(wire(good + '\0')), "none");
}

TEST(FlowRows, AreRefusedWhenDamaged) {
  const std::string header = {'O', 'F', 'R', '1', 4, 1, 2, 4, 8};
  const auto wire = [](const std::string& bytes) { return json(base64_encode(bytes)); };
  const std::string row(15, 0), none(4, 0), one = {1, 0, 0, 0};
  EXPECT_EQ(fault(wire(header + none)), "none");
  EXPECT_EQ(fault(wire(header + one + row)), "none");
  EXPECT_EQ(fault("T0ZSMQ"), "/flows must be rows of numbers, or base64");
  EXPECT_EQ(fault("T0ZS MQ=="), "/flows must be rows of numbers, or base64");
  EXPECT_EQ(fault(""), "/flows are no binary rows of version 1 or 2");
  EXPECT_EQ(fault(wire("OFR9" + header.substr(4) + none)), "/flows are no binary rows of version 1 or 2");
  for (size_t cut = 4; cut < header.size(); ++cut)
    EXPECT_EQ(fault(wire(header.substr(0, cut))), "/flows must have rows of 4 numbers");
  EXPECT_EQ(fault(wire({'O', 'F', 'R', '1', 4, 1, 2, 4, 4, 0, 0, 0, 0})),
            "/flows have columns of other widths than this NF's");
  EXPECT_EQ(fault(wire(header + one.substr(0, 3))), "/flows end early");
  EXPECT_EQ(fault(wire(header + one + row.substr(1))), "/flows end early");
  EXPECT_EQ(fault(wire(header + one + row + '\0')), "/flows go on behind the last row");
  EXPECT_EQ(fault(wire(header + std::string(4, '\xff'))), "/flows must have at most 200000 elements");
  const std::string beyond = row.substr(0, 7) + std::string("\0\0\0\0\0\0\x20\0", 8);
  EXPECT_EQ(fault(wire(header + one + beyond)), "/flows/0/3 must be an integer from 0 to 9007199254740991");
}

TEST(FlowRows, NeverReadBeyondWhatIsThere) {
  std::mt19937_64 random(2);
  const std::string good =
      *base64_decode(write_rows(kLayout, Rows(20, {1, 2, 3, 4}), RowForm::kBinary).get<std::string>());
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    for (int n = 0; n < 3 && !bytes.empty(); ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    fault(base64_encode(bytes));
  }
}

}  // namespace
}  // namespace orrery
