import { FLOW_SPACE, type FlowRange, ScalingPolicyRequest } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { equalRanges } from '../igraph/flow-range.js';
import { scaledRanges } from '../igraph/scaled-ranges.js';
import { decideScaling, type InstanceLoad, type NfLoad, NO_SCALING_MEMORY, type ScalingDecision } from './scaling.js';

const rules = ScalingPolicyRequest.parse({
  nf: { chain_id: 'c-1', node_id: 'ids' },
  out: { utilization: 0.8, queue: 100, delay_us: 500, for_s: 2 },
  in: { utilization: 0.5, queue: 10, delay_us: 100, for_s: 4 },
  min_instances: 1,
  max_instances: 3,
  cooldown_s: 6,
});
const TICK_MS = 500;
/** Part of a core that each instance may use. */
const LIMIT = 0.5;

type Figures = Pick<InstanceLoad, 'utilization' | 'queue' | 'delay_us'>;
interface Tick {
  readonly loads: readonly Figures[];
  readonly behind: number;
  readonly hindered: boolean;
}

const figures = fc.record({
  utilization: fc.option(fc.constantFrom(0, 0.1, 0.49, 0.5, 0.79, 0.81, 1), { nil: null, freq: 30 }),
  queue: fc.constantFrom(0, 5, 50, 99, 101, 400),
  delay_us: fc.option(fc.constantFrom(10, 99, 300, 501), { nil: null }),
});
/** Of all instances, so that the NF may shrink. */
const idle = fc
  .array(
    fc.constantFrom({ utilization: 0.1, queue: 5, delay_us: null }, { utilization: 0.49, queue: 0, delay_us: 10 }),
    { minLength: 3, maxLength: 3 },
  )
  .map((those): Figures[] => those);
/** By number of instances. Of three, the last has its neighbours on either side. */
const part = FLOW_SPACE / 8;
const RANGES: readonly FlowRange[][] = [
  [],
  [],
  equalRanges(2),
  [
    { lo: 0, hi: 2 * part },
    { lo: 5 * part, hi: FLOW_SPACE },
    { lo: 2 * part, hi: 5 * part },
  ],
];

/** Part of the flows of the last of so many instances that each of the others would get, by asking of every flow. */
const FALLS_TO = RANGES.map((ranges, count) => {
  if (count < 2) return [];
  const after = scaledRanges(ranges, count - 1);
  const gets = after.map(() => 0);
  const { lo, hi } = ranges[count - 1]!;
  for (let flow = lo; flow < hi; flow++) gets[after.findIndex((it) => it.lo <= flow && flow < it.hi)]! += 1 / (hi - lo);
  return gets;
});

/** Phases of a steady load, so that holds are reached. */
const timelines = fc
  .array(
    fc.record({
      ticks: fc.integer({ min: 1, max: 24 }),
      loads: fc.oneof(fc.array(figures, { minLength: 3, maxLength: 3 }), idle),
      behind: fc.constantFrom(0, 0, 0, 90, 300),
      hindered: fc.constantFrom(false, false, false, true),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((phases) => phases.flatMap(({ ticks, ...tick }): Tick[] => Array.from({ length: ticks }, () => tick)));

function loadOf({ loads, behind, hindered }: Tick, count: number): NfLoad {
  return {
    instances: loads.slice(0, count).map((it, ordinal) => ({
      id: `c.ids.${ordinal}`,
      ordinal,
      share: it.utilization === null ? null : it.utilization * LIMIT,
      limit: LIMIT,
      ...it,
    })),
    ranges: RANGES[count]!,
    behind: { node_id: 'mon', queue: behind },
    hindrance: hindered ? 'a link is down' : null,
  };
}

/** The decisions of a run in which every change is made at once. */
function run(timeline: readonly Tick[], start = 1, asked = rules): { decision: ScalingDecision; count: number }[] {
  let count = start;
  let memory = NO_SCALING_MEMORY;
  return timeline.map((tick, i) => {
    const decided = decideScaling(asked, loadOf(tick, count), memory, i * TICK_MS);
    memory = decided.memory;
    const told = { decision: decided.decision, count };
    if (decided.decision.kind === 'out' || decided.decision.kind === 'in') count = decided.decision.instances;
    return told;
  });
}

/** How often what stays would be near its limit. */
let guarded = 0;

/** The meaning, from the whole history of a tick instead of a memory. */
function oracle(timeline: readonly Tick[], start: number): { kind: string; count: number }[] {
  const out: { kind: string; count: number }[] = [];
  const counts: number[] = [];
  let count = start;
  let changedAt = Number.NEGATIVE_INFINITY;
  const judged = (at: number) => {
    const { loads, behind, hindered } = timeline[at]!;
    const mine = loads.slice(0, counts[at]!);
    if (hindered || mine.some(({ utilization }) => utilization === null)) return 'between';
    const deepest = Math.max(...mine.map(({ queue }) => queue!));
    const blamed = behind > 100 && behind >= deepest;
    const isOver = mine.some(
      ({ utilization, queue, delay_us }) =>
        utilization! > 0.8 || (!blamed && (queue! > 100 || (delay_us !== null && delay_us > 500))),
    );
    if (isOver) return 'over';
    if (blamed && deepest > 100) return 'between';
    const isIdle = mine.every(
      ({ utilization, queue, delay_us }) => utilization! < 0.5 && queue! <= 10 && (delay_us === null || delay_us < 100),
    );
    return isIdle ? 'under' : 'between';
  };
  for (let at = 0; at < timeline.length; at++) {
    counts.push(count);
    const side = judged(at);
    let first = at;
    while (first > changedAt + 1 && first > 0 && judged(first - 1) === side) first--;
    const lasted = (at - first) * TICK_MS;
    const cool = (at - changedAt) * TICK_MS >= 6000;
    let kind = 'none';
    if (side === 'over' && lasted >= 2000 && cool) kind = count >= 3 ? 'at-limit' : 'out';
    if (side === 'under' && lasted >= 4000 && cool && count > 1) {
      const used = timeline[at]!.loads.slice(0, count).map(({ utilization }) => utilization!);
      const then = FALLS_TO[count]!.map((portion, i) => used[i]! + portion * used.at(-1)!);
      if (Math.max(...then) <= 0.9 * 0.8) kind = 'in';
      else guarded++;
    }
    out.push({ kind, count });
    if (kind === 'out' || kind === 'in') {
      count += kind === 'out' ? 1 : -1;
      changedAt = at;
    }
  }
  return out;
}

it('decides what the whole history says, as an independent reading of the rules has it', () => {
  const seen = { out: 0, in: 0, 'at-limit': 0, none: 0 };
  fc.assert(
    fc.property(timelines, fc.integer({ min: 1, max: 3 }), (timeline, start) => {
      const told = run(timeline, start).map(({ decision, count }) => ({ kind: decision.kind, count }));
      expect(told).toEqual(oracle(timeline, start));
      for (const { kind } of told) seen[kind]++;
    }),
    { numRuns: 2000 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
  expect(guarded).toBeGreaterThan(20);
});

it.each([
  [{ min_instances: 3 }, 1, 3],
  [{ max_instances: 1 }, 3, 1],
])('goes to the limits %j of its policy one by one, whatever the load is', (limits, start, end) => {
  const quiet = { utilization: 0.6, queue: 50, delay_us: 300 };
  const timeline = Array.from({ length: 40 }, () => ({ loads: [quiet, quiet, quiet], behind: 0, hindered: false }));
  const told = run(timeline, start, { ...rules, ...limits });
  const changes = told.flatMap(({ decision: { kind } }, i) => (kind === 'none' ? [] : [i]));
  expect(changes).toEqual([0, 12]);
  expect(told.at(-1)!.count).toBe(end);
});

it('changes nothing towards its limits while something disturbs the chain', () => {
  const quiet = { utilization: 0.6, queue: 50, delay_us: 300 };
  const timeline = Array.from({ length: 40 }, () => ({ loads: [quiet, quiet, quiet], behind: 0, hindered: true }));
  expect(run(timeline, 1, { ...rules, min_instances: 3 }).every(({ decision }) => decision.kind === 'none')).toBe(true);
});

it('changes at most once within the cool-down, however the load oscillates', () => {
  fc.assert(
    fc.property(timelines, (timeline) => {
      const changes = run(timeline, 2).flatMap(({ decision: { kind } }, i) =>
        kind === 'out' || kind === 'in' ? [i] : [],
      );
      for (const [i, at] of changes.slice(1).entries())
        expect((at - changes[i]!) * TICK_MS).toBeGreaterThanOrEqual(6000);
    }),
  );
});

it('never changes an NF without load at its least number of instances, nor one without measurements', () => {
  const still: Tick = { loads: [{ utilization: 0, queue: 0, delay_us: null }], behind: 0, hindered: false };
  const silent: Tick = { loads: [{ utilization: null, queue: 0, delay_us: null }], behind: 0, hindered: false };
  for (const tick of [still, silent])
    for (const { decision } of run(Array.from({ length: 500 }, () => tick))) expect(decision.kind).toBe('none');
});

it('lets one of three go where the mean would bear it, only if those beside it in the flow space do', () => {
  const loads = [0.49, 0.1, 0.49].map((utilization): Figures => ({ utilization, queue: 0, delay_us: null }));
  const ticks = Array.from({ length: 40 }, (): Tick => ({ loads, behind: 0, hindered: false }));
  // Two thirds of the last one's flows fall to the first one: 0.49 + 0.33.
  expect(run(ticks, 3).at(-1)!.decision).toMatchObject({
    kind: 'none',
    why: expect.stringContaining('c.ids.0 would use 82 % of its core'),
  });
  const light = ticks.map((tick) => ({ ...tick, loads: loads.with(0, loads[1]!) }));
  expect(run(light, 3).some(({ decision: { kind } }) => kind === 'in')).toBe(true);
});

it('reckons with what an instance uses of its limit, or all of its core, whichever is more, when another one goes', () => {
  const of = (ordinal: number, utilization: number, share: number): InstanceLoad => {
    return { id: `c.ids.${ordinal}`, ordinal, utilization, share, limit: 0.2, queue: 0, delay_us: null };
  };
  const after = (...instances: InstanceLoad[]) => {
    const load = { instances, ranges: equalRanges(2), behind: null, hindrance: null };
    return decideScaling(rules, load, { side: 'under', sinceMs: 0, changedMs: -1e9 }, 10_000).decision;
  };
  // Others use 0.4 of the first core: with 0.08 of the second one it is at 0.5, and the instance at half of its limit.
  expect(after(of(0, 0.42, 0.02), of(1, 0.4, 0.08)).kind).toBe('in');
  expect(after(of(0, 0.4, 0.08), of(1, 0.4, 0.08))).toMatchObject({
    kind: 'none',
    why: expect.stringContaining('would use 80 %'),
  });
});

it('decides nothing by ranges that are not known, or by a figure that is none', () => {
  const of = (ordinal: number, utilization: number): InstanceLoad => {
    return { id: `c.ids.${ordinal}`, ordinal, utilization, share: 0.1, limit: 1, queue: 0, delay_us: null };
  };
  const lasting = { side: 'under', sinceMs: 0, changedMs: -1e9 } as const;
  const about = { ranges: [], behind: null, hindrance: null };
  expect(
    decideScaling(rules, { ...about, instances: [of(0, 0.1), of(1, 0.1)] }, lasting, 10_000).decision,
  ).toMatchObject({
    kind: 'none',
    why: expect.stringContaining('how they share out its flows is not known'),
  });
  for (const utilization of [Number.POSITIVE_INFINITY, Number.NaN])
    expect(
      decideScaling(rules, { ...about, instances: [of(0, utilization)] }, { ...lasting, side: 'over' }, 10_000),
    ).toMatchObject({
      decision: { why: 'not judged: the load of c.ids.0 was not measured' },
      memory: { side: 'between' },
    });
});

it('blames a later NF only for a queue beyond the limit that is as long as its own, whatever takes long here', () => {
  const side = (queue: number, delay_us: number, behind: number) => {
    const instance = { id: 'c.ids.0', ordinal: 0, utilization: 0.6, share: 0.6, limit: 1, queue, delay_us };
    const load = { instances: [instance], ranges: [], behind: { node_id: 'mon', queue: behind }, hindrance: null };
    return decideScaling(rules, load, NO_SCALING_MEMORY, 0).memory.side;
  };
  expect([side(0, 501, 2), side(0, 501, 100), side(0, 501, 101)]).toEqual(['over', 'over', 'between']);
  expect([side(200, 10, 199), side(200, 10, 200)]).toEqual(['over', 'between']);
});

it('splits the instance whose core is used most, and lets the last one go', () => {
  const hot = { utilization: 0.95, queue: 0, delay_us: null };
  const warm = { utilization: 0.85, queue: 300, delay_us: null };
  const idle = { utilization: 0.01, queue: 0, delay_us: null };
  const last = (loads: Figures[]) =>
    run(
      Array.from({ length: 12 }, () => ({ loads, behind: 0, hindered: false })),
      2,
    ).find(({ decision: { kind } }) => kind !== 'none')!.decision;
  expect(last([warm, hot])).toMatchObject({ kind: 'out', instance: { ordinal: 1 }, instances: 3 });
  expect(last([idle, idle])).toMatchObject({ kind: 'in', instance: { ordinal: 1 }, instances: 1 });
});
