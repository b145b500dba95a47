import { type EngineStats, NodeSamples } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ENGINE_TRAITS, linearChain } from '../../testing/specs.js';
import type { Wiring } from '../nf-driver.js';
import { compile } from './compile.js';
import { histogramSince, reading, sampleBetween } from './sample.js';
import { type BoardFigures, type HostedFigures, Sampler } from './sampler.js';

type ModuleStats = EngineStats['modules'][number];

function module(name: string, over: Partial<ModuleStats> = {}): ModuleStats {
  const zero = { packets_in: 0, packets_out: 0, bytes_in: 0, bytes_out: 0, drops: {}, cycles: 0 };
  return { name, kind: 'x', ...zero, queue_depth: null, latency_ns: null, ...over };
}

function stats(t_ms: number, modules: ModuleStats[], over: Partial<EngineStats> = {}): EngineStats {
  return {
    epoch: 'e1',
    t_ns: t_ms * 1e6,
    generation: 1,
    graph_digest: '',
    cycles_per_second: 2e9,
    workers: [{ worker: 0, busy_cycles: 0, cpu_ns: t_ms * 1e5 }],
    modules,
    schedulers: [],
    ports: [],
    ...over,
  };
}

const { probes } = compile(linearChain(), ENGINE_TRAITS);

describe('histogramSince', () => {
  it.each([
    [[[3, 5]], [[3, 2]], [[3, 3]]],
    [
      [
        [3, 5],
        [9, 1],
      ],
      [[3, 5]],
      [[9, 1]],
    ],
    [[[3, 1]], [[3, 4]], [[3, 1]]],
    [null, [[3, 4]], []],
    [[[3, 1]], null, [[3, 1]]],
  ] as [[number, number][] | null, [number, number][] | null, [number, number][]][])(
    '%j less %j',
    (now, before, out) => {
      expect(histogramSince(now, before)).toEqual(out);
    },
  );
});

describe('sampleBetween', () => {
  it('gives counters as they are, and CPU and latency of the interval', () => {
    const before = reading(
      stats(1000, [module('lin.fw.0', { cycles: 1e6, latency_ns: [[10, 4]] }), module('exit:lin.exit')]),
    );
    const now = reading(
      stats(1200, [
        module('lin.fw.0', {
          packets_in: 90,
          packets_out: 85,
          bytes_in: 9000,
          bytes_out: 8500,
          drops: { denied: 5 },
          cycles: 1e6 + 1e8,
          latency_ns: [
            [10, 5],
            [20, 7],
          ],
        }),
        module('lin.fw.0:queue', { drops: { full: 10 }, queue_depth: 3 }),
        module('exit:lin.exit', { packets_in: 80, bytes_in: 8000, latency_ns: [[40, 80]] }),
      ]),
    );
    const sample = sampleBetween(before, now, probes);
    expect(sample).toMatchObject({ epoch: 'e1', clock_ms: 1200, interval_ms: 200, cpu_share: 0.1 });
    expect(sample.instances).toEqual([
      {
        instance_id: 'lin.fw.0',
        packets_in: 100,
        packets_out: 85,
        bytes_in: 9000,
        bytes_out: 8500,
        drops: { denied: 5, full: 10 },
        queue_depth: 3,
        cpu_share: 0.25,
        latency_ns: [
          [10, 1],
          [20, 7],
        ],
      },
    ]);
    expect(sample.exits).toEqual([{ exit_id: 'lin.exit', packets: 80, bytes: 8000, latency_ns: [[40, 80]] }]);
    NodeSamples.parse({ ...sample, seq: 0, t_ms: 1, lost: 0 });
  });

  it('counts packets that match no edge as dropped, so that packets in = packets out + drops', () => {
    const probe = { instance_id: 'a', nf: 'a', queues: ['a:queue'], outputs: 'a:outputs', ports: null };
    const now = reading(
      stats(200, [
        module('a', { packets_in: 50, packets_out: 48, drops: { denied: 2 } }),
        module('a:queue', { drops: { full: 7 } }),
        module('a:outputs', { drops: { 'no-match': 8 } }),
      ]),
    );
    const [sample] = sampleBetween(reading(stats(0, [])), now, {
      instances: [probe],
      modules: [],
      splits: [],
      schedulers: [],
      exits: [],
    }).instances;
    expect(sample).toMatchObject({ packets_in: 57, packets_out: 40, drops: { denied: 2, full: 7, 'no-match': 8 } });
  });

  it('counts the reassembly of streams for the NF behind it', () => {
    const at = (t_ms: number, cycles: number) =>
      reading(stats(t_ms, [module('a', { cycles: 2 * cycles }), module('a:bytestream', { cycles })]));
    const probe = { instance_id: 'a', nf: 'a', queues: [], outputs: null, ports: null };
    const probes = { instances: [probe], modules: [], splits: [], schedulers: [], exits: [] };
    const [sample] = sampleBetween(at(0, 1e6), at(200, 21e6), probes).instances;
    expect(sample!.cpu_share).toBe((2 * 20e6 + 20e6) / (0.2 * 2e9));
  });

  it('counts a merge with the queues before it', () => {
    const probe = { module_id: 'p.merge', module: 'p.merge', queues: ['p.merge:queue:0', 'p.merge:queue:1'] };
    const at = (t_ms: number, cycles: number) =>
      stats(t_ms, [
        module('p.merge', { packets_in: 30, packets_out: 9, drops: { copy_lost: 2 }, cycles, queue_depth: 4 }),
        module('p.merge:queue:0', { queue_depth: 3, drops: { queue_full: 5 } }),
        module('p.merge:queue:1', { queue_depth: 1 }),
      ]);
    const probes = { instances: [], modules: [probe], splits: [], schedulers: [], exits: [] };
    const { modules } = sampleBetween(reading(at(0, 1e6)), reading(at(200, 41e6)), probes);
    expect(modules).toEqual([
      {
        module_id: 'p.merge',
        packets_in: 35,
        packets_out: 9,
        drops: { copy_lost: 2, queue_full: 5 },
        waiting: 8,
        cpu_share: 0.1,
      },
    ]);
  });

  it('gives rates and shares of the nodes of a scheduler tree over the interval, under the names of the plan', () => {
    const used = { runs: 0, empty_runs: 0 };
    const at = (t_ms: number, cycles: number, packets: number) =>
      stats(t_ms, [], {
        schedulers: [
          { worker: 0, nodes: [] },
          {
            worker: 1,
            nodes: [{ id: 'core-3.t0', cycles, packets, bytes: 100 * packets, empty_cycles: cycles / 4, ...used }],
          },
        ],
      });
    const nodes = [
      { id: 't0', node: 'core-3.t0' },
      { id: 'left out', node: 'core-3.t1' },
    ];
    const probes = { instances: [], modules: [], splits: [], schedulers: [{ core: 3, worker: 1, nodes }], exits: [] };
    const { schedulers } = sampleBetween(reading(at(0, 4e6, 10)), reading(at(500, 504e6, 1010)), probes);
    expect(schedulers).toEqual([
      { core: 3, nodes: [{ id: 't0', cpu_share: 0.5, pps: 2000, bps: 1_600_000, polling_share: 0.125 }] },
    ]);
  });

  it('reads a process NF from its two ports', () => {
    const port = { up: true, rx_bytes: 0, rx_dropped: 0, tx_bytes: 0, tx_dropped: 0 };
    const ports = [
      { ...port, name: 'a:near', tx_packets: 10, rx_packets: 2, tx_bytes: 600 },
      { ...port, name: 'a:far', tx_packets: 3, rx_packets: 9, rx_bytes: 540, tx_dropped: 1 },
    ];
    const probe = {
      instance_id: 'a',
      nf: null,
      queues: [],
      outputs: null,
      ports: { near: 'a:near', far: 'a:far' },
    };
    const one = { instances: [probe], modules: [], splits: [], schedulers: [], exits: [] };
    const [sample] = sampleBetween(reading(stats(0, [])), reading(stats(200, [], { ports })), one).instances;
    expect(sample).toMatchObject({ packets_in: 13, packets_out: 11, bytes_in: 600, drops: { 'port-full': 1 } });
  });
});

const noBoards: BoardFigures = { samples: [], figures: [], refresh: async () => undefined, drops: () => ({}) };
const nothingBeside: HostedFigures = {
  refresh: async () => undefined,
  figures: () => ({ drops: {}, cpu_share: 0 }),
};

describe('Sampler', () => {
  const modules = ['lin.fw.0', 'lin.nat.0', 'lin.mon.0'].map((name) => module(name));
  const wiring = { probes } as Wiring;

  function setUp(
    answers: (EngineStats | null | Error)[],
    baseline: EngineStats | null = null,
    containers = nothingBeside,
  ) {
    const sent: NodeSamples[] = [];
    const state = { takes: true };
    const source = {
      wiring,
      baseline,
      stats: async () => {
        const answer = answers.shift() ?? null;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
    const send = (samples: NodeSamples) => {
      if (state.takes) sent.push(NodeSamples.parse(samples));
      return state.takes;
    };
    return { sampler: new Sampler(source, noBoards, [containers], send), sent, state };
  }

  it('needs two readings in one epoch for a sample', async () => {
    const again = { epoch: 'e2' };
    const { sampler, sent } = setUp([
      stats(1000, modules),
      stats(1200, modules),
      stats(100, modules, again),
      stats(300, modules, again),
    ]);
    for (let i = 0; i < 4; i++) await sampler.tick();
    expect(sent.map(({ epoch, interval_ms }) => [epoch, interval_ms])).toEqual([
      ['e1', 200],
      ['e2', 200],
    ]);
  });

  it('counts from when the agent connected to the engine', async () => {
    const exit = (count: number) => [module('exit:lin.exit', { packets_in: count, latency_ns: [[5, count]] })];
    const { sampler, sent } = setUp([stats(1050, exit(9))], stats(1000, exit(4)));
    await sampler.tick();
    expect(sent[0]).toMatchObject({ interval_ms: 50, exits: [{ packets: 9, latency_ns: [[5, 5]] }] });
  });

  it('counts unsent sets and ticks skipped while the engine is busy, until a new epoch', async () => {
    const { sampler, sent, state } = setUp([
      stats(1000, modules),
      stats(1200, modules),
      null,
      stats(1600, modules),
      stats(0, modules, { epoch: 'e2' }),
      stats(200, modules, { epoch: 'e2' }),
    ]);
    await sampler.tick();
    state.takes = false;
    await sampler.tick();
    await sampler.tick();
    state.takes = true;
    await sampler.tick();
    expect(sent.at(-1)).toMatchObject({ lost: 2, interval_ms: 400 });
    await sampler.tick();
    await sampler.tick();
    expect(sent.at(-1)).toMatchObject({ epoch: 'e2', lost: 0 });
  });

  it('adds the counters of the instance itself', async () => {
    const own: HostedFigures = {
      ...nothingBeside,
      figures: (id) => ({
        drops: id === 'lin.nat.0' ? { denied: 4 } : ({} as Record<string, number>),
        cpu_share: 0.25,
      }),
    };
    const { sampler, sent } = setUp([stats(1000, modules), stats(1200, modules)], null, own);
    for (let i = 0; i < 2; i++) await sampler.tick();
    const figures = sent[0]!.instances.map(({ drops, cpu_share }) => [drops, cpu_share]);
    expect(figures).toEqual([
      [{}, 0.25],
      [{ denied: 4 }, 0.25],
      [{}, 0.25],
    ]);
  });

  it('reads what runs beside it together with the engine, so that each set includes the drops since the last', async () => {
    let read = 0;
    const own: HostedFigures = {
      refresh: async () => {
        read += 5;
      },
      figures: (id) => ({
        drops: id === 'lin.nat.0' ? { denied: read } : ({} as Record<string, number>),
        cpu_share: 0,
      }),
    };
    const readings = [1000, 1200, 1400, 1600].map((t_ms) => stats(t_ms, modules));
    const { sampler, sent } = setUp(readings, null, own);
    for (let i = 0; i < 4; i++) await sampler.tick();
    expect(sent.map(({ instances }) => instances[1]!.drops.denied)).toEqual([10, 15, 20]);
  });

  it('asks one at a time', async () => {
    let answer: (stats: EngineStats) => void = () => {};
    let asked = 0;
    const source = {
      wiring,
      baseline: null,
      stats: () => {
        asked++;
        return new Promise<EngineStats>((resolve) => {
          answer = resolve;
        });
      },
    };
    const sampler = new Sampler(source, noBoards, [nothingBeside], () => true);
    const first = sampler.tick();
    await sampler.tick();
    expect(asked).toBe(1);
    answer(stats(1, modules));
    await first;
    void sampler.tick();
    expect(asked).toBe(2);
  });

  it('numbers sets in increasing order, also after another agent in the same epoch', async () => {
    const first = setUp([stats(1000, modules), stats(1200, modules), stats(1390, modules)]);
    for (let i = 0; i < 3; i++) await first.sampler.tick();
    const second = setUp([stats(1600, modules), stats(1800, modules)]);
    for (let i = 0; i < 2; i++) await second.sampler.tick();
    const seqs = [...first.sent, ...second.sent].map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    expect(seqs.length).toBe(3);
  });

  it('gives no figures for an interval in which the engine failed', async () => {
    const { sampler, sent } = setUp([stats(1000, modules), new Error('gone'), stats(1400, modules)]);
    for (let i = 0; i < 3; i++) await sampler.tick();
    expect(sent).toEqual([]);
  });
});
