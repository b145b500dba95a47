// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "p4/service/messages.h"

namespace orrery::p4::service {

// What a Read answers, in messages of a bounded size.
class Responses {
 public:
  pb::Entity& add() {
    static constexpr int kEntities = 512;
    static constexpr size_t kBytes = size_t{1} << 20;
    if (!messages_.empty() && messages_.back().entities_size() > 0) {
      const pb::ReadResponse& last = messages_.back();
      bytes_ += last.entities(last.entities_size() - 1).ByteSizeLong();
    }
    if (messages_.empty() || messages_.back().entities_size() == kEntities || bytes_ >= kBytes) {
      messages_.emplace_back();
      bytes_ = 0;
    }
    return *messages_.back().add_entities();
  }

  const std::vector<pb::ReadResponse>& messages() const { return messages_; }

 private:
  std::vector<pb::ReadResponse> messages_;
  size_t bytes_ = 0;  // of the last message, without its last entity
};

}  // namespace orrery::p4::service
