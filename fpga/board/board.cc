// SPDX-License-Identifier: Apache-2.0
#include "board/board.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <stdexcept>
#include <system_error>

#include "board/control/hex.h"
#include "board/slot/registers.h"
#include "support/clock.h"
#include "support/errors.h"

namespace orrery::board {
namespace {

using nlohmann::json;

constexpr uint64_t kBurstCycles = 4096;
// How often a timed module gets its ticks while nothing else happens.
constexpr int kTickWaitMs = 20;
// Well before a 32-bit byte counter can wrap, at 8 bytes per cycle.
constexpr uint64_t kCounterCycles = uint64_t{1} << 27;

std::vector<PortOption> checked(const std::vector<PortOption>& ports, size_t slots) {
  std::set<std::pair<size_t, Side>> seen;
  for (const PortOption& port : ports) {
    if (port.slot >= slots) throw std::invalid_argument("--port: the profile has no slot " + std::to_string(port.slot));
    if (!seen.insert({port.slot, port.side}).second) throw std::invalid_argument("--port: a port is given twice");
  }
  return ports;
}

int make_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll");
  return fd;
}

}  // namespace

Board::Board(const BoardOptions& options)
    : options_(options),
      profile_(read_profile(options.profile)),
      library_(options.library),
      epoll_(make_epoll()),
      stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      events_(options.events),
      device_(profile_.regions.size(), profile_.clock_mhz, [this](size_t slot) { slot_changed(slot); }),
      ports_(checked(options.ports, profile_.regions.size()), epoll_),
      loader_(device_, profile_, library_, PublicKey::read(options.images_key), options.time_scale),
      interruptions_(profile_.regions.size()),
      counted_(profile_.regions.size()),
      stale_(profile_.regions.size()),
      start_ns_(monotonic_ns()) {
  for (const int fd : {stop_event_, timer_, mailbox_.fd(), events_.fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
      throw std::system_error(errno, std::generic_category(), "epoll");
  }
}

Board::~Board() {
  close(timer_);
  close(stop_event_);
  close(epoll_);
}

void Board::stop() noexcept {
  eventfd_write(stop_event_, 1);
}

void Board::run() {
  for (bool active = true; wait(active);) active = turn();
  mailbox_.close();
  const auto ending = std::make_exception_ptr(std::runtime_error("the board is shutting down"));
  if (stream_) stream_->reply.fail(ending);
  stream_.reset();
  if (work_) work_->second.fail(ending);
  work_.reset();
}

// Collects everything that may have happened; sleeps until something does unless `active`. False: stop() was called.
bool Board::wait(bool active) {
  bool timed = false;
  for (size_t n = 0; n < device_.slots() && !active; ++n) {
    const Module* module = device_.simulation().place(n).module();
    timed |= module != nullptr && module->timed();
  }
  epoll_event happened[16];
  const uint64_t before = monotonic_ns();
  const int n = epoll_wait(epoll_, happened, 16, active ? 0 : timed ? kTickWaitMs : -1);
  if (!active && device_.powered()) device_.simulation().pass_ns(monotonic_ns() - before);
  bool ports = false;
  for (int i = 0; i < n; ++i) ports |= happened[i].data.ptr == &ports_;
  if (ports) ports_.wake();
  uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t expirations = read(timer_, &ignored, sizeof(ignored));
  return eventfd_read(stop_event_, &ignored) != 0;
}

// Does pending work, up to a burst. Returns whether more may be pending.
bool Board::turn() {
  mailbox_.serve();
  events_.serve();
  step_load();
  bool active = false;
  if (device_.powered()) {
    active = run_device();
  } else {
    ports_.discard();
    active = !ports_.send(device_.simulation());
  }
  step_work();
  board_changed();
  return active || work_;
}

bool Board::run_device() {
  Simulation& simulation = device_.simulation();
  const uint64_t before_ns = monotonic_ns(), run = simulation.cycles_run(), moved = simulation.cycles_moved();
  if (stream_) stream_->stream.step(false);
  ports_.receive(simulation);
  const bool idle = simulation.run(kBurstCycles);
  bool active = !idle || ports_.more(simulation);
  device_.supervise();
  pop_events();
  active |= !ports_.send(simulation);
  step_stream(idle);
  for (size_t n = 0; n < device_.slots(); ++n)
    if (!stream_ || stream_->slot != n) Stream::discard(simulation, n);
  if (simulation.cycles() - counters_cycle_ > kCounterCycles) {
    device_.update_counters();
    counters_cycle_ = simulation.cycles();
  }
  if (simulation.cycles_moved() != moved) {
    work_since_status_.wall_ns += monotonic_ns() - before_ns;
    work_since_status_.cycles += simulation.cycles_run() - run;
  }
  return active || stream_.has_value();
}

void Board::step_load() {
  if (!loader_.busy()) return;
  const uint64_t next_ns = loader_.step(monotonic_ns());
  itimerspec when{};
  if (next_ns != 0) {
    when.it_value.tv_sec = static_cast<time_t>(next_ns / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(next_ns % 1'000'000'000);
  }
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

uint64_t Board::load(LoadRequest request) {
  auto image = loader_.open(request);
  for (size_t n = 0; n < device_.slots(); ++n)
    if (!request.slot || *request.slot == n) interruptions_[n].emplace(device_, ports_, n);
  loader_.begin(std::move(request), std::move(image), monotonic_ns());
  step_load();
  return loader_.last()->id;
}

void Board::quiesce(size_t slot, Policy policy) {
  if (!interruptions_[slot]) interruptions_[slot].emplace(device_, ports_, slot);
  device_.quiesce(slot, policy);
}

void Board::resume(size_t slot) {
  if (!interruptions_[slot]) return device_.resume(slot);
  const uint64_t held = interruptions_[slot]->so_far().held;
  device_.resume(slot);
  // Until then frames were dropped or bypassed the slot.
  counted_[slot] = interruptions_[slot]->so_far();
  counted_[slot].held = held;
  interruptions_[slot].reset();
}

void Board::unload(size_t slot) {
  device_.quiesce(slot, Policy::kDrop);
  device_.remove(slot, SlotState::kEmpty);
}

void Board::stream(size_t slot, std::vector<Stream::Bytes> frames, uint64_t timeout_ns, Reply reply) {
  stream_.emplace(StreamJob{slot, Stream(device_.simulation(), slot, std::move(frames)), monotonic_ns() + timeout_ns,
                            std::move(reply)});
}

bool Board::free_of_streams(size_t slot) {
  if (stale_[slot]) stale_[slot] = !device_.clear_host(slot);
  return !stale_[slot];
}

void Board::step_stream(bool idle) {
  if (!stream_) return;
  auto& [slot, stream, end_ns, reply] = *stream_;
  const SlotState state = device_.slot(slot).state;
  if (stream.step(idle)) {
    json frames = json::array();
    for (const auto& frame : stream.output()) frames.push_back(to_hex(frame));
    reply.give({{"frames", std::move(frames)}, {"board_cycles", stream.board_cycles()}});
  } else if (state != SlotState::kActive || monotonic_ns() >= end_ns) {
    const std::string came =
        std::to_string(stream.output().size()) + " of " + std::to_string(stream.frames()) + " frames came out";
    const std::string name = "slot " + std::to_string(slot);
    const EngineError error = state == SlotState::kActive
                                  ? EngineError("timeout", "/timeout_ms", name + ": " + came + " in time")
                                  : EngineError("faulty", "", name + " is " + to_string(state) + ": " + came);
    stale_[slot] = true;
    free_of_streams(slot);
    reply.fail(std::make_exception_ptr(error));
  } else {
    return;
  }
  stream_.reset();
}

void Board::work(Part part, Reply reply) {
  work_.emplace(std::move(part), std::move(reply));
}

void Board::step_work() {
  if (!work_) return;
  auto& [part, reply] = *work_;
  try {
    auto answer = part();
    if (!answer) return;
    reply.give(std::move(*answer));
  } catch (...) {
    reply.fail(std::current_exception());
  }
  work_.reset();
}

// With no subscriber, events stay in their modules, which count those that do not fit.
void Board::pop_events() {
  if (!events_.heard()) return;
  for (size_t n = 0; n < device_.slots(); ++n) {
    if (device_.slot(n).state != SlotState::kActive && device_.slot(n).state != SlotState::kQuiescing) continue;
    const auto count = device_.read(n, reg::kEventCount);
    for (uint32_t i = 0; count && i < *count; ++i) {
      json words = json::array();
      for (int word = 0; word < reg::kEventWords; ++word) words.push_back(device_.read(n, reg::kEventData).value_or(0));
      if (!device_.slot(n).module) return;
      events_.publish({{"type", "module"},
                       {"slot", n},
                       {"module", device_.slot(n).module->name},
                       {"words", std::move(words)},
                       {"board_ns", device_.simulation().board_ns()}});
    }
  }
}

void Board::slot_changed(size_t slot) {
  const Slot& s = device_.slot(slot);
  events_.publish({{"type", "slot"},
                   {"slot", slot},
                   {"state", to_string(s.state)},
                   {"module", s.module ? json(s.module->name) : json(nullptr)},
                   {"error", s.error.empty() ? json(nullptr) : json(s.error)},
                   {"board_ns", device_.simulation().board_ns()}});
}

void Board::board_changed() {
  const uint64_t load = loader_.last() ? loader_.last()->id : 0;
  if (told_state_ == loader_.board_state() && told_load_ == load) return;
  told_state_ = loader_.board_state();
  told_load_ = load;
  events_.publish({{"type", "board"},
                   {"state", told_state_},
                   {"load", load == 0 ? json(nullptr) : json(load)},
                   {"board_ns", device_.simulation().board_ns()}});
}

}  // namespace orrery::board
