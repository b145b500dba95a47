import { createHash } from 'node:crypto';
import type { NfSplit, PlannedSplit } from '@orrery/contract';

/** Names what is planned for a split: which instances there are, their ranges, which flows stay and in which step it is. */
export function splitRevision({ at, key, targets, keep_flows }: PlannedSplit, staged: NfSplit['staged']): string {
  const planned = [
    at,
    key,
    targets.map(({ instance_id, server, range: { lo, hi } }) => [instance_id, server, lo, hi]),
    keep_flows && [keep_flows.capacity, keep_flows.idle_timeout_s],
    ...(staged ? [[staged.held?.map(({ lo, hi }) => [lo, hi]) ?? null, staged.exceptions, staged.idle_timeout_s]] : []),
  ];
  return createHash('sha256').update(JSON.stringify(planned)).digest('hex').slice(0, 16);
}
