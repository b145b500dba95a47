// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "nfs/testing/nf_driver.h"

namespace orrery::l2_forwarder {
namespace {

using namespace orrery::testing;

TEST(L2Forwarder, PassesAllUnchangedByDefault) {
  const auto nf = make_nf("l2-forwarder", nlohmann::json::object());
  for (const Frame& frame : {build_frame({}), arp_frame(), Frame(3)}) EXPECT_EQ(run_one(*nf, frame).frame, frame);
  EXPECT_EQ(nf->state(1)["packets"], 3);
}

TEST(L2Forwarder, SwapsMacsIfAsked) {
  const auto nf = make_nf("l2-forwarder", {{"swap_macs", true}});
  const Frame frame = build_frame({});
  Frame expected = frame;
  std::swap_ranges(expected.begin(), expected.begin() + 6, expected.begin() + 6);
  EXPECT_EQ(run_one(*nf, frame).frame, expected);
  for (const size_t bytes : {12, 15, 16}) {
    Frame runt(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(bytes));
    Frame swapped(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_EQ(run_one(*nf, runt).frame, swapped) << bytes << " bytes";
  }
  EXPECT_EQ(run_one(*nf, Frame(11, 7)).frame, Frame(11, 7)) << "a runt has no two addresses";
}

}  // namespace
}  // namespace orrery::l2_forwarder
