import type { NodeStatus } from '@orrery/contract';
import type { ReactNode } from 'react';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';

/** Generations are opaque: those of switches begin at the time in milliseconds. */
function DesiredState({ generation: { desired, observed } }: NodeStatus) {
  return (
    <span title={`generation ${observed ?? '–'} of ${desired ?? '–'}`}>
      {desired === observed ? 'reached' : 'not reached yet'}
    </span>
  );
}

/** Information about the agent of a server or switch. */
export function agentFacts(status: NodeStatus | undefined): readonly (readonly [string, ReactNode])[] {
  return [
    ['Agent', <StatusBadge key="agent" state={status?.state ?? 'unknown'} />],
    ['Desired state', status ? <DesiredState key="desired" {...status} /> : '–'],
    ['Last seen', status?.last_seen_ms ? <RelativeTime key="seen" t_ms={status.last_seen_ms} /> : 'never'],
    ...(status?.detail ? [['Detail', status.detail] as const] : []),
    ['Version', status?.version ?? '–'],
  ];
}
