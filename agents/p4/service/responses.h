// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "p4/service/failure.h"
#include "p4/service/messages.h"

namespace orrery::p4::service {

// What a Read answers, in messages of a bounded size.
class Responses {
 public:
  static constexpr size_t kMostEntities = size_t{1} << 21;

  // Called now and then between two entities, so that packets need not wait for all of them.
  void pause_by(std::function<void()> pause) { pause_ = std::move(pause); }

  // Throws Failure where there are too many.
  pb::Entity& add() {
    static constexpr int kInMessage = 512;
    static constexpr size_t kBytes = size_t{1} << 20;
    static constexpr size_t kBetweenPauses = 1024;
    if (++entities_ > kMostEntities)
      refuse(Code::RESOURCE_EXHAUSTED, "entities: a read finds at most " + std::to_string(kMostEntities));
    if (pause_ && entities_ % kBetweenPauses == 0) pause_();
    if (!messages_.empty() && messages_.back().entities_size() > 0) {
      const pb::ReadResponse& last = messages_.back();
      bytes_ += last.entities(last.entities_size() - 1).ByteSizeLong();
    }
    if (messages_.empty() || messages_.back().entities_size() == kInMessage || bytes_ >= kBytes) {
      messages_.emplace_back();
      bytes_ = 0;
    }
    return *messages_.back().add_entities();
  }

  const std::vector<pb::ReadResponse>& messages() const { return messages_; }

 private:
  std::function<void()> pause_;
  std::vector<pb::ReadResponse> messages_;
  size_t entities_ = 0;
  size_t bytes_ = 0;  // of the last message, without its last entity
};

}  // namespace orrery::p4::service
