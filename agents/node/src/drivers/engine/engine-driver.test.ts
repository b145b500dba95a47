import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Origin } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { endAfterTest, eventLog, FAKE_ENGINE, scratchDirectory, until } from '../../testing/scratch.js';
import { ENGINE_TRAITS, instance, linearChain, nodeSpec, splitChain } from '../../testing/specs.js';
import { digestOf } from '../instance-digest.js';
import type { Wiring } from '../nf-driver.js';
import { compile } from './compile.js';
import { EngineDriver } from './engine-driver.js';
import { COMPILED_ABILITIES } from './engine-traits.js';

function wiring(spec = linearChain()): Wiring {
  const { graph, probes } = compile(spec, ENGINE_TRAITS);
  const instances = new Map(spec.instances.map((one) => [one.id, digestOf(one)]));
  return { graph, probes, instances, digest: digestOf(graph) };
}

const apply = (driver: EngineDriver, what = wiring()) =>
  driver.realize({ deploy: [], configure: [], destruct: [], wiring: what });

const withFault = (fake: string) => wiring(nodeSpec({ instances: [instance('p.mon.0', { config: { fake } })] }));

function setUp(run_dir = scratchDirectory(), path = FAKE_ENGINE, origin: Origin = 'twin') {
  const log = eventLog();
  let changes = 0;
  const options = { path, run_dir, memory: 'auto', workers: 1, node: 'n1', origin } as const;
  const driver = new EngineDriver(options, log.emit, () => changes++);
  endAfterTest(() => driver.view.pid);
  return { driver, log, run_dir, changes: () => changes };
}

describe('EngineDriver', () => {
  it('says where a process id of its engine counts', async () => {
    for (const [origin, where] of [
      ['twin', /^Engine started in \d+ ms \(pid \d+ in the twin\)$/],
      ['live', /^Engine started in \d+ ms \(pid \d+\)$/],
    ] as const) {
      const { driver, log } = setUp(scratchDirectory(), FAKE_ENGINE, origin);
      await driver.start();
      expect(log.events.find(({ event }) => event === 'engine.started')!.message).toMatch(where);
      await driver.close(false);
    }
  });

  it('starts an engine and applies a graph', async () => {
    const { driver, log } = setUp();
    expect(driver.view.status).toBe('stopped');
    await driver.start();
    expect(driver.view).toMatchObject({ status: 'running', workers: 1, applied: null });
    expect(log.names()).toEqual(['engine.started']);
    expect(driver.view.cycles_per_second).toBe(2.3e9);
    const what = wiring();
    await apply(driver, what);
    expect(driver.view.applied).toBe(what.digest);
    expect([...driver.view.instances.keys()]).toEqual(['lin.fw.0', 'lin.nat.0', 'lin.mon.0']);
    expect((await driver.stats())?.generation).toBe(1);
    expect(await driver.getInstanceState('lin.fw.0', 5)).toEqual({ module: 'lin.fw.0', limit: 5 });
    expect(await driver.exportState('lin.fw.0')).toEqual({ flows_of: 'lin.fw.0' });
    await driver.importState('lin.fw.0', { any: 1 });
  });

  it('changes nothing but ranges without a new graph', async () => {
    const { driver } = setUp();
    await driver.start();
    await apply(
      driver,
      wiring(
        splitChain(1, [
          ['lin.a.0', 0, 30_000],
          ['lin.a.1', 30_000, 65_536],
        ]),
      ),
    );
    const ranges = wiring(
      splitChain(2, [
        ['lin.a.0', 0, 9],
        ['lin.a.1', 9, 65_536],
      ]),
    );
    await apply(driver, ranges);
    expect(driver.view.applied).toBe(ranges.digest);
    // The engine names the graph as the driver does: nobody else has applied one.
    expect((await driver.stats())?.generation).toBe(1);
    expect(driver.drifts).toEqual([]);
    const another = wiring(
      splitChain(3, [
        ['lin.a.0', 0, 9],
        ['lin.b.0', 9, 65_536],
      ]),
    );
    await apply(driver, another);
    expect((await driver.stats())?.generation).toBe(3);
  });

  it('gives the whole graph to an engine that refuses the ranges alone', async () => {
    const { driver } = setUp();
    await driver.start();
    const parts = (a: number, b: number) =>
      wiring(
        splitChain(a, [
          ['lin.a.0', 0, b],
          ['lin.a.1', b, 60_000],
          ['lin.a.2', 60_000, 65_536],
        ]),
      );
    await apply(driver, parts(1, 10));
    await apply(driver, parts(2, 20));
    expect((await driver.stats())?.generation).toBe(2);
  });

  it('adopts the engine of an earlier agent, but not its graph', async () => {
    const first = setUp();
    await first.driver.start();
    await apply(first.driver);
    const { pid } = first.driver.view;
    await first.driver.close(true);
    const second = setUp(first.run_dir);
    await second.driver.start();
    expect(second.driver.view).toMatchObject({ status: 'running', pid, applied: null });
    expect(second.log.names()).toEqual(['engine.adopted']);
  });

  it('adopts an engine whose pid file was never written', async () => {
    const first = setUp();
    await first.driver.start();
    const { pid } = first.driver.view;
    await first.driver.close(true);
    rmSync(join(first.run_dir, 'engine.pid'));
    const second = setUp(first.run_dir);
    expect(await second.driver.adopt()).toBe(true);
    expect(second.driver.view.pid).toBe(pid);
    expect(JSON.parse(readFileSync(join(first.run_dir, 'engine.pid'), 'utf8')).pid).toBe(pid);
  });

  it('starts a new engine when the pid file is of an old one', async () => {
    const { driver, run_dir } = setUp();
    const stale = { pid: process.pid, start_ticks: '5', boot_id: 'x' };
    writeFileSync(join(run_dir, 'engine.pid'), JSON.stringify(stale));
    await driver.start();
    expect(driver.view.pid).not.toBe(process.pid);
  });

  it('reports a killed engine, and restarts it at once, then after increasing delays', async () => {
    const { driver, log, changes } = setUp();
    await driver.start();
    await apply(driver);
    const before = changes();
    process.kill(driver.view.pid!, 'SIGKILL');
    await until('the end is noticed', () => log.names().includes('engine.ended'));
    expect(changes()).toBeGreaterThan(before);
    expect(driver.view).toMatchObject({ status: 'failed', pid: null, applied: null });
    expect(log.events.at(-1)?.message).toContain('SIGKILL');
    expect(driver.view.start_not_before_ms).toBeLessThanOrEqual(performance.now());
    await driver.start();
    await expect(apply(driver, withFault('die'))).rejects.toThrow('engine');
    await until('the second end is noticed', () => driver.view.pid === null);
    expect(driver.view.error).toContain('exit code 3');
    expect(driver.view.start_not_before_ms).toBeGreaterThan(performance.now());
  });

  it('kills an unresponsive engine on close', async () => {
    const { driver, log } = setUp();
    await driver.start();
    process.kill(driver.view.pid!, 'SIGSTOP');
    await driver.close(false);
    await until('it is gone', () => driver.view.pid === null);
    expect(driver.view.status).toBe('stopped');
    expect(log.names()).toEqual(['engine.started']);
  });

  it('replaces an engine that gives signs of life but no counters', async () => {
    const { driver, log } = setUp();
    await driver.start();
    await expect(apply(driver, withFault('hang'))).resolves.toBeUndefined();
    await expect(driver.stats()).rejects.toThrow('did not answer `stats` within 5000 ms');
    await until('it is ended', () => log.names().includes('engine.ended'));
    expect(log.names()).toEqual(['engine.started', 'engine.unresponsive', 'engine.ended']);
    await driver.start();
    expect(driver.view.status).toBe('running');
  });

  it('names the instance that the engine refuses, and keeps the old graph', async () => {
    const { driver } = setUp();
    await driver.start();
    const good = wiring();
    await apply(driver, good);
    await expect(apply(driver, withFault('refuse'))).rejects.toMatchObject({
      message: 'p.mon.0: must be a rule (at /config/rules/0)',
      instanceId: 'p.mon.0',
      permanent: true,
    });
    expect(driver.view).toMatchObject({ status: 'running', applied: good.digest });
  });

  it('stops the engine when told to', async () => {
    const { driver, log } = setUp();
    await driver.start();
    const { pid } = driver.view;
    await driver.close(false);
    expect(() => process.kill(pid!, 0)).toThrow();
    expect(log.names()).toEqual(['engine.started']);
  });

  it('leaves no engine behind when it is closed during a start', async () => {
    const { driver, log } = setUp();
    const start = driver.start();
    const pid = await until('the process is there', () => driver.view.pid);
    await driver.close(false);
    await start;
    expect(() => process.kill(pid, 0)).toThrow();
    expect(log.names()).not.toContain('engine.ended');
  });

  it('announces no ability that its compiler cannot build, whatever the engine declares', async () => {
    const path = join(scratchDirectory(), 'engine');
    writeFileSync(path, `#!/bin/sh\necho '["mirror","merge","scheduler"]'\n`, { mode: 0o755 });
    const { driver } = setUp(undefined, path);
    await driver.learn();
    expect(driver.view.declared).toEqual(['mirror', 'merge', 'scheduler']);
    expect(driver.abilities.filter((ability) => !COMPILED_ABILITIES.has(ability))).toEqual([]);
  });

  it('says why an engine cannot start', async () => {
    const missing = setUp(undefined, '/nowhere/orrery-engine');
    await expect(missing.driver.start()).rejects.toThrow('cannot run /nowhere/orrery-engine');
    expect(missing.driver.view.status).toBe('failed');
    const broken = setUp(undefined, '/bin/false');
    await expect(broken.driver.start()).rejects.toThrow('exit code 1');
  });
});
