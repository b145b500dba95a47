import { setTimeout as sleep } from 'node:timers/promises';
import type { SwitchSpec } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SWITCH_DRIVERS } from '../switch/switch-drivers.js';
import { chainSpec, elsewhere, flowFrames, fragmentOf, splitSpec, stamped, waysOf } from '../testing/switch-flows.js';
import { exchange, SWITCH_LABS, type SwitchLab } from '../testing/switch-lab.js';
import { outcome, type Sent } from '../testing/switch-oracle.js';
import {
  ENDS,
  filteredSpec,
  fragmentFrames,
  frameOf,
  METER,
  meteredFrames,
  meteredSpec,
  PACKETS,
  PORTS,
  PROGRAM,
  specOf,
} from '../testing/switch-programs.js';
import type { SwitchDriver } from './switch-driver.js';

const RUNS = 25;
const LIMIT_MS = 120_000;

describe.each(SWITCH_LABS)('the switch driver $kind', ({ kind, missing, knowsFlowHash, setUp }) => {
  const { abilities } = SWITCH_DRIVERS.find((one) => one.kind === kind)!;
  const put = async (spec: SwitchSpec, { driver }: SwitchLab, to: SwitchDriver = driver) =>
    to.apply(spec, await to.ports(PORTS));

  it.skipIf(missing)(
    `does with every frame what the specification says, and counts it${missing ? ` (${missing})` : ''}`,
    async () => {
      const lab = await setUp(PORTS);
      let generation = 0;
      await fc.assert(
        fc.asyncProperty(PROGRAM, PACKETS, async (content, packets) => {
          generation += 1;
          const spec = specOf(content, abilities, generation);
          await put(specOf({ steered: [], guards: [], hops: [], mirrored: [] }, abilities, 0), lab);
          await put(spec, lab);
          const before = await lab.driver.read();
          expect(before.entries).toBe(spec.entries.length);
          expect(before.drift).toEqual([]);
          const frames = packets.map(frameOf);
          const came = await exchange(lab, PORTS, frames, ENDS);
          const expected = frames.map(({ port, frame }) => outcome(spec, port, frame));
          const wanted = expected.flatMap(({ sent }) => sent);
          if (knowsFlowHash) expect(sorted(came)).toEqual(sorted(wanted));
          else expect(sorted(came.map(untagged))).toEqual(sorted(wanted.map(untagged)));
          await expect
            .poll(async () => countsOf((await lab.driver.read()).counts, before.counts, spec), { timeout: 5000 })
            .toEqual(takenOf(expected, frames, spec));
        }),
        { numRuns: RUNS, seed: 7, endOnFailure: true },
      );
    },
    LIMIT_MS,
  );

  it.skipIf(missing)(
    'lets NFs see the ports of a first fragment, and of no later one',
    async () => {
      const lab = await setUp(PORTS);
      const spec = filteredSpec(1, abilities.match);
      await put(spec, lab);
      const frames = fragmentFrames();
      const wanted = frames.flatMap(({ port, frame }) => outcome(spec, port, frame).sent);
      expect(wanted).toHaveLength(frames.length - 2);
      expect(sorted(await exchange(lab, PORTS, frames, ENDS))).toEqual(sorted(wanted));
    },
    LIMIT_MS,
  );

  it.skipIf(missing)(
    'passes the burst and the rate of a meter, and counts what exceeds them',
    async () => {
      const lab = await setUp(PORTS);
      const spec = meteredSpec(1);
      await put(spec, lab);
      expect((await lab.driver.read()).drift).toEqual([]);
      const frames = meteredFrames(60);
      const bytes = frames[0]!.frame.length;
      const began = performance.now();
      const came = await exchange(lab, PORTS, frames, ENDS);
      const seconds = (performance.now() - began) / 1000;
      const { rate_kbps, burst_bytes } = METER;
      // Within a frame at both ends, and a kilobit for drivers whose bursts are kilobits.
      expect(came.length * bytes).toBeGreaterThanOrEqual(burst_bytes - bytes);
      expect(came.length * bytes).toBeLessThanOrEqual(burst_bytes + 125 + (rate_kbps * 1000 * seconds) / 8 + bytes);
      expect(came.length).toBeLessThan(frames.length);
      const taken = spec.entries.findIndex(({ nf }) => nf);
      const dropped = frames.length - came.length;
      await expect
        .poll(
          async () => {
            const { counts, metered } = await lab.driver.read();
            return { taken: counts.get(taken), dropped: metered?.get(METER.id) };
          },
          { timeout: 5000 },
        )
        .toEqual({
          taken: { packets: frames.length, bytes: frames.length * bytes },
          dropped: { packets: dropped, bytes: dropped * bytes },
        });
      // Written once more, by another agent that does not know it, it does the same.
      const other = lab.make();
      await put(meteredSpec(2), lab, other);
      expect((await other.read()).drift).toEqual([]);
      await put(specOf({ steered: [], guards: [], hops: [], mirrored: [] }, abilities, 3), lab, other);
      expect((await other.read()).metered?.size ?? 0).toBe(0);
      // Back again, it has dropped nothing yet.
      await put(meteredSpec(4), lab, other);
      expect((await other.read()).metered?.get(METER.id)?.packets ?? 0).toBe(0);
    },
    LIMIT_MS,
  );

  it.skipIf(missing)(
    'keeps flows in progress at their targets when ranges change, within its room, and over a new agent',
    async () => {
      const lab = await setUp(PORTS);
      const keep = { capacity: 12, idle_timeout_s: 300 };
      const ways = async (flows: number[]) => waysOf(flows, await exchange(lab, PORTS, flowFrames(flows), ENDS));
      const holds = (flows: number, driver = lab.driver) =>
        expect.poll(async () => (await driver.read()).kept?.length, { timeout: 30_000 }).toBe(flows);
      const old = Array.from({ length: 8 }, (_, i) => i);
      const fresh = Array.from({ length: 6 }, (_, i) => 100 + i);
      await put(splitSpec(1, abilities, 0x8000, keep), lab);
      const before = await ways(old);
      expect(new Set(before)).toEqual(new Set(['p2', 'p3']));
      await holds(old.length);
      await put(splitSpec(2, abilities, 1, keep), lab);
      expect(await ways(old)).toEqual(before);
      expect(await ways(fresh)).toEqual(fresh.map(() => 'p3'));
      await holds(keep.capacity);

      const spec = splitSpec(2, abilities, 1, keep);
      const { kept = [], drift, entries } = await lab.driver.read();
      expect(drift).toEqual([]);
      expect(entries).toBe(spec.entries.length);
      const onLeft = before.filter((port) => port === 'p2').length;
      expect(kept.filter(({ mac }) => mac === '02:0e:00:01:00:00')).toHaveLength(onLeft);
      const flowIds = new Set(kept.map(({ flow_id }) => flow_id));
      expect(flowIds.size).toBe(keep.capacity);
      expect(kept.every(({ split }) => split === 7)).toBe(true);
      // The second packet of each of the eight went by its entry.
      expect(kept.filter(({ packets }) => packets === 1)).toHaveLength(old.length);

      const next = lab.make();
      await put(splitSpec(3, abilities, 1, keep), lab, next);
      await holds(keep.capacity, next);
      expect(await ways(old)).toEqual(before);
      // The instance on the left is gone: its flows follow the ranges.
      await put(splitSpec(4, abilities, 0, keep), lab, next);
      expect(await ways(old)).toEqual(old.map(() => 'p3'));
      await put(splitSpec(5, abilities, 0, null), lab, next);
      await holds(0, next);
      expect((await next.read()).drift).toEqual([]);
    },
    LIMIT_MS,
  );

  it.skipIf(missing)(
    'keeps all packets at one target that agree in the key, whatever else they differ in',
    async () => {
      const lab = await setUp(PORTS);
      const keep = { capacity: 12, idle_timeout_s: 300 };
      const way = async (flow: number, change = (sent: Sent) => sent) =>
        waysOf([flow], await exchange(lab, PORTS, flowFrames([flow]).map(change), ENDS));
      const kept = async () => (await lab.driver.read()).kept?.length;
      await put(splitSpec(1, abilities, 0xffff, keep, ['ip.src']), lab);
      expect(await way(1)).toEqual(['p2']);
      await expect.poll(kept, { timeout: 10_000 }).toBe(1);
      await put(splitSpec(2, abilities, 1, keep, ['ip.src']), lab);
      expect(await way(2, elsewhere)).toEqual(['p2']);
      expect(await kept()).toBe(1);
    },
    LIMIT_MS,
  );

  it.skipIf(missing)(
    'lets a flow follow the ranges again when no packet of it has come for its time',
    async () => {
      const lab = await setUp(PORTS);
      // On a P4 switch the time of a flow in progress changes with that of its split.
      const keep = { capacity: 12, idle_timeout_s: knowsFlowHash ? 300 : 20 };
      const ways = async () => waysOf([1], await exchange(lab, PORTS, flowFrames([1]), ENDS));
      const kept = () => expect.poll(async () => (await lab.driver.read()).kept?.length, { timeout: 60_000 });
      await put(splitSpec(1, abilities, 0xffff, keep), lab);
      expect(await ways()).toEqual(['p2']);
      await kept().toBe(1);
      await put(splitSpec(2, abilities, 1, keep), lab);
      expect(await ways()).toEqual(['p2']);
      if (knowsFlowHash) await put(splitSpec(3, abilities, 1, { ...keep, idle_timeout_s: 3 }), lab);
      await kept().toBe(0);
      expect(await ways()).toEqual(['p3']);
    },
    LIMIT_MS,
  );

  it.skipIf(missing || !knowsFlowHash)(
    'tells how long packets of a class take into their chain and back',
    async () => {
      const lab = await setUp(PORTS);
      await put(chainSpec(1, abilities), lab);
      const there = flowFrames(Array.from({ length: 300 }, (_, i) => i));
      // simple_switch has queues of 64 packets.
      const passed = async (frames: readonly Sent[]) => {
        const counts: number[] = [];
        for (let i = 0; i < 5; i++)
          counts.push((await exchange(lab, PORTS, frames.slice(60 * i, 60 * (i + 1)), ENDS)).length);
        return counts;
      };
      const all = [60, 60, 60, 60, 60];
      const back = there.map(({ frame }) => ({ port: 'p2', frame }));
      const took = async () => (await lab.driver.read()).latencies?.get('classify/c.e1')?.steps ?? [];
      const packets = (steps: Awaited<ReturnType<typeof took>>) => steps.reduce((sum, step) => sum + step.packets, 0);
      expect((await lab.driver.read()).drift).toEqual([]);
      const began = performance.now();
      expect(await passed(there)).toEqual(all);
      const inside_ms = 100;
      await sleep(inside_ms);
      expect(await passed(back)).toEqual(all);
      const most_ms = performance.now() - began;
      const expected = stamped(there);
      expect(expected).toBeGreaterThan(10);
      await expect.poll(async () => packets(await took()), { timeout: 30_000 }).toBe(expected);
      for (const step of (await took()).filter((one) => one.packets > 0)) {
        expect(step.about_us).toBeGreaterThan((1000 * inside_ms) / Math.SQRT2);
        expect(step.about_us).toBeLessThan(1000 * most_ms * Math.SQRT2);
      }
      // What has come back is told once, and what never went in is not.
      expect(await passed(back)).toEqual(all);
      expect(packets(await took())).toBe(expected);
      // The fragments of a packet are not told apart: none is stamped.
      const [first] = flowFrames([1]);
      const fragments = [0x2000, 0x2003, 0x0006].map((field) => fragmentOf(first!, field));
      expect(await exchange(lab, PORTS, fragments, ENDS)).toHaveLength(fragments.length);
      const returned = fragments.map(({ frame }) => ({ port: 'p2', frame }));
      expect(await exchange(lab, PORTS, returned, ENDS)).toHaveLength(fragments.length);
      expect(packets(await took())).toBe(expected);
    },
    LIMIT_MS,
  );
});

/** Where the switch's own hash chooses the target, and with it hop and port, all else is as it has to be. */
function untagged({ frame }: Sent): Sent {
  return { port: '', frame: Buffer.concat([Buffer.alloc(6), frame.subarray(6)]) };
}

function sorted(all: readonly Sent[]): string[] {
  return all.map(({ port, frame }) => `${port} ${frame.toString('hex')}`).sort();
}

type Counts = ReadonlyMap<number, { readonly packets: number; readonly bytes: number }>;

/** Packets and bytes of entries, by index; those of ranges together, because the hash may be the switch's own. */
function countsOf(now: Counts, before: Counts, spec: SwitchSpec): Record<string, number[]> {
  const sums: Record<string, number[]> = {};
  for (const [index, { packets, bytes }] of now) {
    if (isOfEnds(index, spec)) continue;
    const { packets: p = 0, bytes: b = 0 } = before.get(index) ?? {};
    add(sums, nameOf(index, spec), packets - p, bytes - b);
  }
  return sums;
}

function takenOf(outcomes: readonly { taken: readonly number[] }[], frames: readonly Sent[], spec: SwitchSpec) {
  const sums: Record<string, number[]> = {};
  for (const [i, { taken }] of outcomes.entries())
    for (const index of taken) add(sums, nameOf(index, spec), 1, frames[i]!.frame.length);
  return sums;
}

/** How often the frames that end an exchange are sent depends on the switch. */
function isOfEnds(index: number, spec: SwitchSpec): boolean {
  const { match } = spec.entries[index]!;
  return ENDS.some(({ port, frame }) => outcome(spec, port, frame).taken.includes(index)) && match.port !== undefined;
}

const nameOf = (index: number, spec: SwitchSpec) => (spec.entries[index]!.table === 'split' ? 'split' : String(index));

function add(sums: Record<string, number[]>, name: string, packets: number, bytes: number): void {
  const [p = 0, b = 0] = sums[name] ?? [];
  if (packets > 0) sums[name] = [p + packets, b + bytes];
}
