import type { AcceleratedMode } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { endAfterTest, eventLog, FAKE_ENGINE, scratchDirectory } from '../../testing/scratch.js';
import { ENGINE_TRAITS, instance, nodeSpec } from '../../testing/specs.js';
import { digestOf } from '../instance-digest.js';
import type { Wiring } from '../nf-driver.js';
import { compile } from './compile.js';
import { EngineDriver } from './engine-driver.js';

const MODE: AcceleratedMode = {
  kind: 'instructions',
  setting: 'speed',
  accelerated: 'high',
  plain: 'low',
  cpu_features: ['aes'],
};
const tunnel = (config: Record<string, unknown> = { speed: 'low' }) =>
  instance('p.mon.0', { config, acceleration: MODE });

function wiring(generation: number, ...instances: ReturnType<typeof instance>[]): Wiring {
  const spec = nodeSpec({ generation, instances });
  const { graph, probes } = compile(spec, ENGINE_TRAITS);
  return {
    graph,
    probes,
    instances: new Map(instances.map((one) => [one.id, digestOf(one)])),
    digest: digestOf(graph),
  };
}

async function setUp(run_dir = scratchDirectory()) {
  const options = { path: FAKE_ENGINE, run_dir, memory: 'auto', workers: 1, node: 'n1', origin: 'twin' } as const;
  const driver = new EngineDriver(options, eventLog().emit, () => undefined);
  endAfterTest(() => driver.view.pid);
  await driver.start();
  const apply = (what: Wiring) => driver.realize({ deploy: [], configure: [], destruct: [], wiring: what });
  const speed = async () => (await driver.getInstanceState('p.mon.0', 1)).speed;
  return { driver, apply, speed, run_dir };
}

describe('NFs of an engine that were switched', () => {
  it('are switched without a new graph, and nobody takes that for a drift', async () => {
    const { driver, apply, speed } = await setUp();
    await apply(wiring(1, tunnel()));
    expect(driver.elements.switched('p.mon.0')).toBeNull();
    await driver.elements.switchTo(tunnel(), true);
    expect(await speed()).toBe('high');
    expect(driver.elements.switched('p.mon.0')).toMatchObject({ accelerated: true });
    expect((await driver.stats())?.generation).toBe(1);
    expect(driver.drifts).toEqual([]);
    expect(driver.view.applied).toBe(wiring(1, tunnel()).digest);
    await driver.elements.switchTo(tunnel(), false);
    expect(await speed()).toBe('low');
  });

  it('stay switched under other graphs and configurations, until they are gone', async () => {
    const { driver, apply, speed } = await setUp();
    await apply(wiring(1, tunnel()));
    await driver.elements.switchTo(tunnel(), true);
    await apply(wiring(2, tunnel({ speed: 'low', more: 1 })));
    expect(await speed()).toBe('high');
    await driver.stats();
    expect(driver.drifts).toEqual([]);
    await apply(wiring(3, instance('p.nat.0')));
    expect(driver.elements.switched('p.mon.0')).toBeNull();
    await apply(wiring(4, tunnel()));
    expect(await speed()).toBe('low');
  });

  it('are switched after a graph that is being applied, with its configuration', async () => {
    const { driver, apply, speed } = await setUp();
    await apply(wiring(1, tunnel({ speed: 'low', refuse: true })));
    await expect(driver.elements.switchTo(tunnel(), true)).rejects.toThrow('p.mon.0: no (at /config/refuse)');
    expect(driver.elements.switched('p.mon.0')).toBeNull();
    const [, switched] = await Promise.all([apply(wiring(2, tunnel())), driver.elements.switchTo(tunnel(), true)]);
    expect(switched).toBeUndefined();
    expect(await speed()).toBe('high');
    await Promise.all([driver.elements.switchTo(tunnel(), false), apply(wiring(3, tunnel({ speed: 'high' })))]);
    expect(await speed()).toBe('low');
    await driver.stats();
    expect(driver.drifts).toEqual([]);
  });

  it('do what their specification says for the next agent and the next engine', async () => {
    const first = await setUp();
    await first.apply(wiring(1, tunnel()));
    await first.driver.elements.switchTo(tunnel(), true);
    await first.driver.close(true);
    const second = await setUp(first.run_dir);
    await second.apply(wiring(1, tunnel()));
    expect(await second.speed()).toBe('low');
    await second.driver.elements.switchTo(tunnel(), true);
    process.kill(second.driver.view.pid!, 'SIGKILL');
    await expect.poll(() => second.driver.elements.switched('p.mon.0')).toBeNull();
  });

  it('cannot be switched before they run', async () => {
    const { driver } = await setUp();
    await expect(driver.elements.switchTo(tunnel(), true)).rejects.toThrow('p.mon.0 does not run yet');
  });
});
