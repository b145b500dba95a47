import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NfDescriptor, type Plan, type Sample, sampleKey } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CarriageMeter } from './carriage.js';
import { refusalsOf } from './drop-fates.js';
import type { DropCounters } from './drop-meter.js';

const sample = (key: string, value: number): Sample => ({ key, t_ms: 0, value, origin: 'twin' });
const rule = (at: string, metric: 'pps' | 'bps', value: number) =>
  sample(sampleKey('rule', `${at} classify-1`, metric), value);
const left = (pps: number) => sample(sampleKey('chain', 'c', 'pps'), pps);
const plan = {
  fabric: { generation: 1, rules: [{ id: 'classify-1', kind: 'classify', chain_id: 'c' }] },
  graph: { nodes: [{ kind: 'nf', id: 'c.fw.0', chain_id: 'c', nf: 'firewall' }], edges: [] },
} as unknown as Plan;
const refusesOf = (nf: string) => (nf === 'firewall' ? ['denied'] : []);
const refusing =
  (packets: number, reason = 'denied') =>
  (): DropCounters => ({ instances: [{ instance_id: 'c.fw.0', drops: { [reason]: packets } }], modules: [] });

interface Second {
  readonly offered: number;
  readonly delivered: number;
  readonly refused?: number;
  /** Nothing is reported of the switches. */
  readonly silent?: 'leaf-1' | 'both';
}

/** What is found after rates of each second were reported: by exits five times, by switches once. */
function meterOf(seconds: readonly Second[], reason?: string) {
  const meter = new CarriageMeter(refusesOf);
  meter.follow(plan);
  let refused = 0;
  meter.drops.take(refusing(0, reason), 0);
  seconds.forEach((each, second) => {
    for (const part of [200, 400, 600, 800, 1000]) meter.take([left(each.delivered)], 1000 * second + part);
    const atMs = 1000 * (second + 1);
    refused += each.refused ?? 0;
    meter.drops.take(refusing(refused, reason), atMs);
    // The classes of a chain are counted at every switch, also where none of its packets arrive.
    if (!each.silent)
      meter.take([rule('leaf-1', 'pps', each.offered), rule('leaf-1', 'bps', 8000 * each.offered)], atMs);
    if (each.silent !== 'both') meter.take([rule('leaf-2', 'pps', 0), rule('leaf-2', 'bps', 0)], atMs + 100);
  });
  return meter.carriage('c', 10, 1000 * seconds.length + 100);
}

/** The same where switches are not silent. */
function found(...given: Parameters<typeof meterOf>) {
  const carriage = meterOf(...given);
  if (carriage === 'unknown') throw new Error('nothing is silent');
  return carriage;
}
const lasting = (seconds: number, second: Second) => Array.from({ length: seconds }, () => second);

it('finds everything carried whatever clients send, also while they start and stop', () => {
  const rates = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(rates, (pps) => {
      const carriage = found(pps.map((offered) => ({ offered, delivered: offered })));
      const last = pps.slice(-10).reduce((sum, each) => sum + each, 0);
      // The last tenth of a second is only known at the second switch.
      if (last > 1000) expect(carriage?.share).toBeGreaterThan(0.95);
      else if (last === 0) expect(carriage?.share ?? 1).toBe(1);
    }),
  );
});

it('finds the share that is lost, and the rate that was offered', () => {
  const carriage = found(lasting(12, { offered: 1000, delivered: 700 }));
  expect(carriage?.share).toBeCloseTo(0.7, 1);
  expect(carriage?.offered_bps).toBeGreaterThan(7.8e6);
  expect(carriage?.offered_bps).toBeLessThan(8.1e6);
});

it('counts what an NF refuses, and what no edge takes, as carried, and what it has no room for as lost', () => {
  const seconds = lasting(12, { offered: 1000, delivered: 400, refused: 600 });
  for (const reason of ['denied', 'no_match']) expect(found(seconds, reason)?.share).toBeGreaterThan(0.97);
  for (const reason of ['queue_full', 'attack']) expect(found(seconds, reason)?.share).toBeCloseTo(0.4, 1);
});

it('knows nothing of a chain into which the switches let nothing', () => {
  expect(meterOf([{ offered: 0, delivered: 0 }])).toBeNull();
});

describe('while switches are silent and every packet arrives', () => {
  const steady = { offered: 1000, delivered: 1000 };

  it.each(['leaf-1', 'both'] as const)('finds nothing lost, and soon says that it does not know: %s', (silent) => {
    for (let seconds = 1; seconds <= 40; seconds++) {
      const carriage = meterOf([...lasting(12, steady), ...lasting(seconds, { ...steady, silent })]);
      if (seconds > 3) expect(carriage).toBe('unknown');
      else if (carriage !== 'unknown') expect(carriage?.share).toBeGreaterThan(0.95);
    }
  });

  it('does not know what clients send that start meanwhile', () => {
    const idle = { offered: 0, delivered: 0 };
    expect(meterOf([...lasting(12, idle), ...lasting(5, { ...steady, silent: 'leaf-1' })])).toBe('unknown');
  });

  it('knows again when they are back, and does not miss the one that lets nothing in', () => {
    const absence = lasting(20, { ...steady, silent: 'leaf-1' });
    expect(found([...lasting(12, steady), ...absence, ...lasting(5, steady)])?.share).toBe(1);
    const meter = new CarriageMeter(refusesOf);
    meter.follow(plan);
    meter.take([rule('leaf-2', 'pps', 0)], 0);
    for (let atMs = 1000; atMs <= 12_000; atMs += 1000) meter.take([left(1000), rule('leaf-1', 'pps', 1000)], atMs);
    expect(meter.carriage('c', 10, 12_000)).toMatchObject({ share: 1 });
  });
});

it('counts what replaced rules let in for as long as that matters, and then forgets them', () => {
  const meter = new CarriageMeter(refusesOf);
  const seconds = 100;
  for (let i = 1; i <= seconds; i++) {
    const rules = [{ id: `classify-${i}`, kind: 'classify', chain_id: 'c' }];
    meter.follow({ ...plan, fabric: { generation: i, rules } } as unknown as Plan);
    const counted = (metric: 'pps' | 'bps') => sample(sampleKey('rule', `leaf-1 classify-${i}`, metric), 1000);
    meter.take([left(1000), counted('pps'), counted('bps')], 1000 * i);
  }
  const { chains } = meter as unknown as { readonly chains: ReadonlyMap<string, { packets: { size: number } }> };
  expect(chains.get('c')!.packets.size).toBeLessThan(20);
  expect(meter.entered('c', 1000 * (seconds - 5), 1000 * seconds)).toBeGreaterThanOrEqual(5000);
});

it('knows for how long packets have no longer left a chain', () => {
  const meter = new CarriageMeter(refusesOf);
  meter.follow(plan);
  expect(meter.delivers('c', 0)).toBe(false);
  meter.take([left(1000)], 1000);
  expect([1000, 3900, 4100].map((atMs) => meter.delivers('c', atMs))).toEqual([true, true, false]);
  meter.take([left(0)], 5000);
  expect(meter.delivers('c', 5000)).toBe(false);
});

it('reads refusals five times a second at most, however often agents report, and misses none of them', () => {
  const reports = fc.array(fc.tuple(fc.integer({ min: 1, max: 90 }), fc.nat(50)), { minLength: 200, maxLength: 300 });
  fc.assert(
    fc.property(reports, (list) => {
      const meter = new CarriageMeter(refusesOf);
      meter.follow(plan);
      let [nowMs, refused, reads, found, lastMs] = [0, 0, 0, 0, 0];
      const take = () => {
        const perS = meter.drops.take(refusing(refused), nowMs)?.get('c');
        if (perS === undefined) return;
        reads++;
        found += (perS * (nowMs - lastMs)) / 1000;
        lastMs = nowMs;
      };
      take();
      for (const [gapMs, packets] of list) {
        nowMs += gapMs;
        refused += packets;
        take();
      }
      nowMs += 200;
      take();
      expect(found).toBeCloseTo(refused, 3);
      expect(reads).toBeLessThanOrEqual(1 + nowMs / 200);
    }),
  );
});

describe('an NF that may drop packets on purpose', () => {
  const example = readFileSync(
    fileURLToPath(new URL('../../../../contract/examples/valid/NfDescriptor.ids.json', import.meta.url)),
    'utf8',
  );
  const own = NfDescriptor.parse(JSON.parse(example));
  const descriptor = (actions: Partial<NfDescriptor['actions']>): NfDescriptor => ({
    ...own,
    actions: { ...own.actions, ...actions },
  });
  const meterWith = (actions: Partial<NfDescriptor['actions']>) => {
    const meter = new CarriageMeter(() => refusalsOf(descriptor(actions)));
    meter.follow(plan);
    return meter;
  };
  const carried = (meter: CarriageMeter, delivered: number) => {
    for (let atMs = 1000; atMs <= 12_000; atMs += 1000)
      meter.take([left(delivered), rule('leaf-1', 'pps', 1000)], atMs);
    return meter.carriage('c', 10, 12_000);
  };
  const silent = { may_drop: true, refuses: undefined };

  it('and does not say which drops those are leaves unknown what is lost, and known what is carried', () => {
    expect(carried(meterWith(silent), 400)).toBe('unknown');
    expect(carried(meterWith(silent), 0)).toBe('unknown');
    expect(carried(meterWith(silent), 1000)).toMatchObject({ share: 1 });
    expect(meterWith(silent).drops.countsRefusals('c')).toBe(false);
  });

  it.each([
    { may_drop: true, refuses: ['denied'] },
    { may_drop: true, refuses: [] },
    { may_drop: false, refuses: undefined },
  ])('and says so, or may not, leaves nothing unknown: %j', (actions) => {
    expect(carried(meterWith(actions), 400)).toMatchObject({ share: 0.4 });
    expect(meterWith(actions).drops.countsRefusals('c')).toBe(true);
  });
});
