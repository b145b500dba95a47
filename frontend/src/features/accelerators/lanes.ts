import type { Accelerator, Event, EventOf, LoadKind, NfRef, Reconfiguration, SlotState } from '@orrery/contract';
import { chainNameOf } from '../../shared/api/chains.js';
import { isAway } from '../../shared/format/board-state.js';
import { compareEventIds } from '../../shared/stream/event-id.js';

export type LaneState = SlotState | 'absent' | 'starting';

/** A period in which a slot did one thing for one NF. */
export interface Phase {
  readonly from_ms: number;
  /** Null: still. */
  readonly to_ms: number | null;
  readonly state: LaneState;
  readonly module: string | null;
  readonly nf: NfRef | null;
  /** Name of its chain at that time, if it is in the log. */
  readonly chain: string | null;
  /** Kind of the load in progress, if it is in the log. */
  readonly load: LoadKind | null;
}

export interface Lane {
  readonly board: string;
  readonly slot: number;
  /** In order and without gaps from the first known one. */
  readonly phases: readonly Phase[];
}

type What = Omit<Phase, 'from_ms' | 'to_ms'>;
interface Change {
  readonly t_ms: number;
  readonly what: What;
}

/** Resources override an event only if they are read at least this long after it. */
const SETTLE_MS = 1000;

/** Events that lanes are made of. */
export const LANE_EVENTS = ['slot.state', 'board.state', 'server.returned'] as const;
export type LaneEvent = EventOf<(typeof LANE_EVENTS)[number]>;
export const isLaneEvent = (event: Event): event is LaneEvent => LANE_EVENTS.some((each) => each === event.type);

function nfOf(chain_id: string | null, node_id: string | null): NfRef | null {
  return chain_id === null || node_id === null ? null : { chain_id, node_id };
}

function whatOfEvent({ data }: EventOf<'slot.state'>): What {
  const { state, module, chain_id, node_id, instance_id, load } = data;
  const nf = state === 'empty' ? null : nfOf(chain_id, node_id);
  return { state, module, nf, chain: chainNameOf(instance_id ?? ''), load };
}

const NOTHING = { module: null, nf: null, chain: null, load: null };
const ABSENT: What = { state: 'absent', ...NOTHING };
const STARTING: What = { state: 'starting', ...NOTHING };
const UNKNOWN: What = { state: 'unknown', ...NOTHING };

/** What all slots of a board do that is away; null: it is not. */
function whatOfAway(board: { readonly state: Accelerator['state'] }): What | null {
  if (!isAway(board)) return null;
  return board.state === 'starting' ? STARTING : ABSENT;
}

/** An empty slot serves no NF yet, even if one is about to use it. */
function whatOfSlot(
  board: Accelerator,
  { state, module, instance_id, chain_id, node_id, load }: Accelerator['slots'][number],
): What {
  const away = whatOfAway(board);
  if (away) return away;
  const nf = state === 'empty' ? null : nfOf(chain_id, node_id);
  return { state, module, nf, chain: chainNameOf(instance_id ?? ''), load: load?.kind ?? null };
}

/** Whether nothing has changed except for added detail. */
function same(a: What, b: What): boolean {
  const oneNf = !a.nf || !b.nf || (a.nf.chain_id === b.nf.chain_id && a.nf.node_id === b.nf.node_id);
  return a.state === b.state && a.module === b.module && oneNf;
}

function isOfSlot(event: LaneEvent, board: string, slot: number): event is EventOf<'slot.state'> {
  return event.type === 'slot.state' && event.data.board === board && event.data.slot === slot;
}

/**
 * The phases of one slot according to the log. While its board is away, so is the slot, whatever it did before. After
 * the server stops, the state is unknown until the next server reports it.
 */
function changesOf(events: readonly LaneEvent[], board: string, slot: number): Change[] {
  const changes: Change[] = [];
  let own = UNKNOWN;
  let away: What | null = null;
  for (const event of events) {
    if (event.type === 'server.returned') {
      own = UNKNOWN;
      away = null;
      const since_ms = event.data.away_since_ms;
      const last_ms = changes.at(-1)?.t_ms;
      if (last_ms !== undefined) changes.push({ t_ms: Math.max(since_ms, last_ms), what: UNKNOWN });
      continue;
    }
    if (event.data.board !== board) continue;
    if (event.type === 'board.state') away = whatOfAway(event.data);
    else if (event.data.slot === slot) own = whatOfEvent(event);
    else continue;
    changes.push({ t_ms: event.t_ms, what: away ?? own });
  }
  return changes;
}

function phasesOf(changes: readonly Change[]): Phase[] {
  const phases: Phase[] = [];
  for (const { t_ms, what } of changes) {
    const last = phases.at(-1);
    if (last && same(last, what)) {
      const { nf, chain, load } = last;
      phases[phases.length - 1] = { ...last, nf: nf ?? what.nf, chain: chain ?? what.chain, load: load ?? what.load };
      continue;
    }
    if (last) phases[phases.length - 1] = { ...last, to_ms: t_ms };
    phases.push({ ...what, from_ms: t_ms, to_ms: null });
  }
  return phases;
}

/**
 * One lane for each existing slot: the phases in the log, followed by the current state. A slot without log entries is
 * assumed to have been in its current state since `from_ms`. Events may arrive in any order and repeatedly.
 */
export function foldLanes(
  boards: readonly Accelerator[],
  read_ms: number,
  log: readonly LaneEvent[],
  from_ms: number,
): Lane[] {
  const byId = new Map(log.map((event) => [event.id, event]));
  const events = [...byId.values()].sort((a, b) => compareEventIds(a.id, b.id));
  return boards.flatMap((board) =>
    board.slots.map((slot) => {
      const changes = changesOf(events, board.id, slot.slot);
      const now = whatOfSlot(board, slot);
      const last = changes.at(-1);
      const told = events.findLast((event): event is EventOf<'slot.state'> => isOfSlot(event, board.id, slot.slot));
      // Of a board that starts its agent tells that it knows nothing.
      if (last && now.state === 'starting' && told?.t_ms === last.t_ms && told.data.state === 'unknown')
        changes[changes.length - 1] = { ...last, what: now };
      if (!last) changes.push({ t_ms: Math.min(from_ms, read_ms), what: now });
      else if (read_ms > last.t_ms + SETTLE_MS) changes.push({ t_ms: read_ms, what: now });
      const phases = phasesOf(changes).filter((it) => it.to_ms === null || it.to_ms > Math.max(from_ms, it.from_ms));
      return { board: board.id, slot: slot.slot, phases };
    }),
  );
}

export function phaseAt({ phases }: Lane, t_ms: number): Phase | undefined {
  return phases.findLast(({ from_ms, to_ms }) => from_ms <= t_ms && (to_ms === null || to_ms > t_ms));
}

/** Kind of the load that a phase belongs to, if known from the log or a reconfiguration. */
export function loadKindOf(
  { board, slot }: Pick<Lane, 'board' | 'slot'>,
  phase: Phase,
  reconfigurations: readonly Reconfiguration[],
): LoadKind | null {
  if (phase.load) return phase.load;
  const found = reconfigurations.find(
    ({ slot: at, load, started_ms, ended_ms }) =>
      at?.board === board &&
      (at.slot === slot || load === 'full') &&
      started_ms <= (phase.to_ms ?? Number.POSITIVE_INFINITY) &&
      (ended_ms === null || ended_ms >= phase.from_ms),
  );
  return found?.load ?? null;
}

const WORDS: Record<LaneState, string> = {
  empty: 'idle',
  quiescing: 'quiescing',
  loading: 'loading',
  configuring: 'configuring',
  active: 'active',
  faulty: 'faulty',
  unknown: 'unknown',
  absent: 'board absent',
  starting: 'board starting',
};

export function laneWord(state: LaneState): string {
  return WORDS[state];
}
