import { afterEach, beforeEach, expect, it } from 'vitest';
import { BoardBench, SLOT } from './testing/board-bench.js';
import { until } from './testing/wait.js';

let bench: BoardBench;
beforeEach(async () => {
  bench = await BoardBench.start();
});
afterEach(() => bench.stop());

it('flow state is copied back once, however often the switches are told', async () => {
  const { beta, api, server } = bench;
  const [leaf] = [...server.switches.values()];
  const told = leaf!.told.length;
  leaf!.hold = true;
  const move = { implementations: [{ ...beta, on: 'board', slot: SLOT }] };
  const plan = await api.call('createPlan', { body: move });
  const operation = await api.call('createDeployment', { body: { plan_id: plan.id } });
  await until('traffic is to be steered', () => leaf!.told.length > told);

  const { abilities } = leaf!;
  await leaf!.kill();
  leaf!.abilities = { ...abilities, match: { ...abilities.match, 'eth.dst': { kind: 'exact', negation: false } } };
  await leaf!.connect();
  await until('it waits', async () => (await server.operation(operation.id)).state === 'FAILED_TEMP');
  await api.request('rollbackOperation', { params: { id: operation.id } });
  expect((await server.finished(operation.id)).state).toBe('ROLLED_BACK');
  const decided = await bench.eventsOf('loop.decided');
  expect(decided.filter(({ data }) => data.what === 'Switches are told later').length).toBeGreaterThan(0);
  const calls = [...server.agents.values()].flatMap((agent) => agent.calls);
  const exports = calls.flatMap(({ method, instance_id }) => (method === 'export_state' ? instance_id : []));
  expect(exports.sort()).toEqual(['beta.nf.0', 'beta.nf.board-1-0']);
});
