import { expect, it } from 'vitest';
import type { Config } from '../../platform/config.js';
import { ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Log } from '../../platform/log.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import type { TwinView } from '../../ports/twin-view.js';
import { until } from '../../testing/wait.js';
import { DeploymentHealth } from './deployment-health.js';
import type { DesiredStore } from './desired-store.js';

it('a rejected write is retried once a second, whatever changes, until the server stops', async () => {
  const commitsMs: number[] = [];
  const commit = async () => {
    commitsMs.push(performance.now());
    throw new Error('Connection is closed.');
  };
  let change = () => {};
  const loops = new ControlLoops({ warn: () => undefined, error: () => undefined } as unknown as Log);
  const health = new DeploymentHealth(
    loops,
    { timing: { agentStaleMs: 0 } } as Config,
    {
      commit,
      deployments: () => [{ chain_id: 'p', state: 'running' }],
      desired: { nodes: {} },
      onChange: () => undefined,
    } as unknown as DesiredStore,
    {
      onChange: (listener: () => void) => {
        change = listener;
      },
    } as unknown as NodeFleet,
    { onChange: () => undefined } as unknown as TwinView,
    {
      lackOf: () => null,
      withExceptions: () => new Map(),
      troublesOf: () => [{ what: 'it is away', rebuilt: null }],
      nfState: () => ({ state: 'running', detail: null }),
      onChange: () => undefined,
    },
    { troublesOf: () => [], carriage: () => null, delivers: () => true, onChange: () => undefined },
  );
  health.onApplicationBootstrap();
  const changes = setInterval(() => change(), 10);
  await until('it is told again', () => commitsMs.length >= 3);
  commitsMs.slice(1).forEach((atMs, n) => {
    expect(atMs - commitsMs[n]!).toBeGreaterThan(950);
  });
  await health.onApplicationShutdown();
  const told = commitsMs.length;
  const sinceMs = performance.now();
  await until('it would be told again', () => performance.now() - sinceMs > 1500);
  expect(commitsMs).toHaveLength(told);
  clearInterval(changes);
});
