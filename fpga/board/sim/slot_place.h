// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "board/slot/module.h"

namespace orrery::board {

// The content of a slot's region: a module, one that hangs, or unconfigured logic that drives random levels.
class SlotPlace {
 public:
  explicit SlotPlace(uint64_t seed) : garbage_(seed | 1) {}

  Module* module() const { return module_.get(); }
  void insert(std::unique_ptr<Module> module) { module_ = std::move(module); }
  void clear() { module_.reset(); }

  // An injected fault: outputs stay as in reset and the module's clock stops.
  bool stuck() const { return stuck_; }
  void set_stuck(bool stuck) { stuck_ = stuck; }

  void settle(const nf_slot_in& in, nf_slot_out& out) {
    if (stuck_) {
      out = {};
    } else if (module_) {
      module_->settle(in, out);
    } else {
      drive_garbage(out);
    }
  }

  void edge() {
    if (module_ && !stuck_) module_->edge();
  }

 private:
  uint64_t random() {
    garbage_ ^= garbage_ << 13;
    garbage_ ^= garbage_ >> 7;
    garbage_ ^= garbage_ << 17;
    return garbage_;
  }

  // Verilator has no X: random levels test whether the decoupler isolates the region.
  void drive_garbage(nf_slot_out& out) {
    const uint64_t bits = random();
    out.m_tdata = bits;
    out.csr_rdata = static_cast<uint32_t>(bits >> 16);
    out.m_tuser = bits & 0xfff;
    out.m_tkeep = static_cast<uint8_t>(bits >> 12);
    out.s_tready = bits >> 20 & 1;
    out.m_tvalid = bits >> 21 & 1;
    out.m_tlast = bits >> 22 & 1;
    out.csr_ack = bits >> 23 & 1;
    out.busy = bits >> 24 & 1;
  }

  std::unique_ptr<Module> module_;
  bool stuck_ = false;
  uint64_t garbage_;
};

}  // namespace orrery::board
