import type { NodeStatus } from '@orrery/contract';
import type { ReactNode } from 'react';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';

function generationText({ generation: { desired, observed } }: NodeStatus): string {
  return desired === observed ? `${observed}, as desired` : `${observed}, desired ${desired}`;
}

/** Information about the agent of a server or switch. */
export function agentFacts(status: NodeStatus | undefined): readonly (readonly [string, ReactNode])[] {
  return [
    ['Agent', <StatusBadge key="agent" state={status?.state ?? 'unknown'} />],
    ['Generation', status ? generationText(status) : '–'],
    ['Last seen', status?.last_seen_ms ? <RelativeTime key="seen" t_ms={status.last_seen_ms} /> : 'never'],
    ...(status?.detail ? [['Detail', status.detail] as const] : []),
    ['Version', status?.version ?? '–'],
  ];
}
