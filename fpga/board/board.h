// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "board/control/event_server.h"
#include "board/control/mailbox.h"
#include "board/device/device.h"
#include "board/device/interruption.h"
#include "board/device/loader.h"
#include "board/device/stream.h"
#include "board/io/ports.h"
#include "board/profile.h"

namespace orrery::board {

struct BoardOptions {
  std::string id;
  std::string profile;     // file
  std::string library;     // directory
  std::string images_key;  // file with the public key of images
  std::string control;     // socket
  std::string events;      // socket
  std::vector<PortOption> ports;
  double time_scale = 1;  // wall seconds that a modelled second of loading takes
};

// The board: one thread that runs the device on the frames of its ports, loads images and answers what comes in its
// mailbox. Blocks when nothing moves.
class Board {
 public:
  // Throws for options that name something which is not there or does not fit.
  explicit Board(const BoardOptions& options);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Runs until stop().
  void run();
  // From any thread and from a signal handler.
  void stop() noexcept;

  Mailbox& mailbox() { return mailbox_; }

  // On the board's thread only, which is where the mailbox runs its tasks.

  nlohmann::json describe() const;
  // Its slowdown is that since the call before: null where no frame moved and no module worked.
  nlohmann::json status();

  const Profile& profile() const { return profile_; }
  Device& device() { return device_; }
  bool loading() const { return loader_.busy(); }
  uint64_t load(LoadRequest request);
  void quiesce(size_t slot, Policy policy);
  void resume(size_t slot);
  void unload(size_t slot);
  // False: the slot still holds frames of a stream that did not end in time.
  bool free_of_streams(size_t slot);
  // Precondition: none is under way, and free_of_streams().
  void stream(size_t slot, std::vector<Stream::Bytes> frames, uint64_t timeout_ns, Reply reply);

  // Does a part of long work and gives its answer when that was the last; what it throws is the answer too.
  using Part = std::function<std::optional<nlohmann::json>()>;
  // Work between whose parts frames go on. Precondition: none is under way.
  void work(Part part, Reply reply);

 private:
  struct StreamJob {
    size_t slot;
    Stream stream;
    uint64_t end_ns;
    Reply reply;
  };

  struct Work {
    uint64_t wall_ns = 0;
    uint64_t cycles = 0;
  };

  bool turn();
  bool run_device();
  bool wait(bool active);
  void step_load();
  void step_stream(bool idle);
  void step_work();
  void pop_events();
  void slot_changed(size_t slot);
  void board_changed();
  nlohmann::json slot_status(size_t slot);
  nlohmann::json load_status();
  nlohmann::json slowdown() const;

  BoardOptions options_;
  Profile profile_;
  Library library_;
  int epoll_;
  int stop_event_;
  int timer_;
  Mailbox mailbox_;
  EventServer events_;
  Device device_;
  Ports ports_;
  Loader loader_;
  std::vector<std::optional<Interruption>> interruptions_;  // by slot
  std::vector<InterruptionCount> counted_;                  // the last interruption of each slot
  std::optional<StreamJob> stream_;
  std::vector<bool> stale_;  // slots that may hold frames of a stream that did not end in time
  std::optional<std::pair<Part, Reply>> work_;
  const char* told_state_ = nullptr;
  uint64_t told_load_ = 0;
  uint64_t start_ns_;
  Work work_since_status_;
  uint64_t counters_cycle_ = 0;
};

}  // namespace orrery::board
