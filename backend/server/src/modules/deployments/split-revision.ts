import { createHash } from 'node:crypto';
import type { PlannedSplit } from '@orrery/contract';

/** Names what is planned for a split: which instances there are, their ranges and which flows stay. */
export function splitRevision({ at, key, targets, keep_flows }: PlannedSplit): string {
  const planned = [
    at,
    key,
    targets.map(({ instance_id, server, range: { lo, hi } }) => [instance_id, server, lo, hi]),
    keep_flows && [keep_flows.capacity, keep_flows.idle_timeout_s],
  ];
  return createHash('sha256').update(JSON.stringify(planned)).digest('hex').slice(0, 16);
}
