import type { Accelerator, Event, LoadKind, NfRef, Reconfiguration, SlotState } from '@orrery/contract';
import { chainNameOf } from '../../shared/api/chains.js';
import { compareEventIds } from '../../shared/stream/event-id.js';

export type LaneState = SlotState | 'absent';

/** A time in which a slot did one thing for one NF. */
export interface Phase {
  readonly from_ms: number;
  /** Null: still. */
  readonly to_ms: number | null;
  readonly state: LaneState;
  readonly module: string | null;
  readonly nf: NfRef | null;
  /** Name of its chain then, as far as the log told. */
  readonly chain: string | null;
  /** Kind of the load that goes on, as far as the log told. */
  readonly load: LoadKind | null;
}

export interface Lane {
  readonly board: string;
  readonly slot: number;
  /** In order and without gaps from the first that is known. */
  readonly phases: readonly Phase[];
}

type What = Omit<Phase, 'from_ms' | 'to_ms'>;
interface Change {
  readonly t_ms: number;
  readonly what: What;
}

/** Resources are read this long after an event at the earliest before they are believed more than the event. */
const SETTLE_MS = 1000;
const SLOT_STATES: readonly string[] = [
  'empty',
  'quiescing',
  'loading',
  'configuring',
  'active',
  'faulty',
  'unknown',
] satisfies SlotState[];

const text = (value: unknown) => (typeof value === 'string' ? value : null);

/** Events that lanes are made of. */
export const LANE_EVENTS = ['slot.state', 'board.state', 'server.returned'] as const;
export const isLaneEvent = ({ type }: Event) => LANE_EVENTS.some((each) => each === type);

function nfOf(pipeline_id: string | null, node_id: string | null): NfRef | null {
  return pipeline_id === null || node_id === null ? null : { pipeline_id, node_id };
}

function whatOfEvent({ data }: Event): What {
  const state = text(data.state) ?? '';
  return {
    state: SLOT_STATES.includes(state) ? (state as SlotState) : 'unknown',
    module: text(data.module),
    nf: state === 'empty' ? null : nfOf(text(data.pipeline_id), text(data.node_id)),
    chain: chainNameOf(text(data.instance_id) ?? ''),
    load: data.load === 'full' || data.load === 'partial' ? data.load : null,
  };
}

const isAway = (boardState: string) => boardState === 'absent' || boardState === 'failed';
const NOTHING = { module: null, nf: null, chain: null, load: null };
const ABSENT: What = { state: 'absent', ...NOTHING };
const UNKNOWN: What = { state: 'unknown', ...NOTHING };

/** A slot that is empty serves nobody yet, whoever is to be on it. */
function whatOfSlot(
  { state: boardState }: Accelerator,
  { state, module, instance_id, pipeline_id, node_id, load }: Accelerator['slots'][number],
): What {
  if (isAway(boardState)) return ABSENT;
  const nf = state === 'empty' ? null : nfOf(pipeline_id, node_id);
  return { state, module, nf, chain: chainNameOf(instance_id ?? ''), load: load?.kind ?? null };
}

/** Whether nothing changed, save that more was told. */
function same(a: What, b: What): boolean {
  const oneNf = !a.nf || !b.nf || (a.nf.pipeline_id === b.nf.pipeline_id && a.nf.node_id === b.nf.node_id);
  return a.state === b.state && a.module === b.module && oneNf;
}

/**
 * What the log tells of one slot; while its board is away it is absent, whatever it did before. From the time on at which
 * the server went nothing is known until the next one tells.
 */
function changesOf(events: readonly Event[], board: string, slot: number): Change[] {
  const changes: Change[] = [];
  let own = UNKNOWN;
  let away = false;
  for (const event of events) {
    if (event.type === 'server.returned') {
      own = UNKNOWN;
      away = false;
      const since_ms = Number(event.data.away_since_ms);
      const last_ms = changes.at(-1)?.t_ms;
      if (last_ms !== undefined) changes.push({ t_ms: Math.max(since_ms, last_ms), what: UNKNOWN });
      continue;
    }
    if (event.data.board !== board) continue;
    if (event.type === 'board.state') away = isAway(text(event.data.state) ?? '');
    else if (event.data.slot === slot) own = whatOfEvent(event);
    else continue;
    changes.push({ t_ms: event.t_ms, what: away ? ABSENT : own });
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
 * One lane for each slot that there is now: what the log tells, ended by what the slot does now. Where the log says nothing
 * of a slot, what it does now is taken to have lasted since `from_ms`. Events may come in any order and more than once.
 */
export function foldLanes(
  boards: readonly Accelerator[],
  read_ms: number,
  log: readonly Event[],
  from_ms: number,
): Lane[] {
  const byId = new Map(log.filter(isLaneEvent).map((event) => [event.id, event]));
  const events = [...byId.values()].sort((a, b) => compareEventIds(a.id, b.id));
  return boards.flatMap((board) =>
    board.slots.map((slot) => {
      const changes = changesOf(events, board.id, slot.slot);
      const now = whatOfSlot(board, slot);
      const last = changes.at(-1);
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

/** Kind of the load that a phase belongs to, as far as the log or a reconfiguration tells. */
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
};

export function laneWord(state: LaneState): string {
  return WORDS[state];
}
