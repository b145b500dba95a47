import { Infrastructure, ServicePoolDefinition } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const BOARD = {
  id: 'board-1',
  origin: 'twin',
  server: 'server-1',
  device: 'test',
  slots: 2,
  resources: { lut: 10_000, ff: 10_000, 'bram-kib': 500 },
  bandwidth_bps: 1e10,
  latency_us: 1,
};
const SITE = Infrastructure.parse({ ...RACK, boards: [BOARD] });
const POOL = ServicePoolDefinition.parse({
  name: 'pool',
  title: 'Shared NFs',
  hosts: ['client-1'],
  nfs: [{ nf: 'ddos-detector', rate_bps: 100_000_000 }],
});
/** Of a histogram: some milliseconds. */
const SLOW_BUCKET = 300;

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
});
afterEach(() => server.stop());

it('a request whose bound measured software breaks gets an instance in a free slot, and the next ones share it', async () => {
  await server.bringUp(SITE, (agent) => {
    if (agent.node === 'server-1') agent.boards = { 'board-1': 2 };
  });
  await server.api.call('createServicePool', { body: POOL });
  const pool = () => server.api.call('getServicePool', { params: { id: 'pool' } });
  await until('the pool is ready', async () => (await pool()).state === 'ready');
  const spec = (port: number, latency_us: number) => ({
    pool: 'pool',
    from: ['client-1'],
    match: [{ attribute: 'port.dst', op: 'is' as const, value: port }],
    functions: ['ddos-detector'],
    latency_us,
    throughput_bps: 40_000_000,
  });
  const software = (await pool()).instances[0]!;
  expect(software).toMatchObject({ id: 'ddos-detector-1', measured: false });
  await until('the software is measured', async () => {
    server.agents.get(software.place!)!.sample(10, SLOW_BUCKET);
    return (await pool()).instances[0]!.measured;
  });
  server.agents.get(software.place!)!.sample(10, SLOW_BUCKET);
  const board = { params: { id: 'board-1' } };
  await server.api.call('beginMaintenance', { ...board, body: { reason: 'test' } });
  const tried = { body: { requests: [spec(1, 200)], dry_run: true } };
  expect((await server.api.call('createServiceRequests', tried)).results[0]!.why).toMatch(/^The fastest way takes/);
  await server.api.call('endMaintenance', { ...board, body: {} });
  await until('the board is in service', async () => (await server.api.call('listOutOfService')).total === 0);
  server.agents.get(software.place!)!.sample(10, SLOW_BUCKET);
  const first = await server.api.call('createServiceRequest', { body: spec(1, 200) });
  expect(first.why).toBeNull();
  expect(first.way!.stages[0]!.instance).toBe('ddos-detector-board-1-0');
  expect(first.rejected[0]).toMatchObject({ instance: 'ddos-detector-1', constraint: { constraint: 'latency' } });
  const active = (id: string) =>
    until(`${id} is active`, async () => {
      const request = await server.api.call('getServiceRequest', { params: { id } });
      return request.state === 'active' ? request : null;
    });
  await active(first.id);
  const slots = () => server.agents.get('server-1')!.spec!.instances.flatMap(({ board }) => board?.slot ?? []);
  expect(slots()).toEqual([0]);
  const answer = await server.api.call('createServiceRequests', { body: { requests: [spec(2, 200), spec(3, 200)] } });
  // 100 Mbit/s for each instance; the third request needs the other slot, or the software, where that is not measured any more.
  expect(answer.accepted).toBe(2);
  for (const { id } of answer.results) await active(id!);
  const requests = (await server.api.call('listServiceRequests')).items;
  expect(requests.filter(({ way }) => way!.stages[0]!.instance === 'ddos-detector-board-1-0')).toHaveLength(2);
  expect(new Set(requests.map(({ way }) => way!.number)).size).toBe(2);
  // The slot fails: who was there gets another way, and the instance goes back to software.
  const agent = server.agents.get('server-1')!;
  agent.faulty.add('board-1/0');
  agent.reach();
  await until('all are active without the slot', async () => {
    const { items } = await server.api.call('listServiceRequests');
    return items.every(({ state }) => state === 'active') && !slots().includes(0);
  });
  // Told where it runs now.
  const moved = (await pool()).instances.find(({ id }) => id === 'ddos-detector-board-1-0');
  expect(moved).toMatchObject({ on: 'software', slot: null });
});
