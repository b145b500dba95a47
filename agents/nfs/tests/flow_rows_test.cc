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

TEST(FlowRows, AreRefusedWhenDamaged) {
  const std::string header = {'O', 'F', 'R', '1', 4, 1, 2, 4, 8};
  const auto wire = [](const std::string& bytes) { return json(base64_encode(bytes)); };
  const std::string row(15, 0), none(4, 0), one = {1, 0, 0, 0};
  EXPECT_EQ(fault(wire(header + none)), "none");
  EXPECT_EQ(fault(wire(header + one + row)), "none");
  EXPECT_EQ(fault("T0ZSMQ"), "/flows must be rows of numbers, or base64");
  EXPECT_EQ(fault("T0ZS MQ=="), "/flows must be rows of numbers, or base64");
  EXPECT_EQ(fault(""), "/flows are no binary rows of version 1");
  EXPECT_EQ(fault(wire("OFR2" + header.substr(4) + none)), "/flows are no binary rows of version 1");
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
