// SPDX-License-Identifier: Apache-2.0
#include "board/sim/simulation.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "board/sim/shell_build.h"

namespace orrery::board {
namespace {

constexpr size_t kBeatBytes = 8;
constexpr int kResetCycles = 16;

void present(Simulation::Queue& queue, Beat& beat) {
  beat.valid = queue.in.empty() ? 0 : 1;
  if (beat.valid == 0) return;
  const Frame& frame = queue.in.front();
  const size_t left = frame.length - queue.in_at;
  std::memcpy(&beat.data, frame.bytes.data() + queue.in_at, kBeatBytes);
  beat.last = left <= kBeatBytes;
  beat.keep = static_cast<uint8_t>(beat.last ? 0xff >> (kBeatBytes - left) : 0xff);
}

// Returns whether a beat went in.
bool advance(Simulation::Queue& queue, const Beat& beat) {
  if ((beat.valid & beat.ready) == 0) return false;
  queue.in_at += kBeatBytes;
  if (beat.last != 0) {
    queue.in.pop();
    queue.in_at = 0;
  }
  return true;
}

// Returns whether a beat came out.
bool collect(Simulation::Queue& queue, const Beat& beat, uint64_t cycle) {
  if ((beat.valid & beat.ready) == 0) return false;
  Frame& frame = queue.out.back();
  if (!queue.out_in_frame) frame.length = 0;
  queue.out_in_frame = true;
  // The shell bounds the length of frames; a longer one would be cut to a length that no interface accepts.
  if (frame.length <= kMaxFrameBytes) {
    std::memcpy(frame.bytes.data() + frame.length, &beat.data, kBeatBytes);
    frame.length = static_cast<uint16_t>(frame.length + std::popcount(beat.keep));
  }
  if (beat.last == 0) return true;
  queue.out_in_frame = false;
  if (beat.error != 0) {
    ++queue.out_errors;
  } else {
    queue.out.push();
    queue.out_cycle = cycle;
  }
  return true;
}

}  // namespace

Simulation::Simulation(size_t slots, uint32_t clock_mhz)
    : shell_(shell_build(slots, clock_mhz).make()),
      queues_(slots),
      clock_mhz_(clock_mhz),
      inside_(slots),
      refused_(slots) {
  for (size_t slot = 0; slot < slots; ++slot) places_.emplace_back(0x9e3779b97f4a7c15 * (slot + 1));
  pins_.lanes.resize(slots);
  reset();
}

void Simulation::reset() {
  for (auto& sides : queues_)
    for (Queue& queue : sides) {
      queue.in.pop(queue.in.size());
      queue.in_at = 0;
      queue.out_errors += queue.out_in_frame;
      queue.out_in_frame = false;
    }
  std::fill(inside_.begin(), inside_.end(), 0);
  pins_.rst = 1;
  for (int i = 0; i < kResetCycles; ++i) step();
  pins_.rst = 0;
  step();
}

Simulation::Withdrawn Simulation::withdraw(size_t slot, Side side) {
  Queue& queue = queues_[slot][side];
  const size_t stay = queue.in_at > 0 ? 1 : 0;
  Withdrawn out;
  for (; queue.in.size() > stay; queue.in.pop_back(1), ++out.frames)
    out.bytes += queue.in.front(queue.in.size() - 1).length;
  return out;
}

void Simulation::step() {
  const size_t slots = places_.size();
  for (size_t s = 0; s < slots; ++s) {
    Lane& lane = pins_.lanes[s];
    places_[s].settle(lane.to_slot, lane.from_slot);
    for (size_t side = 0; side < kSides; ++side) {
      present(queues_[s][side], lane.rx[side]);
      lane.tx[side].ready = !queues_[s][side].out.full();
    }
  }
  shell_->settle(pins_);
  bool moved = false;
  for (size_t s = 0; s < slots; ++s) {
    Lane& lane = pins_.lanes[s];
    for (size_t side = 0; side < kSides; ++side) {
      moved |= advance(queues_[s][side], lane.rx[side]);
      moved |= collect(queues_[s][side], lane.tx[side], cycles_);
    }
    moved |= observe(s);
    places_[s].edge();
  }
  shell_->edge(pins_);
  ++cycles_;
  ++cycles_run_;
  cycles_moved_ += moved;
  quiet_ = moved ? 0 : quiet_ + 1;
}

bool Simulation::observe(size_t slot) {
  const nf_slot_in& in = pins_.lanes[slot].to_slot;
  const nf_slot_out& out = pins_.lanes[slot].from_slot;
  const bool enters = in.s_tvalid & out.s_tready;
  const bool refused = in.s_tvalid & ~out.s_tready;
  const bool held_back = out.m_tvalid & ~in.m_tready;
  refused_[slot] = refused && !held_back ? refused_[slot] + 1 : 0;
  if (places_[slot].module() == nullptr || in.rst != 0) {
    inside_[slot] = 0;
    return false;
  }
  const bool leaves = out.m_tvalid & in.m_tready;
  inside_[slot] += (enters & in.s_tlast) - (leaves & out.m_tlast);
  return enters || leaves || refused || out.busy != 0;
}

bool Simulation::run(uint64_t limit) {
  quiet_ = 0;
  const uint64_t end = cycles_run_ + limit;
  while (cycles_run_ < end) {
    step();
    if (quiet_ < kQuietCycles) continue;
    const bool holds = std::any_of(inside_.begin(), inside_.end(), [](int64_t n) { return n != 0; });
    if (holds && quiet_ < kQuietCyclesWithFrames) continue;
    // What is still inside was dropped, or waits for external input.
    std::fill(inside_.begin(), inside_.end(), 0);
    return true;
  }
  return false;
}

void Simulation::pass_ns(uint64_t ns) {
  ns_left_ += ns;
  const uint64_t ticks = ns_left_ / 1000;
  ns_left_ %= 1000;
  const uint64_t end = cycles_ + ticks * clock_mhz_;
  for (uint64_t left = ticks; left > 0;) {
    const uint64_t done = replay_ticks(left);
    left -= done;
    cycles_ += done * clock_mhz_;
    // A module started to work at a tick: simulate that at the real pace, including the shell's ticks.
    if (left == 0) break;
    const uint64_t before = cycles_;
    run(left * clock_mhz_);
    left -= std::min(left, (cycles_ - before) / clock_mhz_);
  }
  cycles_ = std::max(cycles_, end);
}

uint64_t Simulation::replay_ticks(uint64_t ticks) {
  std::vector<size_t> timed;
  for (size_t s = 0; s < places_.size(); ++s)
    if (places_[s].module() != nullptr && places_[s].module()->timed() && !places_[s].stuck()) timed.push_back(s);
  if (timed.empty()) return ticks;
  for (uint64_t done = 0; done < ticks;) {
    uint64_t skip = ticks - done;
    for (const size_t s : timed) skip = std::min<uint64_t>(skip, places_[s].module()->idle_ticks());
    for (const size_t s : timed) places_[s].module()->skip_ticks(static_cast<uint32_t>(skip));
    done += skip;
    if (done == ticks) break;
    ++done;
    if (tick(timed)) return done;
  }
  return ticks;
}

// One tick of the modules in these idle slots; returns whether one started to work.
bool Simulation::tick(const std::vector<size_t>& timed) {
  bool busy = false;
  for (const size_t s : timed) {
    nf_slot_in in = pins_.lanes[s].to_slot;
    in.tick_us = 1;
    in.s_tvalid = in.m_tready = 0;
    nf_slot_out out;
    places_[s].settle(in, out);
    places_[s].edge();
    in.tick_us = 0;
    places_[s].settle(in, out);
    busy |= out.busy != 0 || out.m_tvalid != 0;
    places_[s].edge();
  }
  return busy;
}

uint32_t Simulation::access(std::optional<size_t> slot, uint16_t address) {
  pins_.csr.address = address;
  pins_.csr.space = static_cast<uint8_t>(slot ? *slot + 1 : 0);
  pins_.csr.ack = 0;
  for (last_access_cycles_ = 0; pins_.csr.ack == 0; ++last_access_cycles_) {
    if (last_access_cycles_ == kAccessCycles) throw std::logic_error("the shell does not answer");
    step();
  }
  const uint32_t value = pins_.csr.rdata;
  pins_.csr.read = pins_.csr.write = 0;
  step();
  return value;
}

uint32_t Simulation::read(std::optional<size_t> slot, uint16_t address) {
  pins_.csr.read = 1;
  return access(slot, address);
}

void Simulation::write(std::optional<size_t> slot, uint16_t address, uint32_t value) {
  pins_.csr.write = 1;
  pins_.csr.wdata = value;
  access(slot, address);
}

}  // namespace orrery::board
