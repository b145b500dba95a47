import type { Observed } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineView } from '../drivers/engine/engine-driver.js';
import { type Change, DriverError } from '../drivers/nf-driver.js';
import { eventLog } from '../testing/scratch.js';
import { ENGINE_TRAITS, instance, linearChain, nodeSpec } from '../testing/specs.js';
import { type BoardsPort, type EnginePort, Reconciler } from './reconciler.js';

/** An engine whose every apply waits until the test releases it, or fails at once when told to. */
class ScriptedEngine implements EnginePort {
  readonly kind = 'engine';
  readonly nfs = [];
  readonly drifts = [];
  onChange = () => {};
  starts = 0;
  applied: number[] = [];
  failures: Error[] = [];
  gate: Promise<void> = Promise.resolve();
  view: EngineView = {
    status: 'stopped',
    pid: null,
    ...ENGINE_TRAITS,
    applied: null,
    instances: new Map(),
    declared: [],
    start_not_before_ms: 0,
    error: null,
  };

  async start() {
    this.starts++;
    this.set({ status: 'running', pid: 42, applied: null });
  }

  async realize({ wiring }: Change) {
    this.applied.push(wiring!.graph.generation);
    await this.gate;
    const failure = this.failures.shift();
    if (failure) throw failure;
    this.set({ applied: wiring!.digest, instances: wiring!.instances });
  }

  set(view: Partial<EngineView>) {
    this.view = { ...this.view, ...view };
    this.onChange();
  }

  getInstanceState = async () => ({});
  exportState = async () => ({});
  importState = async () => null;
}

const nothing = {
  nfs: [],
  drifts: [],
  observe: () => new Map(),
  realize: async () => {},
  getInstanceState: async () => ({}),
  exportState: async () => ({}),
  importState: async () => null,
};
const noBoards: BoardsPort = { ...nothing, kind: 'board', observed: [], unclaimed: [] };

function setUp() {
  const engine = new ScriptedEngine();
  const log = eventLog();
  const seen: Observed[] = [];
  const reconciler = new Reconciler(
    { engine, board: noBoards, hosted: [], interfaces: { drifts: [], troubles: [] } },
    log.emit,
    (observed) => seen.push(observed),
    'n1',
  );
  engine.onChange = () => reconciler.look();
  return { engine, log, seen, reconciler };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe('Reconciler', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('reaches the desired state once and then does nothing', async () => {
    const { engine, seen, reconciler, log } = setUp();
    reconciler.desire(linearChain(5));
    await settle();
    expect(engine.applied).toEqual([5]);
    expect(reconciler.observed).toMatchObject({ generation: 5, state: 'converged', engine_pid: 42 });
    reconciler.look();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([engine.starts, engine.applied]).toEqual([1, [5]]);
    expect(seen.map(({ state }) => state).at(-1)).toBe('converged');
    expect(log.names()).toEqual(['node.converged']);
  });

  it('applies the newest of several states that arrive during a step', async () => {
    const { engine, reconciler } = setUp();
    let open = () => {};
    engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    reconciler.desire(linearChain(1));
    await settle();
    for (const generation of [2, 3, 4]) reconciler.desire(linearChain(generation));
    open();
    await settle();
    expect(engine.applied).toEqual([1, 4]);
    expect(reconciler.observed.generation).toBe(4);
  });

  it('applies the whole graph to an engine that came back', async () => {
    const { engine, reconciler, seen } = setUp();
    reconciler.desire(linearChain(1));
    await settle();
    engine.set({ status: 'failed', pid: null, applied: null, instances: new Map(), error: 'engine ended' });
    await settle();
    expect([engine.starts, engine.applied]).toEqual([2, [1, 1]]);
    expect(seen.map(({ engine: state }) => state)).toContain('failed');
    expect(reconciler.observed.state).toBe('converged');
  });

  it('retries after a failure, later each time, and reports it once', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const { engine, reconciler, log } = setUp();
    engine.failures = [new DriverError('one', 'lin.fw.0'), new DriverError('two'), new DriverError('three')];
    reconciler.desire(linearChain(1));
    await settle();
    expect(engine.applied.length).toBe(1);
    expect(reconciler.observed).toMatchObject({ state: 'failed', error: 'one', generation: 0 });
    await vi.advanceTimersByTimeAsync(500);
    expect(engine.applied.length).toBe(2);
    await vi.advanceTimersByTimeAsync(499);
    expect(engine.applied.length).toBe(2);
    await vi.advanceTimersByTimeAsync(3500);
    expect(engine.applied.length).toBe(4);
    expect(reconciler.observed).toMatchObject({ state: 'converged', error: null, generation: 1 });
    expect(log.names()).toEqual(['node.apply-failed', 'node.converged']);
  });

  it('abandons an impossible state for the next one at once', async () => {
    const { engine, reconciler } = setUp();
    engine.failures = [new DriverError('no such rule', 'lin.fw.0', true)];
    reconciler.desire(linearChain(1));
    await settle();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(engine.applied).toEqual([1]);
    reconciler.desire(linearChain(2));
    await settle();
    expect(reconciler.observed).toMatchObject({ state: 'converged', generation: 2 });
  });

  it('reports a spec without a valid graph and still accepts the next', async () => {
    const { engine, reconciler } = setUp();
    reconciler.desire(nodeSpec({ generation: 1, instances: [instance('p.x.0', { nf: 'teapot' })] }));
    await settle();
    expect(reconciler.observed).toMatchObject({ state: 'failed', generation: 0 });
    expect(engine.starts).toBe(0);
    reconciler.desire(linearChain(2));
    await settle();
    expect(reconciler.observed.generation).toBe(2);
  });

  it('does not report a lower generation as reached because it had reached a higher one', async () => {
    const { engine, reconciler, seen } = setUp();
    reconciler.desire(linearChain(50));
    await settle();
    seen.length = 0;
    reconciler.desire(linearChain(3));
    await settle();
    expect(engine.applied).toEqual([50, 3]);
    expect(seen.every(({ generation, state }) => generation === 0 || state === 'converged')).toBe(true);
    expect(reconciler.observed).toMatchObject({ generation: 3, state: 'converged' });
  });

  it('begins no step after it was stopped', async () => {
    const { engine, reconciler } = setUp();
    await reconciler.stop();
    reconciler.desire(linearChain(1));
    await settle();
    expect(engine.starts).toBe(0);
  });
});
