import { bucketOf, type NodeSamples, sampleKey, samplePrefix } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import type { Metrics } from '../../platform/metrics.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import { CounterRates } from './counter-rates.js';
import { ExitMeter } from './exit-meter.js';
import { SamplesService } from './samples.service.js';
import { SeriesStore } from './series-store.js';

function set(seq: number, packets: number, change: Partial<NodeSamples> = {}): NodeSamples {
  return {
    epoch: 'one',
    seq,
    t_ms: 1000 + 200 * seq,
    clock_ms: 200 * seq,
    interval_ms: 200,
    lost: 0,
    cpu_share: 0.5,
    instances: [
      {
        instance_id: 'p.n.0',
        packets_in: packets,
        packets_out: packets,
        bytes_in: 100 * packets,
        bytes_out: 100 * packets,
        drops: { denied: packets / 10, malformed: 0 },
        queue_depth: 3,
        cpu_share: 0.25,
        latency_ns: [[bucketOf(5000), 10]],
      },
    ],
    exits: [{ exit_id: 'p.exit', packets, bytes: 100 * packets, latency_ns: [] }],
    modules: [],
    splits: [],
    schedulers: [],
    boards: [],
    ...change,
  };
}

const isMerge = (id: string) => id.endsWith('.merge');

describe('CounterRates', () => {
  const values = (rates: CounterRates, samples: NodeSamples) => Object.fromEntries(rates.take(samples)?.values ?? []);

  it('turns counters into rates from the second set on', () => {
    const rates = new CounterRates('s', isMerge);
    expect(rates.take(set(0, 5000))?.values).toEqual([]);
    expect(values(rates, set(1, 5100))).toMatchObject({
      'node/s/cpu': 0.5,
      'instance/p.n.0/pps': 500,
      'instance/p.n.0/bps': 400_000,
      'instance/p.n.0/out_pps': 500,
      'instance/p.n.0/drops_pps': 50,
      'instance/p.n.0/cpu': 0.25,
      'instance/p.n.0/queue': 3,
      'instance/p.n.0/latency_p50_us': expect.closeTo(5.12, 2),
    });
  });

  it('counts what left within the interval of the first set, which may be all there is', () => {
    const exits = [
      { exit_id: 'p.exit', packets: 40, bytes: 4000, latency_ns: [[bucketOf(5000), 10]] as [number, number][] },
    ];
    const first = new CounterRates('s', isMerge).take(set(7, 0, { exits }));
    expect(first?.exits).toMatchObject([{ exit_id: 'p.exit', packets: 10, bytes: 1000 }]);
  });

  const modules = (packets: number, lost: number) =>
    ['p.a.merge', 'p.e1.queue'].map((module_id) => ({
      module_id,
      packets_in: 3 * packets,
      packets_out: packets,
      drops: { branch_dropped: 2 * lost, copy_lost: lost, table_full: lost, queue_full: 10 * lost },
      waiting: 7,
      cpu_share: 0.125,
    }));

  it('gives the rates of mirrors, merges and queues, and of merges what they gave up because a copy was missing', () => {
    const rates = new CounterRates('s', isMerge);
    rates.take(set(0, 0, { modules: modules(0, 0) }));
    const found = values(rates, set(1, 0, { modules: modules(100, 2) }));
    expect(Object.fromEntries(Object.entries(found).filter(([key]) => key.startsWith('module/')))).toEqual({
      'module/p.a.merge/pps': 1500,
      'module/p.a.merge/out_pps': 500,
      'module/p.a.merge/drops_pps': 140,
      'module/p.a.merge/lost_pps': 20,
      'module/p.a.merge/waiting': 7,
      'module/p.a.merge/cpu': 0.125,
      'module/p.e1.queue/pps': 1500,
      'module/p.e1.queue/out_pps': 500,
      'module/p.e1.queue/drops_pps': 140,
      'module/p.e1.queue/waiting': 7,
      'module/p.e1.queue/cpu': 0.125,
    });
    // It restarts, then comes to another epoch, then is new.
    expect(values(rates, set(2, 0, { modules: modules(10, 1) }))).toMatchObject({
      'module/p.a.merge/out_pps': 50,
      'module/p.a.merge/lost_pps': 10,
    });
    const restarted = set(0, 0, { epoch: 'two', modules: modules(20, 0) });
    expect(values(rates, restarted)).toMatchObject({ 'module/p.a.merge/out_pps': 100, 'module/p.a.merge/lost_pps': 0 });
    rates.take(set(1, 0, { epoch: 'two' }));
    const back = set(2, 0, { epoch: 'two', modules: modules(30, 0) });
    expect(values(rates, back)).toMatchObject({ 'module/p.a.merge/out_pps': 150 });
  });

  it('passes on what each node of a scheduler tree used over the interval, by server, core and node', () => {
    const rates = new CounterRates('s', isMerge);
    const node = { id: 'root.0', cpu_share: 0.5, pps: 100, bps: 8000, polling_share: 0.125 };
    const sent = (seq: number) => set(seq, 0, { schedulers: [{ core: 3, nodes: [node] }] });
    rates.take(sent(0));
    expect(values(rates, sent(1))).toMatchObject({
      'scheduler/s 3 root.0/cpu': 0.5,
      'scheduler/s 3 root.0/pps': 100,
      'scheduler/s 3 root.0/bps': 8000,
      'scheduler/s 3 root.0/polling': 0.125,
    });
    expect(rates.take(sent(1))).toBeNull();
  });

  it('averages over a gap', () => {
    const rates = new CounterRates('s', isMerge);
    rates.take(set(0, 0));
    expect(values(rates, set(5, 100))['instance/p.n.0/pps']).toBe(100);
  });

  it.each([-3_600_000, 3_600_000])('gives the same rates when the agent’s wall clock is set by %d ms', (set_ms) => {
    const rates = new CounterRates('s', isMerge);
    rates.take(set(0, 0));
    const next = rates.take(set(1, 100, { t_ms: 1200 + set_ms }));
    expect(next).toMatchObject({ t_ms: 1200 + set_ms, interval_ms: 200 });
    expect(Object.fromEntries(next!.values)['instance/p.n.0/pps']).toBe(500);
  });

  it('counts from zero in a new epoch and after a counter decreases', () => {
    const rates = new CounterRates('s', isMerge);
    rates.take(set(7, 5000));
    expect(values(rates, set(0, 20, { epoch: 'two' }))['instance/p.n.0/pps']).toBe(100);
    expect(values(rates, set(1, 10, { epoch: 'two' }))['instance/p.n.0/pps']).toBe(50);
  });

  it('counts a new instance from zero', () => {
    const rates = new CounterRates('s', isMerge);
    rates.take(set(0, 0, { instances: [] }));
    expect(values(rates, set(1, 40))['instance/p.n.0/pps']).toBe(200);
  });

  it('ignores a repeated set', () => {
    const rates = new CounterRates('s', isMerge);
    rates.take(set(0, 0));
    expect(rates.take(set(1, 10))?.exits).toEqual([{ exit_id: 'p.exit', packets: 10, bytes: 1000, latency_ns: [] }]);
    expect(rates.take(set(1, 10))).toBeNull();
  });

  it('gives no latency when no packet passed', () => {
    const rates = new CounterRates('s', isMerge);
    const quiet = set(1, 0);
    quiet.instances[0]!.latency_ns = [];
    rates.take(set(0, 0));
    expect(Object.keys(values(rates, quiet))).not.toContain('instance/p.n.0/latency_p50_us');
  });
});

describe('ExitMeter', () => {
  const delta = (packets: number, ns = 5000) => ({
    exit_id: 'p.exit',
    packets,
    bytes: 100 * packets,
    latency_ns: [[bucketOf(ns), packets] as [number, number]],
  });

  it('sums the rates of all exits and merges their latencies', () => {
    const meter = new ExitMeter('twin');
    meter.add('a', delta(10), 200, 1000);
    meter.add('a', delta(20), 200, 1200);
    meter.add('b', delta(30, 50_000), 200, 1200);
    expect(meter.now(1200)).toMatchObject({ pps: 250, bps: 200_000, p50_us: expect.closeTo(5.12, 2) });
    expect(meter.window(10, 1200)).toMatchObject({ packets: 60, bytes: 6000, covered_s: 0.4 });
  });

  it('is steady from the first packet on, and anew when something else runs', () => {
    const meter = new ExitMeter('twin');
    meter.add('a', delta(0), 200, 1000);
    expect(meter.window(10, 3000).steady_s).toBe(0);
    meter.add('a', delta(10), 200, 3000);
    meter.add('a', delta(10), 200, 5000);
    expect(meter.window(10, 7000).steady_s).toBe(4);
    meter.unsettle();
    expect(meter.window(10, 7000)).toMatchObject({ steady_s: 0, packets: 20 });
    meter.add('a', delta(10), 200, 8000);
    expect(meter.window(10, 9000).steady_s).toBe(1);
  });

  it('is null after a second without data, and drops what has left the window', () => {
    const meter = new ExitMeter('twin');
    meter.add('a', delta(10), 200, 1000);
    expect(meter.now(2001)).toBeNull();
    expect(meter.window(10, 11_001)).toMatchObject({ packets: 0, covered_s: 10 });
  });
});

describe('SeriesStore', () => {
  const unit = () => 'x';

  it('keeps the newest points in order while growing and after wrapping', () => {
    const store = new SeriesStore(100, 10, 0);
    for (let time = 0; time < 250; time++) store.push('k', time, 2 * time, time);
    const [series] = store.read(['k'], 0, unit);
    expect(series!.points).toHaveLength(100);
    expect(series!.points[0]).toEqual([150, 300]);
    expect(series!.points.at(-1)).toEqual([249, 498]);
    expect(store.read(['k'], 240, unit)[0]!.points).toHaveLength(10);
  });

  it('finds keys by prefix when it ends in a slash', () => {
    const store = new SeriesStore(10, 10, 0);
    for (const key of ['link/a/x', 'link/ab/x', 'node/a/x']) store.push(key, 1, 1, 1);
    expect(store.read(['link/'], 0, unit).map(({ key }) => key)).toEqual(['link/a/x', 'link/ab/x']);
    expect(store.read(['link/a'], 0, unit)).toEqual([]);
    expect(store.read(['link/', 'link/a/x'], 0, unit)).toHaveLength(2);
  });

  it('is bounded: a new key replaces an idle one, never an active one', () => {
    const store = new SeriesStore(10, 2, 1000);
    store.push('old', 9000, 1, 0);
    store.push('live', 1000, 1, 5000);
    expect(store.push('new', 1000, 1, 5000)).toBe(true);
    expect(store.push('newer', 1000, 1, 5000)).toBe(false);
    expect(store.read(['old', 'live', 'new', 'newer'], 0, unit).map(({ key }) => key)).toEqual(['live', 'new']);
  });

  it('drops the key whose newest point is the oldest, whichever came first', () => {
    const store = new SeriesStore(10, 2, 5);
    for (const [key, nowMs] of [
      ['a', 0],
      ['b', 10],
      ['a', 20],
    ] as const)
      store.push(key, nowMs, 1, nowMs);
    expect(store.push('c', 30, 1, 30)).toBe(true);
    expect(store.read(['a', 'b', 'c'], 0, unit).map(({ key, points }) => [key, points.length])).toEqual([
      ['a', 2],
      ['c', 1],
    ]);
  });

  it('gives the mean of the latest values by the times of their points, while the latest is fresh by its arrival', () => {
    const store = new SeriesStore(10, 10, 0);
    for (const [time, value] of [
      [1000, 13],
      [2000, 2],
      [3000, 4],
      [4000, 9],
    ] as const)
      store.push('k', time, value, 50);
    expect([999, 1000, 2000, 9000].map((overMs) => store.mean('k', overMs, 50))).toEqual([9, 6.5, 5, 7]);
    expect([store.mean('k', 2000, 51), store.mean('none', 2000, 0)]).toEqual([null, null]);
  });

  it('gives the latest value while it is fresh by its arrival, whatever time its point has', () => {
    const store = new SeriesStore(10, 10, 0);
    store.push('k', 3_600_000, 7, 100);
    store.push('k', 0, 8, 200);
    expect([store.newest('k', 200), store.newest('k', 201), store.newest('none', 0)]).toEqual([8, null, null]);
  });
});

it('rules by the thousand, as requests are, take no room from the figures of others', () => {
  let refused = 0;
  const metrics = { sampleKeysRefused: { inc: () => refused++ } } as unknown as Metrics;
  const service = new SamplesService(metrics, { plan: null } as unknown as DeploymentView);
  const rules = Array.from({ length: 5000 }, (_, i) => ({ rule_id: `classify/${i}`, packets: i, bytes: i }));
  const samples = { t_ms: 1, interval_ms: 60_000, lost: 0, generation: 1, entries: [], rules, splits: [] };
  for (let seq = 1; seq <= 2; seq++) service.takeSwitch('leaf-1', 'twin', { ...samples, t_ms: seq });
  const link = { link_id: 'l', t_ms: 1, up: true, a_to_b_bps: 5, b_to_a_bps: 6, utilization: 0, drops: 0 };
  service.takeLinks([link]);
  expect(service.newest(sampleKey('link', 'l', 'a_to_b_bps'), 60_000)).toBe(5);
  const read = service.series([samplePrefix('rule'), samplePrefix('link')], 0);
  expect(read.filter(({ key }) => key.startsWith('rule/'))).toHaveLength(2 * rules.length);
  expect(read).toHaveLength(2 * rules.length + 2);
  expect(refused).toBe(0);
});

it('samples of an agent whose clock is wrong are as old as their arrival', () => {
  const service = new SamplesService({} as Metrics, { plan: null } as unknown as DeploymentView);
  const rules = [{ rule_id: 'classify/1', packets: 1, bytes: 1 }];
  const samples = { interval_ms: 60_000, lost: 0, generation: 1, entries: [], rules, splits: [] };
  const pointsOf = (aheadMs: number) => {
    const beginMs = Date.now();
    for (let seq = 0; seq < 2; seq++)
      service.takeSwitch('leaf-1', 'twin', { ...samples, t_ms: beginMs + aheadMs + seq });
    const points = service.series([samplePrefix('rule')], beginMs - 1500).flatMap((series) => series.points);
    return points.map(([t_ms]) => t_ms - beginMs);
  };
  for (const aheadMs of [-120_000, 300_000]) {
    const ages = pointsOf(aheadMs);
    expect(ages.length).toBeGreaterThan(0);
    for (const age of ages) expect(Math.abs(age)).toBeLessThan(1500);
  }
  expect(pointsOf(-1000)).toContain(-999);
});
