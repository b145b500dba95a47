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
  double time_scale = 1;  // wall-clock seconds per modelled second of loading
};

// The board: one thread that runs the device on the frames of its ports, loads images and serves the requests in its
// mailbox. Blocks when idle.
class Board {
 public:
  // Throws if an option names something that does not exist or does not fit.
  explicit Board(const BoardOptions& options);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Runs until stop().
  void run();
  // May be called from any thread and from a signal handler.
  void stop() noexcept;

  Mailbox& mailbox() { return mailbox_; }

  // The following run on the board's thread only, as do the mailbox's tasks.

  nlohmann::json describe() const;
  // The slowdown is over the time since the previous call: null if no frame moved and no module worked.
  nlohmann::json status();

  const Profile& profile() const { return profile_; }
  Device& device() { return device_; }
  bool loading() const { return loader_.busy(); }
  uint64_t load(LoadRequest request);
  void quiesce(size_t slot, Policy policy);
  void resume(size_t slot);
  void unload(size_t slot);
  // False: the slot still holds frames of a stream that did not finish in time.
  bool free_of_streams(size_t slot);
  // Precondition: no stream is in progress, and free_of_streams().
  void stream(size_t slot, std::vector<Stream::Bytes> frames, uint64_t timeout_ns, Reply reply);

  // Does one part of a long task and returns the result after the last part; an exception is the result too.
  using Part = std::function<std::optional<nlohmann::json>()>;
  // Runs a long task in parts; frames are processed between them. Precondition: none is in progress.
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
  std::vector<InterruptionCount> counted_;                  // the latest interruption of each slot
  std::optional<StreamJob> stream_;
  std::vector<bool> stale_;  // slots that may hold frames of a stream that did not finish in time
  std::optional<std::pair<Part, Reply>> work_;
  const char* told_state_ = nullptr;
  uint64_t told_load_ = 0;
  uint64_t start_ns_;
  Work work_since_status_;
  uint64_t counters_cycle_ = 0;
};

}  // namespace orrery::board
