import type { ImplementationChoice, Plan } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeAgent } from './testing/fake-agent.js';
import { monitorChain } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
let docker: FakeAgent;
let pipeline_id: string;

beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
  docker = server.agents.get('server-2')!;
  ({ id: pipeline_id } = await server.api.call('createPipeline', { body: monitorChain('a') }));
  await server.finished((await server.api.call('createDeployment', { body: { pipeline_id } })).id);
  await reconnect(['engine', 'container']);
});
afterEach(() => server.stop());

/** The agent comes back with what it offers by then. */
async function reconnect(drivers: string[]): Promise<void> {
  await docker.kill();
  docker.drivers = drivers;
  await docker.connect();
}

const monitor = (on: ImplementationChoice['on'], more: Partial<ImplementationChoice> = {}) => ({
  pipeline_id,
  node_id: 'monitor',
  on,
  ...more,
});
const planned = (...implementations: ReturnType<typeof monitor>[]): Promise<Plan> =>
  server.api.call('createPlan', { body: { implementations } });
const deployed = async (plan: Plan) =>
  server.finished((await server.api.call('createDeployment', { body: { plan_id: plan.id } })).id);
const placesOf = ({ instances }: Plan) => instances.map(({ id, driver, server: at }) => `${id} (${driver}) on ${at}`);

describe('an NF in a container', () => {
  it('is planned on a server whose agent offers containers, deployed there, and takes its flows along', async () => {
    const plan = await planned(monitor('container'));
    expect(placesOf(plan)).toEqual(['a.monitor.container-0 (container) on server-2']);
    expect(await deployed(plan)).toMatchObject({ state: 'COMPLETED' });
    expect(docker.spec!.instances).toMatchObject([{ id: 'a.monitor.container-0', driver: 'container' }]);
    const calls = [...server.agents.values()].flatMap((agent) => agent.calls);
    expect(calls.map(({ method, instance_id }) => `${method} ${instance_id}`)).toContain('export_state a.monitor.0');
    expect(placesOf(await planned())).toEqual(placesOf(plan));
  });

  it('goes back to software when its agent offers no containers any more', async () => {
    await deployed(await planned(monitor('container')));
    await reconnect(['engine']);
    const back = await planned();
    expect(back).toMatchObject({ abandoned: ['a.monitor.container-0'], instances: [{ driver: 'engine' }] });
    expect(await deployed(back)).toMatchObject({ state: 'COMPLETED' });
    const told = [...server.agents.values()].flatMap(({ spec }) => spec?.instances ?? []);
    expect(told.map(({ id }) => id)).toEqual(['a.monitor.0']);
  });

  it('is among the capabilities of every server, with the reason where there is none', async () => {
    const { items } = await server.api.call('listCapabilities');
    const told = items.filter(({ id }) => id === 'containers');
    expect(told.find(({ where }) => where === 'server-2')).toMatchObject({ available: true, detail: 'Docker 27.0' });
    expect(told.find(({ where }) => where === 'server-1')).toMatchObject({
      available: false,
      detail: 'Docker does not answer',
      fallback: expect.any(String),
    });
  });

  it('is refused with the field where nobody offers one, and a slot is for boards only', async () => {
    const slotted = await planned(monitor('container', { slot: { board: 'board-1', slot: 0 } }));
    expect(slotted.problems).toMatchObject([{ code: 'bad-implementation', pointer: '/implementations/0/slot' }]);
    await reconnect(['engine']);
    const refused = await planned(monitor('container'));
    expect(refused).toMatchObject({ feasible: false, problems: [{ pointer: '/implementations/0/on' }] });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: refused.id }) });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/implementations/0/on' }] } });
  });
});
