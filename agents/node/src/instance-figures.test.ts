import { type BoardDescription, bucketOf, InstanceFigures, type InstanceSample } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { RecentSamples } from './instance-figures.js';
import { instance } from './testing/specs.js';

const ID = 'lin.fw.0';

/** One packet of 100 bytes every millisecond, of which a tenth is dropped, in 20 us each. */
const sampleAt = (ms: number, over: Partial<InstanceSample> = {}): InstanceSample => ({
  instance_id: ID,
  packets_in: ms,
  packets_out: (ms * 9) / 10,
  bytes_in: ms * 100,
  bytes_out: ms * 90,
  drops: { denied: ms / 10 },
  queue_depth: 3,
  cpu_share: 0.25,
  latency_ns: [[bucketOf(20_000), 200]],
  ...over,
});

function filled(upTo = 5000, over: Partial<InstanceSample> = {}, epoch = 'e') {
  const recent = new RecentSamples();
  for (let ms = 200; ms <= upTo; ms += 200)
    recent.take({ epoch, clock_ms: ms, interval_ms: 200, instances: [sampleAt(ms, over)] });
  return recent;
}

const engine = instance(ID, { driver: 'engine' });

describe('figures of an instance', () => {
  it('are rates, latency and resources over the last two seconds', () => {
    const figures = filled().figures(engine, { flow_count: 12, max_flows: 4096, max_peers: 0 }, []);
    expect(InstanceFigures.parse(figures)).toEqual(figures);
    expect(figures.window_ms).toBe(1800);
    expect(figures.throughput!.pps).toBeCloseTo(900);
    expect(figures.workload).toEqual({ pps: 1000, bps: 800_000, drops_pps: 100, queue: 3 });
    expect(figures.latency_us!.packets).toBe(9 * 200);
    expect(figures.latency_us!.p50).toBeCloseTo(20, -1);
    expect(figures.not_measured).toEqual({});
    expect(figures.resources).toEqual([
      { resource: 'cpu', unit: 'cores', used: 0.25, total: 1 },
      { resource: 'flows', unit: 'entries', used: 12, total: 4096 },
    ]);
    expect(figures.emulated).toBe(false);
  });

  it('are null with a reason where nothing was measured', () => {
    for (const recent of [new RecentSamples(), filled(200)]) {
      const figures = recent.figures(engine, {}, []);
      expect(figures).toMatchObject({ window_ms: 0, latency_us: null, throughput: null, workload: null });
      expect(Object.keys(figures.not_measured).sort()).toEqual(['latency_us', 'throughput', 'workload']);
    }
    const idle = filled(5000, { latency_ns: [] }).figures(engine, {}, []);
    expect(idle.throughput).not.toBeNull();
    expect(idle.not_measured).toEqual({ latency_us: 'no packet left it in the last 1800 ms' });
  });

  it('never span a restart of the engine', () => {
    const recent = filled();
    recent.take({ epoch: 'next', clock_ms: 5200, interval_ms: 200, instances: [sampleAt(0)] });
    expect(recent.figures(engine, {}, []).window_ms).toBe(0);
  });

  it('name the slot of a board and say that it is emulated', () => {
    const board = {
      id: 'b1',
      emulated: true,
      slots: [{ slot: 1, resources: { lut: 4000 } }],
    } as unknown as BoardDescription;
    const place = { board: 'b1', slot: 1, load: 'partial', policy: 'hold' } as const;
    const figures = filled(5000, { latency_ns: [] }).figures(instance(ID, { driver: 'board', board: place }), {}, [
      board,
    ]);
    expect(figures.emulated).toBe(true);
    expect(figures.resources).toEqual([{ resource: 'lut', unit: 'cells', used: null, total: 4000 }]);
    expect(figures.not_measured.latency_us).toBe('packets carry no time stamp through a board');
  });

  it('include the memory and the limits of a container', () => {
    const container = { memory_bytes: 5_000_000 };
    const limits = { cpus: 1, memory_bytes: 536_870_912 };
    expect(filled().figures(instance(ID, { driver: 'container' }), { container, limits }, []).resources).toEqual([
      { resource: 'cpu', unit: 'cores', used: 0.25, total: 1 },
      { resource: 'memory', unit: 'bytes', used: 5_000_000, total: 536_870_912 },
    ]);
    expect(filled().figures(instance(ID, { driver: 'container' }), { container }, []).resources).toEqual([
      { resource: 'cpu', unit: 'cores', used: 0.25, total: null },
      { resource: 'memory', unit: 'bytes', used: 5_000_000, total: null },
    ]);
  });
});
