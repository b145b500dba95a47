import type { Problem } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { monitorChain } from './testing/fixtures.js';
import { CLIENT, liveInfrastructure, WEB } from './testing/live-infrastructure.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const missing = siteMissing();

const SITE = liveInfrastructure(['edge-1', 'edge-2'], [CLIENT, WEB]);

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ env: { ORRERY_STEP_TIMEOUT_MS: '8000', ORRERY_AGENT_STALE_MS: '4000' } });
  await server.api.call('putInfrastructure', { body: SITE });
});
afterEach(() => server.stop());

describe('live nodes whose agents are missing', () => {
  it('are named immediately, and nothing waits for them', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ chain_id: id }) });
    expect(answer.status).toBe(409);
    expect((answer.body as Problem).detail).toMatch(/agent of (edge-\d|tor) is not connected/);
    expect((await server.api.call('listOperations')).total).toBe(0);
  });
});

describe.skipIf(missing)(`live servers and a live switch${missing ? ` (${missing})` : ''}`, () => {
  let site: LiveSite;
  const isAnswered = () => site.isAnswered(CLIENT.id, WEB.address);
  beforeEach(async () => {
    site = new LiveSite(SITE, server);
    await site.setUp();
    site.echo(WEB.id);
  });
  afterEach(() => site.tearDown());

  it('run a chain without twind from deployment to removal', async () => {
    await site.enrol();
    await until('hosts reach each other', isAnswered, 30_000);
    expect(site.steering()).toEqual({ flows: 0, packets: 0 });

    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
    const done = await server.finished(accepted.id);
    expect(done, `${done.error?.detail}\n${site.log.slice(-2000)}`).toMatchObject({ state: 'COMPLETED' });
    await until('packets through the chain', isAnswered, 20_000);
    await until('the switch has counted them', () => site.steering().packets >= 3);
    await until('the first packet is noted', async () => {
      // The agent's first set of counters is only the baseline of the next.
      await isAnswered();
      return (await server.operation(accepted.id)).first_packet_ms !== null;
    });
    const plan = await server.api.call('getPlan', { params: { id: done.plan_id! } });
    expect(plan.tables).toMatchObject([{ switch: 'tor', entries: expect.any(Number) }]);

    const removal = await server.api.call('deleteDeployment', { params: { chain_id: id } });
    expect((await server.finished(removal.id)).state).toBe('COMPLETED');
    expect(site.steering().flows).toBe(0);
    expect(isAnswered()).toBe(true);
  });

  const plan = async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    return server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
  };
  const deploy = async ({ id }: { id: string }) => server.api.call('createDeployment', { body: { plan_id: id } });
  const signal = (name: NodeJS.Signals, nodes: string[]) => {
    for (const node of nodes) site.agents.get(node)!.kill(name);
  };
  const servers = SITE.servers.map(({ id }) => id);

  it.each([
    {
      what: 'killed',
      lose: (nodes: string[]) => signal('SIGKILL', nodes),
      regain: (nodes: string[]) => {
        for (const node of nodes) {
          if (node === 'tor') site.startSwitchAgentAgain();
          else site.startServerAgentAgain(node);
        }
      },
    },
    { what: 'suspended', lose: () => undefined, regain: (nodes: string[]) => signal('SIGCONT', nodes) },
  ])('whose agents are $what after a deployment was accepted run it once they are back', async ({ lose, regain }) => {
    await site.enrol();
    for (const lost of [servers, ['tor']]) {
      // Still connected, so the deployment is accepted if it comes soon; but they do nothing any more.
      await site.connected();
      const planned = await plan();
      signal('SIGSTOP', lost);
      const accepted = await deploy(planned);
      lose(lost);
      const waiting = await until(
        'it waits',
        async () => {
          const operation = await server.operation(accepted.id);
          return operation.state === 'FAILED_TEMP' ? operation : null;
        },
        30_000,
      );
      expect(waiting.error?.detail).toMatch(new RegExp(`(${lost.join('|')}): its agent is not connected`));
      regain(lost);
      const done = await server.finished(accepted.id).catch((error: Error) => {
        throw new Error(`${error.message}\n${site.log.slice(-2000)}`);
      });
      expect(done.state).toBe('COMPLETED');
      await until('packets through the chain', isAnswered, 20_000);
      await until('the switch has counted them', () => site.steering().packets >= 3);

      const removal = await server.api.call('deleteDeployment', { params: { chain_id: waiting.subject } });
      expect((await server.finished(removal.id)).state).toBe('COMPLETED');
      await server.api.request('deleteChain', { params: { id: waiting.subject } });
    }
  });

  it('forward packets while all their agents are killed, and are adopted as they are', async () => {
    await site.enrol();
    const accepted = await deploy(await plan());
    expect((await server.finished(accepted.id)).state).toBe('COMPLETED');
    await until('packets through the chain', isAnswered, 20_000);
    const counted = () => site.steering().packets;
    await until('the switch has counted them', () => counted() >= 3);
    const before = counted();
    signal('SIGKILL', [...servers, 'tor']);
    await until('they are missed', async () => {
      const { items } = await server.api.call('listNodes');
      return items.every(({ state }) => state === 'disconnected');
    });
    expect(isAnswered()).toBe(true);
    await until('the switch has counted more', () => counted() >= before + 3);
    for (const id of servers) site.startServerAgentAgain(id);
    site.startSwitchAgentAgain();
    await site.connected();
    expect(isAnswered()).toBe(true);
    await until('the switch goes on counting', () => counted() >= before + 6);
  });
});
