import {
  type Accelerator,
  acceleratorNamed,
  type LendingGroup,
  type LendingStrategy,
  type LendingTurn,
  type LendingWhy,
  type LentNow,
  type OutOfService,
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

const GROUP_STATES: Record<LendingGroup['state'], { status: Status; label: string }> = {
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

/** What accelerators are part of, as far as it says why nobody is lent them now. */
export interface LendingParts {
  readonly boards: readonly Pick<Accelerator, 'id' | 'server' | 'state'>[];
  readonly out: readonly OutOfService[];
}

const STARTING = 'waits for its board, which is starting';

/** Why nobody is lent it for now, by what it is part of; null: nothing there is in the way, or somebody has it. */
function hindranceOf({ accelerator, state, holder }: LentNow, { boards, out }: LendingParts): string | null {
  if (holder !== null || state === 'lacking') return null;
  const named = acceleratorNamed(accelerator);
  const board = named.kind === 'slot' ? boards.find(({ id }) => id === named.board) : undefined;
  const ids = named.kind === 'slot' ? [named.board, board?.server] : [named.server];
  const part = out.find(({ id, maintenance }) => maintenance !== null && ids.includes(id));
  if (part) return `${part.id} is in maintenance`;
  return board?.state === 'starting' ? STARTING : null;
}

/** `server-1/instructions: held by vpn.tunnel.0` */
export function lentText(now: LentNow, parts: LendingParts): string {
  const { accelerator, state, holder } = now;
  const isSlot = acceleratorNamed(accelerator).kind === 'slot';
  const word = state === 'lacking' && isSlot ? NO_VNF_FITS : (hindranceOf(now, parts) ?? NOW[state]);
  return `${accelerator}: ${word}${holder === null ? '' : ` ${holder}`}`;
}

const UNUSABLE: readonly LentNow['state'][] = ['away', 'broken', 'lacking'];

/** A group lends only if there is an accelerator that somebody can be lent, or has. */
export function groupState(
  { state, accelerators_now }: Pick<LendingGroup, 'state' | 'accelerators_now'>,
  parts: LendingParts,
): { status: Status; label: string } {
  if (state !== 'lending') return GROUP_STATES[state];
  const hindrances = accelerators_now.map((now) => hindranceOf(now, parts));
  if (accelerators_now.some((now, i) => hindrances[i] === null && !UNUSABLE.includes(now.state)))
    return GROUP_STATES.lending;
  return hindrances.includes(STARTING)
    ? { status: 'working', label: 'waits for a board' }
    : { status: 'degraded', label: 'nothing to lend' };
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
