// SPDX-License-Identifier: Apache-2.0
#include "support/pcap_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/testing/frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;

class PcapFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pcap-XXXXXX";
    dir_ = mkdtemp(name);
    path_ = dir_ + "/x.pcap";
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string dir_;
  std::string path_;
};

TEST_F(PcapFileTest, ReadsWhatItWrote) {
  Rng rng(1);
  std::vector<Frame> frames;
  {
    PcapWriter writer(path_);
    for (uint64_t i = 0; i < 100; ++i) {
      frames.push_back(build_frame(random_spec(rng)));
      writer.write(frames.back(), 1'700'000'000'123'456'789u + i);
    }
    writer.flush();
  }
  PcapReader reader(path_);
  CapturedFrame frame;
  for (uint64_t i = 0; i < frames.size(); ++i) {
    ASSERT_TRUE(reader.next(frame));
    EXPECT_EQ(Frame(frame.bytes.begin(), frame.bytes.end()), frames[i]);
    EXPECT_EQ(frame.original_length, frames[i].size());
    EXPECT_EQ(frame.time_ns, 1'700'000'000'123'456'789u + i);
  }
  EXPECT_FALSE(reader.next(frame));
}

TEST_F(PcapFileTest, RefusesWhatIsNoCapture) {
  EXPECT_THROW(PcapReader{path_}, PcapError) << "absent";
  std::ofstream(path_) << "this is a text file of some length";
  EXPECT_THROW(PcapReader{path_}, PcapError);
  EXPECT_THROW(PcapWriter{dir_ + "/no/such/dir"}, PcapError);
}

TEST_F(PcapFileTest, ReportsADamagedRecord) {
  {
    PcapWriter writer(path_);
    writer.write(build_frame({}), 0);
    writer.write(build_frame({}), 0);
    writer.flush();
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  PcapReader reader(path_);
  CapturedFrame frame;
  EXPECT_TRUE(reader.next(frame));
  EXPECT_THROW(reader.next(frame), PcapError);
}

TEST_F(PcapFileTest, RefusesOtherLinkTypes) {
  PcapWriter(path_).flush();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20);
  file.put(101);  // LINKTYPE_RAW
  file.close();
  EXPECT_THROW(PcapReader{path_}, PcapError);
}

}  // namespace
}  // namespace orrery
