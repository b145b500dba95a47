// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/splitter.h"
#include "modules/hash_split/flow_steering.h"

namespace orrery {

// What a splitter knows, copied while packets flow (contract: SplitState). Refers to the splitter.
class SplitCopy final : public StateCopy {
 public:
  // `steering`: null where no flows are tracked. At most `limit` exceptions.
  SplitCopy(const SplitRanges& ranges, const FlowKey& key, const FlowSteering* steering, const Splitter& splitter,
            size_t limit);

  bool copy(size_t rows) noexcept override;
  nlohmann::json finish(RowForm form) override;

 private:
  struct Exception {
    FlowIdentity flow;
    uint8_t gate;
    uint64_t last_seen_ns;
  };

  nlohmann::json to_json(const Exception& exception, uint64_t now_ns) const;

  const SplitRanges& ranges_;
  const FlowKey& key_;
  const FlowSteering* steering_;
  const Splitter& splitter_;
  std::vector<Exception> exceptions_;
  uint64_t oldest_ns_ = UINT64_MAX;
  uint64_t newest_ns_ = 0;
  uint32_t next_ = 0;
  SplitFigures figures_;
};

}  // namespace orrery
