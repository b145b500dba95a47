// SPDX-License-Identifier: Apache-2.0
// A slot module that sends a one-beat frame every millisecond.
#include "board/slot/abi.h"

namespace {

constexpr uint32_t kId = 0x5449434b;  // TICK
constexpr uint32_t kPeriodUs = 1000;

struct TickSender {
  nf_slot_in in;
  uint32_t us;
  bool sends;
};

void settle(void* instance, const nf_slot_in* in, nf_slot_out* out) {
  auto& self = *static_cast<TickSender*>(instance);
  self.in = *in;
  *out = {};
  out->s_tready = 1;
  out->csr_ack = in->csr_read | in->csr_write;
  out->csr_rdata = in->csr_addr == 0 ? kId : 0;
  out->m_tvalid = out->m_tlast = self.sends;
  out->m_tkeep = 0xff;
}

void edge(void* instance) {
  auto& self = *static_cast<TickSender*>(instance);
  if (self.in.rst != 0 || (self.sends && self.in.m_tready != 0)) self.sends = false;
  if (self.in.rst != 0 || self.in.tick_us == 0 || ++self.us < kPeriodUs) return;
  self.us = 0;
  self.sends = true;
}

constexpr nf_slot_vt kTable = {
    .abi = NF_SLOT_ABI,
    .timed = 1,
    .name = "tick_sender",
    .uuid = {},
    .create = []() -> void* { return new TickSender{}; },
    .destroy = [](void* instance) { delete static_cast<TickSender*>(instance); },
    .settle = settle,
    .edge = edge,
    .idle_ticks = [](void* instance) { return kPeriodUs - 1 - static_cast<TickSender*>(instance)->us; },
    .skip_ticks = [](void* instance, uint32_t ticks) { static_cast<TickSender*>(instance)->us += ticks; },
};

}  // namespace

extern "C" const nf_slot_vt* nf_slot_get(void) {
  return &kTable;
}
