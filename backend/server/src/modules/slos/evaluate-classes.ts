import type { ClassSlo, Plan, SloStatus } from '@orrery/contract';
import { type ClassMeter, pairsOf } from './class-meter.js';
import type { ClassObjective } from './class-tasks.js';
import type { ClassWay, Count, Point } from './class-ways.js';
import { type SloContext, signedError, WINDOW_S } from './evaluate.js';
import { WHY_SPENT } from './warm-ups.js';

/** A measured ratio is met within this share of its target: caches and batches are not in the plan. */
export const RATIO_TOLERANCE = 0.1;
/** Packets of the class below that may be served while the one above waits: between two readings its queue may have been empty. */
export const MOST_SERVED_BEFORE = 0.2;
/** A class that loses less than this share in its queues gets all that it offers. */
const GETS_ALL = 0.99;
/** An objective is judged once this much of the window has been measured; a first report stands for two seconds. */
const LEAST_COVER_S = 4;
/** Fewer packets of both classes say nothing about a ratio. */
const LEAST_PACKETS = 20;

/** What a class offered and got over the window. */
interface Account {
  readonly packets: number;
  readonly offered: number;
  /** Title of a queue that lost packets of the class; null: it gets all that it offers. */
  readonly fullQueue: string | null;
}

export type ClassContext = Omit<SloContext, 'prediction' | 'carriage' | 'delivers'> & {
  readonly meter: ClassMeter;
  /** Of the same clock as the meter's. */
  readonly monotonicMs: number;
  readonly ghzOf: (server: string) => number;
  readonly schedule: Plan['schedules'][number] | undefined;
};

/**
 * Current status of an objective between two classes. A ratio is only violated by a class that gets too little of what it offers
 * (Alpine 5.2.1 has both classes loaded): what one leaves, the other may have. A priority is violated where the class below is
 * served while packets of the one above wait for the same core, or in the same queue. All of this is measured, also where cores
 * serve in turn and nothing keeps the objective.
 */
export function evaluateClassSlo(objective: ClassObjective, context: ClassContext): SloStatus {
  const { slo } = objective;
  const found = slo.kind === 'priority' ? priority(objective, context) : ratio(objective, context);
  const isUnknown = found.met === null;
  const predicted = context.schedule?.objectives.find(({ slo_id }) => slo_id === slo.id)?.predicted ?? null;
  const measured = context.blackout ? null : found.measured;
  const state = stateOf(context, isUnknown, found.met === true);
  return {
    chain_id: context.chainId,
    slo_id: slo.id,
    ...aimOfClass(slo),
    state,
    measured,
    predicted: slo.kind === 'priority' ? null : predicted,
    band: null,
    error: slo.kind === 'priority' ? null : signedError(measured, predicted),
    budget: null,
    offered: null,
    carried: null,
    ...causeOf(found, state, objective, context),
    window_s: WINDOW_S,
    packets: Math.round(found.packets),
    origin: context.window?.origin ?? context.origin,
    t_ms: context.nowMs,
  };
}

/** Why it is in this state, where its figures do not say. */
function causeOf(
  { cause }: Found,
  state: SloStatus['state'],
  { isPlanned }: ClassObjective,
  { blackout, warmUp }: ClassContext,
): Pick<SloStatus, 'cause'> {
  const own = cause && TELL_WHY.has(state) && !blackout ? [cause] : [];
  const inTurn = own.length > 0 && state === 'violated' && !isPlanned ? [IN_TURN] : [];
  const words = [...own, ...inTurn, ...(state === 'violated' && warmUp === 'spent' ? [WHY_SPENT] : [])];
  return words.length > 0 ? { cause: words.join('; ') } : {};
}

const TELL_WHY: ReadonlySet<SloStatus['state']> = new Set(['met', 'violated', 'no-data']);
const IN_TURN = 'no planned schedule keeps it: cores serve the chain in turn';
const NOT_TOLD_APART = 'no counter tells the packets of the two classes apart';

export function aimOfClass(slo: ClassSlo): Pick<SloStatus, 'kind' | 'target' | 'unit'> {
  if (slo.kind === 'priority') return { kind: 'priority', target: MOST_SERVED_BEFORE, unit: 'share' };
  return { kind: slo.kind === 'cpu-time' ? 'cpu-ratio' : 'packet-ratio', target: slo.ratio, unit: 'ratio' };
}

interface Found {
  readonly measured: number | null;
  /** Null: there is nothing to judge. */
  readonly met: boolean | null;
  readonly packets: number;
  readonly cause?: string;
}

function stateOf({ stale, blackout, warmUp }: ClassContext, isUnknown: boolean, met: boolean) {
  if (stale) return 'stale';
  if (blackout) return 'violated';
  if (isUnknown) return 'no-data';
  if (warmUp === 'on') return 'warming-up';
  return met ? 'met' : 'violated';
}

function ratio(objective: ClassObjective, context: ClassContext): Found {
  const { slo, ends } = objective;
  if (slo.kind === 'priority') throw new Error('a priority is no ratio');
  const [a, b] = ends.map((way) => accountOf(way, objective, context)) as [Account | null, Account | null];
  if (!a || !b) return { measured: null, met: null, packets: 0, cause: NOT_TOLD_APART };
  if (!isCovered(ends, context)) return { measured: null, met: null, packets: 0 };
  const packets = a.packets + b.packets;
  const unknown = ends.flatMap(({ tasks }) => tasks.flatMap(({ unknownCpu }) => unknownCpu ?? []))[0];
  if (slo.kind === 'cpu-time' && unknown) return { measured: null, met: null, packets, cause: unknown };
  if (a.offered + b.offered < LEAST_PACKETS) return { measured: null, met: null, packets };
  const got = (account: Account, way: ClassWay) =>
    slo.kind === 'throughput' ? account.packets : cyclesOf(way, objective, context);
  const [forA, forB] = [got(a, ends[0]), got(b, ends[1])];
  const measured = forB > 0 ? forA / forB : null;
  if (measured !== null && Math.abs(measured / slo.ratio - 1) <= RATIO_TOLERANCE)
    return { measured, met: true, packets };
  const isShortOfA = forA < slo.ratio * forB;
  const [edge, short] = isShortOfA ? [slo.a, a] : [slo.b, b];
  const cause = short.fullQueue
    ? `the class of ${edge} gets too little: ${short.fullQueue} is full`
    : `the class of ${edge} gets all that it offers`;
  return { measured, met: short.fullQueue === null, packets, cause };
}

function priority(objective: ClassObjective, context: ClassContext): Found {
  const { ends, slo } = objective;
  const { meter, monotonicMs } = context;
  if (slo.kind !== 'priority') throw new Error('not a priority');
  const [above, below] = ends.map((way) => accountOf(way, objective, context)) as [Account | null, Account | null];
  if (!above || !below) return { measured: null, met: null, packets: 0, cause: NOT_TOLD_APART };
  if (!isCovered(ends, context)) return { measured: null, met: null, packets: 0 };
  const packets = above.packets + below.packets;
  if (above.offered + below.offered < LEAST_PACKETS) return { measured: null, met: null, packets };
  const pairs = pairsOf(objective);
  if (pairs.length === 0) return { measured: 0, met: true, packets, cause: 'the two classes share no core' };
  const queues = new Map(pairs.map((pair) => [pair.below.queue.id, pair.below.queue.served]));
  const served = [...queues.values()].reduce((sum, count) => sum + meter.packets(count, WINDOW_S, monotonicMs), 0);
  const early = meter.servedMeanwhile(objective, WINDOW_S, monotonicMs);
  const measured = served > 0 ? Math.min(1, early / served) : 0;
  const met = measured <= MOST_SERVED_BEFORE;
  const waits = `packets of the class of ${slo.above} wait while the class of ${slo.below} is served`;
  const starves =
    below.fullQueue && `the class of ${slo.below} waits, as its objective allows: ${below.fullQueue} is full`;
  return { measured, met, packets, ...(met ? (starves ? { cause: starves } : {}) : { cause: waits }) };
}

function isCovered(ends: readonly ClassWay[], { meter, monotonicMs }: ClassContext): boolean {
  return ends.every(({ tasks }) =>
    tasks.every(({ cpu }) => meter.coveredS(cpu, WINDOW_S, monotonicMs) >= LEAST_COVER_S),
  );
}

/** Null: no counter tells the packets of the class from those of others. */
function accountOf(way: ClassWay, objective: ClassObjective, context: ClassContext): Account | null {
  const [packets, offered] = [processed(way, objective, context), arrived(way, objective, context)];
  if (packets === null || offered === null) return null;
  const { meter, monotonicMs } = context;
  const amount = (key: string) => meter.amount(key, WINDOW_S, monotonicMs);
  const of = (count: Count) => meter.packets(count, WINDOW_S, monotonicMs);
  const full = way.tasks.find(({ queue }) => amount(queue.drops) > (1 - GETS_ALL) * of(queue.taken));
  return { packets, offered, fullQueue: full?.queue.title ?? null };
}

const own = ({ id, points }: ClassWay) =>
  points.filter(({ classes, counts }) => counts && classes.size === 1 && classes.has(id));

/** Packets of the class that its last place has served; what an NF drops on purpose is served. */
function processed(way: ClassWay, objective: ClassObjective, context: ClassContext): number | null {
  const last = own(way).at(-1);
  if (!last) return byDifference(way, objective, context);
  return context.meter.packets(last.served, WINDOW_S, context.monotonicMs);
}

/** Packets of the class that reached the first place of its own, also those for which a queue had no room. */
function arrived(way: ClassWay, objective: ClassObjective, context: ClassContext): number | null {
  const [first] = own(way);
  if (!first) return byDifference(way, objective, context);
  return context.meter.packets(first.taken, WINDOW_S, context.monotonicMs);
}

/** What the last place of the class passed on, less the packets of the other classes there; null: they are not counted. */
function byDifference({ id, points }: ClassWay, { ways }: ClassObjective, context: ClassContext): number | null {
  const last = points.filter(({ counts }) => counts).at(-1);
  if (!last) return null;
  const { meter, monotonicMs } = context;
  const amount = (count: Count) => meter.packets(count, WINDOW_S, monotonicMs);
  let rest = amount(last.passed);
  for (const other of last.classes) {
    const way = ways.get(other);
    if (other === id || !way) continue;
    const at = way.points.findIndex((point) => point.id === last.id);
    const after = own({ ...way, points: way.points.slice(at + 1) })[0];
    const before = own({ ...way, points: way.points.slice(0, at) }).at(-1);
    if (!after && !before) return null;
    rest -= after ? amount(after.taken) : amount(before!.passed);
  }
  return Math.max(0, rest);
}

/** Packets of a class at one of its points: behind it they may have waited with others in a queue that lost some of all alike. */
function at(point: Point, way: ClassWay, objective: ClassObjective, context: ClassContext): number {
  const { meter, monotonicMs } = context;
  const amount = (count: Count) => meter.packets(count, WINDOW_S, monotonicMs);
  const mine = own(way);
  const i = way.points.indexOf(point);
  const isBehind = mine.length > 0 && i > way.points.indexOf(mine.at(-1)!);
  if (isBehind) return amount(mine.at(-1)!.passed);
  const counted = mine[0] ? way.points.indexOf(mine[0]) : way.points.length;
  return way.points
    .slice(i + 1, counted)
    .filter(({ hasQueue, served }) => hasQueue && amount(served) > 0)
    .reduce(
      (packets, { taken, served }) => (packets * amount(taken)) / amount(served),
      arrived(way, objective, context) ?? 0,
    );
}

/**
 * Cycles spent on a class, over all of its tasks on all cores. Those of a task or an NF that serves several classes are shared out
 * by packets. Tasks that also serve a class of higher priority run at its level, and are not counted.
 */
function cyclesOf(way: ClassWay, objective: ClassObjective, context: ClassContext): number {
  const { meter, monotonicMs, ghzOf } = context;
  const amount = (key: string) => meter.amount(key, WINDOW_S, monotonicMs);
  const share = (point: Point) => {
    if (point.classes.size === 1) return 1;
    const each = [...point.classes].flatMap((id) => objective.ways.get(id) ?? []);
    const packets = each.map((other) => at(point, other, objective, context));
    const all = packets.reduce((sum, it) => sum + it, 0);
    return all > 0 ? packets[each.indexOf(way)]! / all : 0;
  };
  const over = objective.over.get(way.id) ?? new Set<string>();
  return way.tasks
    .filter(({ queue }) => ![...queue.classes].some((id) => over.has(id)))
    .reduce((sum, { cpu, queue, nfs }) => {
      const { server } = queue;
      const whole = amount(cpu);
      if (queue.classes.size === 1) return sum + whole * ghzOf(server);
      const ofNfs = nfs.map(({ point, cpu: key }) => ({ point, cpu: amount(key) }));
      const rest = Math.max(0, whole - ofNfs.reduce((all, each) => all + each.cpu, 0));
      const mine = ofNfs.reduce(
        (all, each) => (each.point.classes.has(way.id) ? all + each.cpu * share(each.point) : all),
        0,
      );
      const before = way.points.find(({ id }) => id === queue.id);
      return sum + (mine + (before ? rest * share(before) : 0)) * ghzOf(server);
    }, 0);
}
