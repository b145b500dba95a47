// SPDX-License-Identifier: Apache-2.0
// The slot ABI over one Verilated module. The build defines MODEL (its class), SLOT_NAME,
// MODEL_UUID.
#include "abi.h"

namespace {

struct Instance {
  VerilatedContext context;
  MODEL model{&context, ""};
};

void* create() {
  return new Instance;
}

void destroy(void* instance) {
  auto* self = static_cast<Instance*>(instance);
  // The thread's context may belong to an instance that is already gone, and final() uses it.
  Verilated::threadContextp(&self->context);
  self->model.final();
  delete self;
}

void settle(void* instance, const nf_slot_in* in, nf_slot_out* out) {
  MODEL& m = static_cast<Instance*>(instance)->model;
  m.clk = 0;
  m.rst = in->rst;
  m.tick_us = in->tick_us;
  m.s_axis_tdata = in->s_tdata;
  m.s_axis_tkeep = in->s_tkeep;
  m.s_axis_tvalid = in->s_tvalid;
  m.s_axis_tlast = in->s_tlast;
  m.s_axis_tuser = in->s_tuser;
  m.m_axis_tready = in->m_tready;
  m.csr_addr = in->csr_addr;
  m.csr_write = in->csr_write;
  m.csr_wdata = in->csr_wdata;
  m.csr_read = in->csr_read;
  m.eval();
  out->s_tready = m.s_axis_tready;
  out->m_tdata = m.m_axis_tdata;
  out->m_tkeep = m.m_axis_tkeep;
  out->m_tvalid = m.m_axis_tvalid;
  out->m_tlast = m.m_axis_tlast;
  out->m_tuser = m.m_axis_tuser;
  out->csr_rdata = m.csr_rdata;
  out->csr_ack = m.csr_ack;
  out->busy = m.busy;
}

void edge(void* instance) {
  MODEL& m = static_cast<Instance*>(instance)->model;
  m.clk = 1;
  m.eval();
}

#ifdef SLOT_MICROSECONDS
// The module's microsecond counter within a millisecond.
constexpr uint32_t kLastMicrosecond = 999;

uint32_t idle_ticks(void* instance) {
  return kLastMicrosecond - static_cast<Instance*>(instance)->model.rootp->SLOT_MICROSECONDS;
}

void skip_ticks(void* instance, uint32_t ticks) {
  static_cast<Instance*>(instance)->model.rootp->SLOT_MICROSECONDS += ticks;
}

constexpr uint32_t kTimed = 1;
#else
constexpr auto idle_ticks = nullptr;
constexpr auto skip_ticks = nullptr;
constexpr uint32_t kTimed = 0;
#endif

constexpr nf_slot_vt kTable = {NF_SLOT_ABI, kTimed, SLOT_NAME, MODEL_UUID, create,
                               destroy,     settle, edge,      idle_ticks, skip_ticks};

}  // namespace

extern "C" __attribute__((visibility("default"))) const nf_slot_vt* nf_slot_get() {
  return &kTable;
}
