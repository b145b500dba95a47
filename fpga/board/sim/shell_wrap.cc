// SPDX-License-Identifier: Apache-2.0
// One build of the shell. The build defines MODEL (the Verilated class), SHELL_TABLE (its name), SHELL_SLOTS,
// SHELL_CLOCK_MHZ and MODEL_UUID.
#include <type_traits>

#include "shell_build.h"

namespace orrery::board {
namespace {

// Lane n of a packed vector with W bits per lane; Verilator represents it as a scalar up to 64 bits and as 32-bit words
// above.
template <int W, typename Vector>
uint64_t lane_of(const Vector& vector, int n) {
  if constexpr (!std::is_scalar_v<Vector>) {
    if constexpr (W == 64)
      return vector.at(2 * n) | uint64_t{vector.at(2 * n + 1)} << 32;
    else
      return vector.at(n * W / 32) >> (n * W % 32) & ((uint64_t{1} << W) - 1);
  } else if constexpr (W == 64) {
    return vector;
  } else {
    return static_cast<uint64_t>(vector) >> (n * W) & ((uint64_t{1} << W) - 1);
  }
}

template <int W, typename Vector>
void set_lane(Vector& vector, int n, uint64_t value) {
  if constexpr (!std::is_scalar_v<Vector>) {
    static_assert(W == 64 || W == 32, "narrow lanes of a wide vector cannot be set");
    vector.at(n * W / 32) = static_cast<uint32_t>(value);
    if constexpr (W == 64) vector.at(2 * n + 1) = static_cast<uint32_t>(value >> 32);
  } else if constexpr (W == 64) {
    vector = value;
  } else {
    const uint64_t mask = ((uint64_t{1} << W) - 1) << (n * W);
    vector = static_cast<Vector>((static_cast<uint64_t>(vector) & ~mask) | value << (n * W));
  }
}

class VerilatedShell final : public Shell {
 public:
  VerilatedShell() : model_(&context_, "") {}
  ~VerilatedShell() override { model_.final(); }

  void settle(ShellPins& pins) override {
    model_.clk = 0;
    model_.rst = pins.rst;
    model_.host_csr_addr = static_cast<uint32_t>(pins.csr.space) << 16 | pins.csr.address;
    model_.host_csr_write = pins.csr.write;
    model_.host_csr_wdata = pins.csr.wdata;
    model_.host_csr_read = pins.csr.read;
    for (int n = 0; n < SHELL_SLOTS; ++n) drive(pins.lanes[n], n);
    model_.eval();
    pins.csr.rdata = model_.host_csr_rdata;
    pins.csr.ack = model_.host_csr_ack;
    for (int n = 0; n < SHELL_SLOTS; ++n) sample(pins.lanes[n], n);
  }

  void edge(ShellPins& pins) override {
    model_.clk = 1;
    model_.eval();
    pins.link_up = model_.link_up;
    for (int n = 0; n < SHELL_SLOTS; ++n) sample_slot(pins.lanes[n].to_slot, n);
  }

 private:
#define RX(side, beat)                                   \
  set_lane<64>(model_.side##_rx_tdata, n, (beat).data);  \
  set_lane<8>(model_.side##_rx_tkeep, n, (beat).keep);   \
  set_lane<1>(model_.side##_rx_tvalid, n, (beat).valid); \
  set_lane<1>(model_.side##_rx_tlast, n, (beat).last)
#define TX(side, beat)                                                         \
  (beat).valid = static_cast<uint8_t>(lane_of<1>(model_.side##_tx_tvalid, n)); \
  if ((beat).valid != 0) {                                                     \
    (beat).data = lane_of<64>(model_.side##_tx_tdata, n);                      \
    (beat).keep = static_cast<uint8_t>(lane_of<8>(model_.side##_tx_tkeep, n)); \
    (beat).last = static_cast<uint8_t>(lane_of<1>(model_.side##_tx_tlast, n)); \
  }

  void drive(const Lane& lane, int n) {
    RX(near, lane.rx[kNear]);
    RX(far, lane.rx[kFar]);
    RX(host, lane.rx[kHost]);
    set_lane<1>(model_.near_tx_tready, n, lane.tx[kNear].ready);
    set_lane<1>(model_.far_tx_tready, n, lane.tx[kFar].ready);
    set_lane<1>(model_.host_tx_tready, n, lane.tx[kHost].ready);
    const nf_slot_out& slot = lane.from_slot;
    set_lane<1>(model_.slot_s_axis_tready, n, slot.s_tready);
    set_lane<64>(model_.slot_m_axis_tdata, n, slot.m_tdata);
    set_lane<8>(model_.slot_m_axis_tkeep, n, slot.m_tkeep);
    set_lane<1>(model_.slot_m_axis_tvalid, n, slot.m_tvalid);
    set_lane<1>(model_.slot_m_axis_tlast, n, slot.m_tlast);
    set_lane<12>(model_.slot_m_axis_tuser, n, slot.m_tuser);
    set_lane<32>(model_.slot_csr_rdata, n, slot.csr_rdata);
    set_lane<1>(model_.slot_csr_ack, n, slot.csr_ack);
    set_lane<1>(model_.slot_busy, n, slot.busy);
  }

  void sample(Lane& lane, int n) {
    lane.rx[kNear].ready = static_cast<uint8_t>(lane_of<1>(model_.near_rx_tready, n));
    lane.rx[kFar].ready = static_cast<uint8_t>(lane_of<1>(model_.far_rx_tready, n));
    lane.rx[kHost].ready = static_cast<uint8_t>(lane_of<1>(model_.host_rx_tready, n));
    TX(near, lane.tx[kNear]);
    TX(far, lane.tx[kFar]);
    TX(host, lane.tx[kHost]);
    lane.tx[kNear].error = static_cast<uint8_t>(lane_of<1>(model_.near_tx_tuser, n));
    lane.tx[kFar].error = static_cast<uint8_t>(lane_of<1>(model_.far_tx_tuser, n));
    lane.tx[kHost].error = lane_of<10>(model_.host_tx_tuser, n) & 1;
  }

  void sample_slot(nf_slot_in& in, int n) {
    in.rst = static_cast<uint8_t>(lane_of<1>(model_.slot_rst, n));
    in.tick_us = model_.tick_us;
    in.s_tdata = lane_of<64>(model_.slot_s_axis_tdata, n);
    in.s_tkeep = static_cast<uint8_t>(lane_of<8>(model_.slot_s_axis_tkeep, n));
    in.s_tvalid = static_cast<uint8_t>(lane_of<1>(model_.slot_s_axis_tvalid, n));
    in.s_tlast = static_cast<uint8_t>(lane_of<1>(model_.slot_s_axis_tlast, n));
    in.s_tuser = static_cast<uint8_t>(lane_of<2>(model_.slot_s_axis_tuser, n));
    in.m_tready = static_cast<uint8_t>(lane_of<1>(model_.slot_m_axis_tready, n));
    in.csr_addr = static_cast<uint16_t>(lane_of<16>(model_.slot_csr_addr, n));
    in.csr_write = static_cast<uint8_t>(lane_of<1>(model_.slot_csr_write, n));
    in.csr_wdata = static_cast<uint32_t>(lane_of<32>(model_.slot_csr_wdata, n));
    in.csr_read = static_cast<uint8_t>(lane_of<1>(model_.slot_csr_read, n));
  }
#undef RX
#undef TX

  VerilatedContext context_;
  MODEL model_;
};

}  // namespace

extern const ShellBuild SHELL_TABLE;
const ShellBuild SHELL_TABLE = {SHELL_SLOTS, SHELL_CLOCK_MHZ, Uuid MODEL_UUID,
                                []() -> std::unique_ptr<Shell> { return std::make_unique<VerilatedShell>(); }};

}  // namespace orrery::board
