import { ServicePoolDefinition, type ServiceRequestSpec } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { KilledSite } from './testing/killed-site.js';
import { until } from './testing/wait.js';

let site: KilledSite;
beforeEach(async () => {
  site = await KilledSite.start();
});
afterEach(() => site.stop());

const POOL = ServicePoolDefinition.parse({
  name: 'pool',
  title: 'Shared NFs',
  hosts: ['client-1'],
  nfs: [{ nf: 'monitor', count: 2, rate_bps: 100_000_000 }],
});
const BPS = 1_000_000;
/** Right after it is booked, and while the operation begins. */
const STEPS = [1, 5];

function asked(port: number): ServiceRequestSpec {
  return {
    pool: 'pool',
    from: ['client-1'],
    match: [{ attribute: 'port.dst', op: 'is', value: port }],
    functions: ['monitor'],
    latency_us: 1_000_000,
    throughput_bps: BPS,
  };
}

it('requests that a kill interrupts are booked once, all of a call or none, and come to run', async () => {
  await site.bringUp();
  await site.api.call('createServicePool', { body: POOL });
  const pool = () => site.api.call('getServicePool', { params: { id: 'pool' } });
  await until('the pool is ready', async () => (await pool()).state === 'ready');
  const all = async () => (await site.api.call('listServiceRequests', { query: { limit: 1000 } })).items;
  const isIdle = async () => (await all()).every(({ state }) => state === 'active' || state === 'released');
  let [port, kills] = [1, 0];
  for (const step of STEPS) {
    const before = (await all()).length;
    const requests = [asked(port++), asked(port++), asked(port++)];
    const kill = await site.killedAt(
      { step, when: 'after' },
      (api) => api.request('createServiceRequests', { body: JSON.stringify({ requests }) }),
      isIdle,
    );
    if (kill.reached) kills++;
    await until('every request is active', isIdle);
    const after = await all();
    expect([0, requests.length], `step ${step}`).toContain(after.length - before);
    if (kill.answer?.status === 201) expect(after.length - before).toBe(requests.length);
    const { instances } = await pool();
    expect(instances.reduce((sum, it) => sum + it.booked_bps, 0)).toBe(BPS * after.length);
    const rules = site.switches[0]!.rules.filter((id) => id.startsWith('classify/pool.'));
    expect(rules.sort()).toEqual(after.map(({ id, way }) => `classify/pool.w${way!.number}-1.${id}`).sort());
    expect(site.contradictions).toEqual([]);
  }
  expect(kills).toBe(STEPS.length);
  // Agents that have not connected yet after a start are no failure.
  const told = await site.api.call('listEvents', { query: { type: 'service-request.broken' } });
  expect(told.items).toEqual([]);
});
