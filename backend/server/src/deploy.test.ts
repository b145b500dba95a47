import { nfInstances, type Problem } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KEYS } from './platform/redis-keys.js';
import { IDS_CHAIN, monitorChain, RACK } from './testing/fixtures.js';
import { loseAnswers } from './testing/lost-answers.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
});
afterEach(() => server.stop());

describe('a deployment', () => {
  it('updates nodes before the fabric and ends with everything running', async () => {
    const { id } = await server.api.call('createChain', { body: IDS_CHAIN });
    const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
    expect(accepted.state).toBe('PROCESSING');
    const done = await server.finished(accepted.id);
    expect(done).toMatchObject({ state: 'COMPLETED', error: null, subject: id });
    expect(new Set(done.steps.map(({ state }) => state))).toEqual(new Set(['done']));
    const prepared = done.steps.filter(({ kind }) => kind === 'prepare-node').map(({ ended_ms }) => ended_ms!);
    const steered = done.steps.find(({ kind }) => kind === 'steer-fabric')!;
    expect(Math.max(...prepared)).toBeLessThanOrEqual(steered.started_ms!);

    expect(await server.api.call('getChain', { params: { id } })).toMatchObject({
      deployment_state: 'running',
      deployed_version: 1,
    });
    const instances = await server.api.call('listNfInstances');
    expect(instances.items.map(({ state }) => state)).toEqual(instances.items.map(() => 'running'));
    expect(instances.total).toBeGreaterThan(3);
    expect(server.steered).not.toEqual([]);
  });

  it('that Redis stored is carried out even if the reply was lost', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    let isFirst = true;
    const answers = loseAnswers(server.running.store, () => {
      const isLost = isFirst;
      isFirst = false;
      return isLost;
    });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ chain_id: id }) });
    expect(answer.status).toBe(503);
    const isRunning = async () =>
      (await server.api.call('getChain', { params: { id } })).deployment_state === 'running';
    await until('it runs', isRunning);
    expect(answers.lost).toBe(1);
    const [operation] = (await server.api.call('listOperations')).items;
    expect(operation).toMatchObject({ subject: id, state: 'COMPLETED' });
  });

  it('is carried out without any reply to its writes, each phase once and nodes before the fabric', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const agents = [...server.agents.values()];
    for (const agent of agents) agent.hold = true;
    const { store } = server.running;
    let unreadable = 0;
    const json = store.json.bind(store);
    vi.spyOn(store, 'json').mockImplementation((key) => {
      if (key !== KEYS.desired || unreadable === 0) return json(key);
      unreadable--;
      return Promise.reject(new Error('Connection is closed.'));
    });
    const answers = loseAnswers(store, () => {
      // Nor can the outcome be read immediately.
      unreadable = 1;
      return true;
    });
    const body = JSON.stringify({ chain_id: id });
    expect((await server.api.request('createDeployment', { body })).status).toBe(503);
    const host = await until('a node is told', () => agents.find(({ spec }) => (spec?.exits.length ?? 0) > 0));
    expect(server.steered).toEqual([]);
    for (const agent of agents) {
      agent.hold = false;
      agent.reach();
    }
    const [operation] = (await server.api.call('listOperations')).items;
    expect(await server.finished(operation!.id)).toMatchObject({ subject: id, state: 'COMPLETED' });
    expect(server.steered).not.toEqual([]);
    host.sample(0);
    const isNoted = async () => {
      host.sample(100);
      return (await server.operation(operation!.id)).first_packet_ms !== null;
    };
    await until('the first packet is noted', isNoted);
    expect((await server.operation(operation!.id)).state).toBe('COMPLETED');
    const { items } = await server.api.call('listEvents', { query: { subject: operation!.id, limit: 1000 } });
    const told = items
      .map(({ type, data }) => `${type} ${'phase' in data ? data.phase : ''}`)
      .filter((it) => !it.includes('waiting'));
    expect(told).toEqual([...new Set(told)]);
    expect(told).toContain('operation.completed ');
    expect(answers.lost).toBeGreaterThan(4);
  });

  it('is refused, naming the field, if its plan was made for another state', async () => {
    const a = await server.api.call('createChain', { body: monitorChain('a') });
    const b = await server.api.call('createChain', { body: monitorChain('b', 'client-2') });
    const stale = await server.api.call('createPlan', { body: { chains: [{ chain_id: b.id }] } });
    await server.api.call('createDeployment', { body: { chain_id: a.id } });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: stale.id }) });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ errors: [{ pointer: '/plan_id', code: 'stale-plan' }] });
  });

  it('of a planned draft publishes exactly what was planned', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    expect(plan.chains).toMatchObject([{ chain_id: id, version: 0 }]);
    const { id: operation } = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    await server.finished(operation);
    expect(await server.api.call('getDeployment', { params: { chain_id: id } })).toMatchObject({
      version: 1,
      plan_id: plan.id,
      state: 'running',
    });
  });

  it('of a draft that has changed since planning is refused', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    await server.api.call('putChain', { params: { id }, body: { ...monitorChain('a'), title: 'Other' } });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: plan.id }) });
    expect(answer.status).toBe(409);
    expect((await server.api.call('listDeployments')).total).toBe(0);
  });

  it('waits for its turn and is then recorded, although the previous operation does not include it', async () => {
    for (const agent of server.agents.values()) agent.hold = true;
    const a = await server.api.call('createChain', { body: monitorChain('a') });
    const b = await server.api.call('createChain', { body: monitorChain('b', 'client-2') });
    const deploy = (id: string) => server.api.call('createDeployment', { body: { chain_id: id } });
    const first = await deploy(a.id);
    const second = await deploy(b.id);
    await server.api.call('putChain', { params: { id: a.id }, body: { ...monitorChain('a'), title: 'Newer' } });
    const third = await deploy(a.id);
    const states: string[][] = [];
    for (const operation of [first, second, third]) {
      for (const agent of server.agents.values()) agent.reach();
      if (operation === third) for (const agent of server.agents.values()) agent.hold = false;
      await until('its end', async () => {
        for (const agent of server.agents.values()) agent.reach();
        return (await server.operation(operation.id)).state === 'COMPLETED';
      });
      const { items } = await server.api.call('listDeployments');
      states.push(items.map(({ chain_id, version }) => `${chain_id === a.id ? 'a' : 'b'}${version}`).sort());
    }
    expect(states).toEqual([
      ['a2', 'b1'],
      ['a2', 'b1'],
      ['a2', 'b1'],
    ]);
    const { items } = await server.api.call('listDeployments');
    expect(items.map(({ state }) => state)).toEqual(['running', 'running']);
    const events = (await server.api.call('listEvents', { query: { limit: 1000 } })).items;
    expect(events.filter(({ type }) => type === 'deployment.removed')).toEqual([]);
    expect(events.filter(({ type }) => type === 'deployment.running').map(({ message }) => message)).toEqual([
      'Version 1 runs',
      'Version 2 runs',
    ]);
  });

  it('that is refused publishes nothing', async () => {
    const huge = { ...monitorChain('a'), traffic_class: { ...monitorChain('a').traffic_class, rate_bps: 9e12 } };
    const { id } = await server.api.call('createChain', { body: huge });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ chain_id: id }) });
    expect(answer.status).toBe(422);
    expect((await server.api.call('getChain', { params: { id } })).versions).toEqual([]);
  });

  it('of a draft requires the role designer; of a version, operator', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const operator = await server.session('operator');
    const refused = await operator.request('createDeployment', { body: JSON.stringify({ chain_id: id }) });
    expect(refused.status).toBe(403);
    await server.api.call('publishChain', { params: { id }, body: { note: '' } });
    await server.finished((await operator.call('createDeployment', { body: { chain_id: id } })).id);
  });

  it('of a plan with a chain that has been deleted since is refused', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    await server.api.call('publishChain', { params: { id }, body: { note: '' } });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id, version: 1 }] } });
    await server.api.call('deleteChain', { params: { id } });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: plan.id }) });
    expect(answer.status).toBe(404);
    expect((await server.api.call('listOperations')).total).toBe(0);
  });

  it('leaves other chains at their running versions, whatever their drafts contain', async () => {
    const a = await server.api.call('createChain', { body: monitorChain('a') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: a.id }] } });
    await server.finished((await server.api.call('createDeployment', { body: { plan_id: plan.id } })).id);
    await server.api.call('putChain', { params: { id: a.id }, body: { ...monitorChain('a'), title: 'Newer' } });
    const b = await server.api.call('createChain', { body: monitorChain('b', 'client-2') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: b.id } })).id);
    expect(await server.api.call('getChain', { params: { id: a.id } })).toMatchObject({
      deployed_version: 1,
      deployment_state: 'running',
      draft_differs: true,
    });
  });

  it('blocks removal of its traffic hosts, and is degraded while the switches cannot steer it', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    const hosts = RACK.hosts.filter((host) => host.id !== 'client-1');
    const links = RACK.links.filter(({ a, b }) => a.node !== 'client-1' && b.node !== 'client-1');
    const answer = await server.api.request('putInfrastructure', { body: JSON.stringify({ ...RACK, hosts, links }) });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ errors: [{ pointer: '/hosts', code: 'in-use' }] });
    const stateIs = (wanted: string) =>
      until(wanted, async () => (await server.api.call('getChain', { params: { id } })).deployment_state === wanted);
    const [leaf] = server.switches.values();
    leaf!.trouble = 'the switch has no port p1';
    leaf!.reach();
    await stateIs('degraded');
    leaf!.trouble = null;
    leaf!.reach();
    await stateIs('running');
  });

  it('onto a server that has been removed since planning is refused', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    const used = nfInstances(plan.graph)[0]!.server;
    const servers = RACK.servers.filter((node) => node.id !== used);
    const links = RACK.links.filter(({ a, b }) => a.node !== used && b.node !== used);
    await server.api.call('putInfrastructure', { body: { ...RACK, servers, links } });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: plan.id }) });
    expect([answer.status, (answer.body as Problem).detail]).toEqual([409, expect.stringContaining(used)]);
  });

  it('waits as FAILED_TEMP for a node that does not converge, and continues when it does', async () => {
    for (const agent of server.agents.values()) agent.hold = true;
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const { id: operation } = await server.api.call('createDeployment', { body: { chain_id: id } });
    const waiting = await until('the operation waits', async () => {
      const now = await server.operation(operation);
      return now.state === 'FAILED_TEMP' && now;
    });
    expect(waiting.error!.detail).toMatch(/server-\d: is at generation 0 of \d/);
    expect(server.steered).toEqual([]);
    for (const agent of server.agents.values()) agent.reach();
    expect((await server.finished(operation)).state).toBe('COMPLETED');
  });

  it('that cannot complete is superseded by the next', async () => {
    for (const agent of server.agents.values()) agent.hold = true;
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    const stuck = await server.api.call('createDeployment', { body: { chain_id: id } });
    await until('the operation waits', async () => (await server.operation(stuck.id)).state === 'FAILED_TEMP');
    for (const agent of server.agents.values()) agent.hold = false;
    const removal = await server.api.call('deleteDeployment', { params: { chain_id: id } });
    expect((await server.finished(stuck.id)).state).toBe('FAILED');
    expect((await server.finished(removal.id)).state).toBe('COMPLETED');
    expect((await server.api.call('listDeployments')).total).toBe(0);
    for (const agent of server.agents.values()) expect(agent.spec?.instances ?? []).toEqual([]);
  });

  it('never removes what traffic is still steered to when a chain changes', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    const host = [...server.agents.values()].find(({ spec }) => (spec?.instances.length ?? 0) > 0)!;
    const seenBefore = host.told.length;
    const longer = monitorChain('a');
    longer.nodes.push({ id: 'firewall', kind: 'nf', nf: 'firewall', config: {} });
    longer.edges = [
      { id: 'e1', from: 'in', to: 'firewall', filter: [] },
      { id: 'e2', from: 'firewall', to: 'monitor', filter: [] },
      { id: 'e3', from: 'monitor', to: 'out', filter: [] },
    ];
    await server.api.call('putChain', { params: { id }, body: longer });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    for (const spec of host.told.slice(seenBefore))
      expect(spec.instances.map((instance) => instance.id)).toContain('a.monitor.0');
    const [last] = (await server.api.call('listOperations')).items;
    expect(last!.steps.every(({ state }) => state === 'done')).toBe(true);
  });

  it('is degraded while an agent is away and recovers when it returns', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    const host = [...server.agents.values()].find(({ spec }) => (spec?.instances.length ?? 0) > 0)!;
    const stateOf = async () => (await server.api.call('getDeployment', { params: { chain_id: id } })).state;
    await host.kill();
    await until('the deployment is degraded', async () => (await stateOf()) === 'degraded');
    const [instance] = (await server.api.call('listNfInstances', { query: { server: host.node } })).items;
    expect(instance).toMatchObject({ state: 'unknown', detail: 'its agent is not connected' });
    await host.connect();
    await until('the deployment runs again', async () => (await stateOf()) === 'running');
    const types = (await server.api.call('listEvents', { query: { subject: id } })).items.map(({ type }) => type);
    expect(types.filter((type) => type.startsWith('deployment.'))).toEqual([
      'deployment.running',
      'deployment.degraded',
      'deployment.recovered',
    ]);
  });

  it('records the first packet, evaluates objectives and forwards calls to the agent', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('a', 'client-1', 1000) });
    const { id: operation } = await server.api.call('createDeployment', { body: { chain_id: id } });
    await server.finished(operation);
    const host = [...server.agents.values()].find(({ spec }) => (spec?.exits.length ?? 0) > 0)!;
    host.sample(0);
    host.sample(100, 160);
    await until('the first packet is noted', async () => (await server.operation(operation)).first_packet_ms !== null);
    const status = await until('the objective is measured', async () => {
      const [slo] = (await server.api.call('listSlos')).items;
      return slo?.measured != null && slo;
    });
    expect(status).toMatchObject({ state: 'met', packets: 100, unit: 'us', target: 1000 });
    expect(status.measured).toBeCloseTo(8.704, 3);
    expect(status.predicted).toBeGreaterThan(0);

    host.sample(1000, 400);
    await until(
      'the objective is violated',
      async () => (await server.api.call('listSlos')).items[0]!.state === 'violated',
    );
    const [instance] = (await server.api.call('listNfInstances')).items;
    const dump = await server.api.call('getNfInstanceState', { params: { id: instance!.id } });
    expect(dump).toEqual({ instance_id: instance!.id, figures: null, state: { of: instance!.id } });
    const counters = await server.api.call('listCounters', { query: { chain_id: id } });
    expect(counters.items).toMatchObject([{ instance_id: instance!.id, packets_in: 1100 }]);
    const series = await server.api.call('listSamples', { query: { keys: `instance/${instance!.id}/,node/` } });
    expect(series.items.map(({ key }) => key)).toContain(`instance/${instance!.id}/pps`);

    await host.kill();
    await until('the objective is stale', async () => (await server.api.call('listSlos')).items[0]!.state === 'stale');
    await until('its counters are gone', async () => (await server.api.call('listCounters')).items.length === 0);
  });
});
