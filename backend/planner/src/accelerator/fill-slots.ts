import type { BoardNode, BoardPlace, Constraint, LoadKind, SlotRef } from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import { type Fleet, placeOnline, withDemand } from './online.js';
import { DEFAULT_PACK_BUDGET, packOffline } from './pack.js';
import type { Demand, Dimension, Shortage } from './problem.js';
import { exceeds } from './reasons.js';

/** A slot as a device that carries one NF (HYPER Table I). */
export interface FreeSlot {
  readonly board: BoardNode;
  readonly slot: number;
  /** In use by what runs now. */
  readonly taken: boolean;
  readonly reserved: boolean;
}

/** An NF that needs a slot. */
export interface SlotDemand extends Pick<BoardPlace, 'load' | 'policy'> {
  readonly node: string;
  readonly nf: string;
  readonly need: Readonly<Record<string, number>>;
  readonly throughput_bps: number;
  /** Most that a slot of the board carries of it. */
  readonly rateOn: (board: BoardNode) => number;
  /** Whether the NF can run on the board, whatever it takes of it; absent: on any. */
  readonly runsOn?: (board: BoardNode) => boolean;
  readonly latency_us: number;
  /** The requested slot. */
  readonly slot: SlotRef | null;
}

function runsOn({ runsOn = () => true }: SlotDemand, board: BoardNode): boolean {
  return runsOn(board);
}

interface Filled {
  readonly slots: ReadonlyMap<string, SlotRef>;
  readonly conflicts: readonly Constraint[];
}

/** The dimension in which each slot has one unit and each NF needs one. */
const SLOT: Dimension = { name: 'slots', unit: 'slots' };

/**
 * Gives each demand a slot: first those that name one, then the rest together by bin completion (`offline`), or one after
 * the other by fitness (HYPER V-A, V-B). A full load replaces the contents of all slots, so it needs a board with nothing
 * but full loads of the same plan. With a conflict the slots are meaningless. Errors: `OutOfTime`.
 */
export function fillSlots(
  demands: readonly SlotDemand[],
  slots: readonly FreeSlot[],
  { offline, expired }: { readonly offline: boolean } & Pick<Budget, 'expired'>,
): Filled {
  const chosen = new Map<string, SlotRef>();
  const open = new Set(slots.filter(({ taken }) => !taken));
  const loads = new BoardLoads(slots);
  for (const demand of demands.filter(({ slot }) => slot !== null)) {
    const wanted = demand.slot!;
    const found = slots.find(({ board, slot }) => board.id === wanted.board && slot === wanted.slot);
    const conflict = namedConflict(demand, found, open, loads);
    if (conflict) return { slots: chosen, conflicts: [conflict] };
    open.delete(found!);
    loads.add(wanted.board, demand.load);
    chosen.set(demand.node, wanted);
  }
  for (const kind of ['full', 'partial'] as const) {
    const rest = demands.filter(({ slot, load }) => slot === null && load === kind);
    const fit = [...open].filter(({ board, reserved }) => !reserved && loads.allow(board.id, kind));
    const found = offline && rest.length > 1 ? packed(rest, fit, { expired }) : online(rest, fit, { expired });
    for (const [node, ref] of found.slots) {
      chosen.set(node, ref);
      loads.add(ref.board, kind);
      open.delete(fit.find(({ board, slot }) => board.id === ref.board && slot === ref.slot)!);
    }
    if (found.conflicts.length > 0) return { slots: chosen, conflicts: found.conflicts };
  }
  return { slots: chosen, conflicts: [] };
}

/** How the boards are loaded: full and partial loads do not mix on a board. */
class BoardLoads {
  private readonly byBoard = new Map<string, LoadKind>();

  constructor(slots: readonly FreeSlot[]) {
    // Running NFs survive partial loads only.
    for (const { board, taken } of slots) if (taken) this.byBoard.set(board.id, 'partial');
  }

  add(board: string, load: LoadKind): void {
    this.byBoard.set(board, load);
  }

  allow(board: string, load: LoadKind): boolean {
    const known = this.byBoard.get(board);
    return known === undefined || known === load;
  }
}

function namedConflict(
  demand: SlotDemand,
  slot: FreeSlot | undefined,
  open: ReadonlySet<FreeSlot>,
  loads: BoardLoads,
): Constraint | null {
  const where = `${demand.slot!.board} slot ${demand.slot!.slot}`;
  const short = (constraint: Constraint['constraint'], needed: number, available: number, unit: string) => ({
    constraint,
    needed,
    available,
    unit,
    where,
  });
  if (!slot) return short('implementation', 1, 0, 'usable boards');
  if (!open.has(slot)) return short('capacity', 1, 0, 'free slots');
  if (!loads.allow(slot.board.id, demand.load)) return short('capacity', 1, 0, `boards for ${demand.load} loads`);
  for (const [name, needed] of Object.entries(demand.need)) {
    const available = slot.board.resources[name] ?? 0;
    if (exceeds(needed, available)) return short('capacity', needed, available, name);
  }
  const rate_bps = demand.rateOn(slot.board);
  return exceeds(demand.throughput_bps, rate_bps) ? short('throughput', demand.throughput_bps, rate_bps, 'bps') : null;
}

function dimensionsOf(demands: readonly SlotDemand[]): Dimension[] {
  const names = [...new Set(demands.flatMap(({ need }) => Object.keys(need)))];
  return [...names.map((name) => ({ name, unit: name })), SLOT];
}

function asDemand(
  { node, need, throughput_bps, latency_us }: SlotDemand,
  f: number,
  dims: readonly Dimension[],
): Demand {
  const vector = dims.map((dimension) => (dimension === SLOT ? 1 : (need[dimension.name] ?? 0)));
  return { id: node, function: f, need: vector, throughput_bps, latency_us };
}

/** A capacity of nothing carries no demand but one of nothing; the algorithms want it above zero. */
const ALMOST_NOTHING = 1e-12;

function capacityOf({ resources }: BoardNode, dims: readonly Dimension[]): number[] {
  return dims.map((dimension) => (dimension === SLOT ? 1 : (resources[dimension.name] ?? 0) || ALMOST_NOTHING));
}

function online(demands: readonly SlotDemand[], free: readonly FreeSlot[], time: Pick<Budget, 'expired'>): Filled {
  const dimensions = dimensionsOf(demands);
  const functions = [...new Set(demands.map(({ nf }) => nf))];
  const all = [...functions.keys()];
  let fleet: Fleet = {
    functions,
    dimensions,
    devices: free.map(({ board, slot }) => ({
      id: `${board.id} slot ${slot}`,
      latency_us: board.latency_us,
      functions: all,
      capacity: capacityOf(board, dimensions),
      capacity_free: capacityOf(board, dimensions),
      throughput_bps: board.bandwidth_bps,
      throughput_free_bps: board.bandwidth_bps,
    })),
  };
  /** A slot takes one NF, whose module sets its rate. */
  const ratedFor = (demand: SlotDemand): Fleet => ({
    ...fleet,
    devices: fleet.devices.map((device, h) => {
      const { board } = free[h]!;
      const rate_bps = demand.rateOn(board);
      const carried = runsOn(demand, board) ? all : [];
      return { ...device, functions: carried, throughput_bps: rate_bps, throughput_free_bps: rate_bps };
    }),
  });
  const slots = new Map<string, SlotRef>();
  for (const demand of demands) {
    requireTime(time);
    const wanted = asDemand(demand, functions.indexOf(demand.nf), dimensions);
    const rated = ratedFor(demand);
    const { device, conflicts } = placeOnline(rated, wanted, { strategy: 'best-fit', seed: 1 });
    if (device === null) return { slots, conflicts: conflicts.map(constraintOf) };
    fleet = withDemand(rated, device, wanted);
    slots.set(demand.node, { board: free[device]!.board.id, slot: free[device]!.slot });
  }
  return { slots, conflicts: [] };
}

function packed(demands: readonly SlotDemand[], free: readonly FreeSlot[], time: Pick<Budget, 'expired'>): Filled {
  const dimensions = dimensionsOf(demands);
  const boards = [...new Set(free.map(({ board }) => board))];
  const tooFast = demands.flatMap((demand) => tooFastFor(demand, boards));
  if (tooFast.length > 0) return { slots: new Map(), conflicts: tooFast };
  const found = packOffline(
    {
      // By demand, since rates depend on the NF and on the length of its packets.
      functions: demands.map(({ nf }) => nf),
      dimensions,
      types: boards.map((board) => ({
        id: board.id,
        cost: board.cost / board.slots,
        count: free.filter((it) => it.board === board).length,
        latency_us: board.latency_us,
        throughput_bps: Math.max(...demands.map(({ rateOn }) => rateOn(board))),
        capacity: capacityOf(board, dimensions),
        functions: [...demands.keys()].filter(
          (i) => runsOn(demands[i]!, board) && !exceeds(demands[i]!.throughput_bps, demands[i]!.rateOn(board)),
        ),
      })),
      demands: demands.map((demand, i) => asDemand(demand, i, dimensions)),
    },
    { strategy: 'bin-completion', seed: 1, budget: { ...DEFAULT_PACK_BUDGET, ...time, steps: PACK_STEPS } },
  );
  // What the clock ended does not say that nothing fits.
  if (found.status === 'unknown') requireTime(time);
  const slots = new Map<string, SlotRef>();
  if (found.status !== 'packed')
    return { slots, conflicts: (found.conflict?.shortages ?? [NO_PACKING]).map(constraintOf) };
  const left = new Map(boards.map((board) => [board, free.filter((it) => it.board === board)]));
  for (const { type, demands: here } of found.devices) {
    const { board, slot } = left.get(boards[type]!)!.shift()!;
    for (const demand of here) slots.set(demands[demand]!.node, { board: board.id, slot });
  }
  return { slots, conflicts: [] };
}

/** The shortage of a demand that no board is fast enough for, at the fastest one. */
function tooFastFor(demand: SlotDemand, all: readonly BoardNode[]): Constraint[] {
  const { throughput_bps, rateOn } = demand;
  const boards = all.filter((board) => runsOn(demand, board));
  const [fastest] = boards.toSorted((a, b) => rateOn(b) - rateOn(a));
  if (!fastest || !exceeds(throughput_bps, rateOn(fastest))) return [];
  const available = rateOn(fastest);
  return [{ constraint: 'throughput', needed: throughput_bps, available, unit: 'bps', where: fastest.id }];
}

/** A few tens of milliseconds. */
const PACK_STEPS = 1_000_000;
const NO_PACKING: Shortage = { constraint: 'slots', needed: 1, available: 0, unit: 'slots', where: 'all boards' };

const KNOWN: readonly Constraint['constraint'][] = ['latency', 'throughput', 'memory', 'function'];

/** Resources of a board are capacities; their name is the unit. */
export function constraintOf({ constraint, ...rest }: Shortage): Constraint {
  return { ...rest, constraint: KNOWN.find((name) => name === constraint) ?? 'capacity' };
}
