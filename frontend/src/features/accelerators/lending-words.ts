import {
  acceleratorNamed,
  type LendingGroup,
  type LendingStrategy,
  type LendingTurn,
  type LendingWhy,
  type LentNow,
} from '@orrery/contract';
import type { Status } from '../../shared/ui/status-badge.js';

export const STRATEGIES: readonly { value: LendingStrategy; label: string; says: string }[] = [
  {
    value: 'ssm',
    label: 'By load',
    says: 'Of the overloaded VNFs, the one that has had it the least is next. A holder whose usage falls gives it up.',
  },
  { value: 'static', label: 'First keeps', says: 'The first overloaded VNF keeps it. For comparison.' },
  { value: 'round-robin', label: 'In turn', says: 'Every VNF has its slice, whatever its load. For comparison.' },
];

export const strategyText = (strategy: LendingStrategy): string =>
  STRATEGIES.find(({ value }) => value === strategy)!.label.toLowerCase();

export const GROUP_STATES: Record<LendingGroup['state'], { status: Status; label: string }> = {
  lending: { status: 'healthy', label: 'lending' },
  paused: { status: 'stale', label: 'loop paused' },
  disabled: { status: 'idle', label: 'disabled' },
  'without-vnfs': { status: 'idle', label: 'no VNF runs' },
};

const NOW: Record<LentNow['state'], string> = {
  free: 'free',
  granting: 'being granted to',
  held: 'held by',
  releasing: 'being released by',
  unknown: 'not known, last with',
  used: 'used without a loan by',
  away: 'server away',
  broken: 'does not work, or is in maintenance',
  lacking: 'its processor lacks what the VNFs there need',
};
const NO_VNF_FITS = 'no VNF of the group can run in it';

/** `server-1/instructions: held by vpn.tunnel.0` */
export function lentText({ accelerator, state, holder }: LentNow): string {
  const isSlot = acceleratorNamed(accelerator).kind === 'slot';
  const now = state === 'lacking' && isSlot ? NO_VNF_FITS : NOW[state];
  return `${accelerator}: ${now}${holder === null ? '' : ` ${holder}`}`;
}

/** Of a lane: the server, or board and slot. */
export function laneText(accelerator: string): string {
  const named = acceleratorNamed(accelerator);
  return named.kind === 'slot' ? `${named.board} slot ${named.slot}` : named.server;
}

const WHY: Record<LendingWhy, string> = {
  overload: 'overloaded',
  turn: 'its turn',
  idle: 'usage fell',
  'slice-over': 'slice over',
  gone: 'runs no more',
  away: 'server away',
  failed: 'failed',
  disabled: 'no longer lent',
};

export const whyText = (why: LendingWhy): string => WHY[why];

export function endText({ to_ms, ended }: LendingTurn): string {
  if (to_ms === null) return 'holds it';
  return ended === null ? 'not known' : whyText(ended);
}
