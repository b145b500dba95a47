import type { NodeStatus } from '@orrery/contract';
import type { ReactNode } from 'react';
import { LastKnown } from '../../../shared/ui/last-known.js';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';

/** Generations are opaque: those of switches begin at the time in milliseconds. */
function DesiredState({ generation: { desired, observed }, state }: NodeStatus) {
  return (
    <span title={`generation ${observed ?? '–'} of ${desired ?? '–'}`}>
      <LastKnown word="" isOld={state !== 'connected'}>
        {desired === observed ? 'reached' : 'not reached yet'}
      </LastKnown>
    </span>
  );
}

/** An agent that is silent for two seconds is not connected any more, which has an event: until then no age is of interest. */
function LastSeen({ state, last_seen_ms }: NodeStatus) {
  if (state === 'connected') return <LastKnown>now</LastKnown>;
  return last_seen_ms ? <RelativeTime t_ms={last_seen_ms} /> : 'never';
}

/** Information about the agent of a server or switch. `desired`: instead of what the status says of the desired state. */
export function agentFacts(
  status: NodeStatus | undefined,
  desired: ReactNode = status ? <DesiredState {...status} /> : '–',
): readonly (readonly [string, ReactNode])[] {
  return [
    ['Agent', <StatusBadge key="agent" state={status?.state ?? 'unknown'} />],
    ['Desired state', desired],
    ['Last seen', status ? <LastSeen key="seen" {...status} /> : 'never'],
    ...(status?.detail ? [['Detail', status.detail] as const] : []),
    ['Version', status?.version ?? '–'],
  ];
}
