// SPDX-License-Identifier: Apache-2.0
#include "board/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/errors.h"

namespace orrery::board {
namespace {

using nlohmann::json;

json document(const std::string& name) {
  std::ifstream file(std::string(PROFILES) + "/" + name + ".json");
  return json::parse(file);
}

TEST(Profiles, AreAllReadAndSayWhereTheirFiguresAreFrom) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PROFILES)) {
    const Profile profile = read_profile(entry.path());
    const std::string name = entry.path().stem();
    EXPECT_EQ(profile.name, name);
    uint64_t lut = 0, ff = 0, bram = 0;
    for (const Region& region : profile.regions) {
      lut += region.resources.lut;
      ff += region.resources.ff;
      bram += region.resources.bram_kib;
    }
    EXPECT_LE(lut, profile.resources.lut) << name;
    EXPECT_LE(ff, profile.resources.ff) << name;
    EXPECT_LE(bram, profile.resources.bram_kib) << name;
    const json all = document(name);
    for (const auto& [field, value] : all.items()) {
      if (field == "name" || field == "title" || field == "family" || field == "sources") continue;
      EXPECT_TRUE(all["sources"].contains(field)) << name << " " << field;
    }
    ++found;
  }
  EXPECT_EQ(found, 4);
}

TEST(Profiles, De5LoadsAsLongAsCoNfvMeasured) {
  const Profile de5 = read_profile(std::string(PROFILES) + "/de5.json");
  EXPECT_NEAR(de5.load_s(ImageKind::kFull, de5.full.bytes), 12, 0.01);
  EXPECT_NEAR(de5.load_s(ImageKind::kPartial, de5.partial.bytes), 2.5, 0.01);
}

TEST(Profiles, NameTheMemberThatIsWrong) {
  const auto pointer = [](const json& wrong) -> std::string {
    try {
      parse_profile(wrong);
      return "taken";
    } catch (const EngineError& error) {
      return error.pointer;
    }
  };
  const json right = document("de5");
  for (const auto& [path, value] : std::initializer_list<std::pair<const char*, json>>{
           {"/clock_mhz", 0},
           {"/slots", json::array()},
           {"/slots/1/resources/lut", -1},
           {"/partial/bytes", 0},
           {"/full/bytes_per_s", 0},
           {"/full/bytes_per_s", "fast"},
           {"/partial/setup_s", -1},
           {"/colour", "green"},
       }) {
    json wrong = right;
    wrong[json::json_pointer(path)] = value;
    EXPECT_EQ(pointer(wrong), path);
  }
  json missing = right;
  missing.erase("port_mbps");
  EXPECT_EQ(pointer(missing), "/port_mbps");
  EXPECT_EQ(pointer(right), "taken");
}

}  // namespace
}  // namespace orrery::board
