import { linkDownTrouble } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { FakeSwitch } from '../../testing/fake-switch.js';
import { monitorChain, RACK, withSwitches } from '../../testing/fixtures.js';
import { TestServer } from '../../testing/server.js';
import { until } from '../../testing/wait.js';

const PACKETS_PER_S = 50;

/**
 * Reports what the switch classified and the share that `arrives` from the engines, as often as the agents do. A report
 * counts the packets since the one before, however late it is: on a busy machine timers of 200 ms miss turns.
 */
function traffic(server: TestServer, leaf: FakeSwitch) {
  const state = { sent: true, arrives: 1 };
  const sinceLast = () => {
    let counted_ms = performance.now();
    return (rate_pps: number) => {
      const packets = Math.floor(((performance.now() - counted_ms) / 1000) * rate_pps);
      if (rate_pps === 0) counted_ms = performance.now();
      else counted_ms += (packets / rate_pps) * 1000;
      return packets;
    };
  };
  const [classified, processed] = [sinceLast(), sinceLast()];
  let packets = 0;
  const timers = [
    setInterval(() => {
      packets += classified(state.sent ? PACKETS_PER_S : 0);
      const samples = {
        t_ms: Date.now(),
        interval_ms: 1000,
        lost: 0,
        generation: leaf.spec!.generation,
        entries: [],
        rules: leaf.rules.map((rule_id) => ({ rule_id, packets, bytes: 100 * packets })),
        splits: [],
      };
      leaf.send({ type: 'switch-samples', samples });
    }, 1000),
    setInterval(() => {
      const arrived = processed(state.sent ? state.arrives * PACKETS_PER_S : 0);
      for (const agent of server.agents.values()) agent.sample(arrived);
    }, 200),
  ];
  onTestFinished(() => timers.forEach(clearInterval));
  return state;
}

it('a chain that loses every packet is degraded, and its objectives are violated, until packets arrive', async () => {
  const server = await TestServer.start({ twin: true });
  onTestFinished(() => server.stop());
  await server.bringUp();
  const { id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') });
  const { id } = await server.api.call('createDeployment', { body: { chain_id } });
  await server.finished(id);
  const state = traffic(server, server.switches.values().next().value!);
  const deployment = () => server.api.call('getDeployment', { params: { chain_id } });
  const objective = async () => (await server.api.call('listSlos', { query: { chain_id } })).items[0];
  await until('its objective is met', async () => (await objective())?.state === 'met');

  state.arrives = 0;
  await until('it is degraded', async () => (await deployment()).state === 'degraded');
  await until('its objective is violated', async () => (await objective())?.state === 'violated');
  expect(await objective()).toMatchObject({ measured: null });
  const alerts = async () => (await server.api.call('listSloAlerts', { query: { chain_id } })).items;
  await until('its budget burns too fast', async () => (await alerts()).length > 0);
  expect(await alerts()).toMatchObject([
    {
      rule: { long_s: 60, short_s: 10 },
      state: 'open',
      cause: { kind: 'operation', id },
      place: { nf: null, what: expect.stringMatching(/^no packet from the switch arrives at/) },
    },
  ]);
  const { budget } = (await objective())!;
  expect(budget).toMatchObject({ goal: 0.99, period_s: 2_592_000 });
  expect(budget!.good_s + budget!.bad_s).toBeGreaterThan(9);
  const { items } = await server.api.call('listEvents', { query: { subject: chain_id, type: 'deployment.degraded' } });
  expect(items.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^no packet from the switch arrives at a\.monitor\.0 \(server-\d\)$/),
  ]);

  state.arrives = 1;
  await until('it recovers', async () => (await deployment()).state === 'running');
  await until('its objective is met again', async () => (await objective())?.state === 'met');
  // The deployment's events tell it, once.
  const { items: all } = await server.api.call('listEvents', { query: { subject: chain_id, limit: 1000 } });
  expect(all.map(({ type }) => type).filter((type) => /degraded|recovered|decided/.test(type))).toEqual([
    'deployment.degraded',
    'deployment.recovered',
  ]);
  const { items: loops } = await server.api.call('listLoops');
  expect(loops.find(({ id }) => id === 'data-path')!.last_decision).toMatchObject({ what: 'Packets arrive' });

  state.sent = false;
  await until('nothing is measured', async () => (await objective())?.state === 'no-data');
  expect((await deployment()).state).toBe('running');
});

it('a chain that loses a part of its packets is degraded and says how much, although its objective is met', async () => {
  const server = await TestServer.start({ twin: true });
  onTestFinished(() => server.stop());
  await server.bringUp();
  const { id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') });
  const { id } = await server.api.call('createDeployment', { body: { chain_id } });
  await server.finished(id);
  const state = traffic(server, server.switches.values().next().value!);
  const deployment = () => server.api.call('getDeployment', { params: { chain_id } });
  const objective = async () => (await server.api.call('listSlos', { query: { chain_id } })).items[0];
  await until('its objective is met', async () => (await objective())?.state === 'met');

  state.arrives = 0.5;
  await until('it is degraded', async () => (await deployment()).state === 'degraded', 40_000);
  expect((await deployment()).reason).toMatch(
    /^\d+ % of the packets that enter are lost: between the switch and a\.monitor\.0 \(server-\d\)$/,
  );
  expect(await objective()).toMatchObject({ state: 'met' });

  state.arrives = 1;
  await until('it recovers', async () => (await deployment()).state === 'running', 40_000);
});

it('names the link that is down, and the host that is cut off', async () => {
  const server = await TestServer.start({ twin: true });
  onTestFinished(() => server.stop());
  await server.bringUp();
  const { id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') });
  const { id } = await server.api.call('createDeployment', { body: { chain_id } });
  await server.finished(id);
  const leaf = server.switches.values().next().value!;
  const state = traffic(server, leaf);
  const deployment = () => server.api.call('getDeployment', { params: { chain_id } });
  const { items: instances } = await server.api.call('listNfInstances', { query: { chain_id } });
  const host = monitorChain('a').traffic_class.from[0]!;
  const { links } = await server.api.call('getInfrastructure');
  const report = (...nodes: string[]) => {
    const ports = links.flatMap(({ a, b }) => (nodes.includes(a.node) ? [{ name: b.port, number: 1, up: false }] : []));
    leaf.observed = { ...leaf.observed, ports };
    leaf.reach();
  };
  const becomes = (reason: string | undefined) =>
    until(`the reason ${reason}`, async () => (await deployment()).reason === reason);

  state.arrives = 0;
  report(instances[0]!.server);
  const lost = `link ${instances[0]!.server} - ${leaf.node} is down: this chain loses everything`;
  await becomes(lost);
  expect(await deployment()).toMatchObject({ state: 'degraded' });
  // The agent of the server reports it too: it is told once.
  const agent = server.agents.get(instances[0]!.server)!;
  const nic = links.flatMap(({ a, b }) => [a, b]).find(({ node }) => node === agent.node)!.port;
  agent.report({ ...agent.observed, troubles: [linkDownTrouble(nic), 'no memory'] });
  await becomes(`${lost}; ${agent.node}: no memory`);

  state.arrives = 1;
  agent.report({ ...agent.observed, troubles: [] });
  report();
  await becomes(undefined);
  expect(await deployment()).toMatchObject({ state: 'running' });

  state.sent = false;
  report(host);
  const cut = `link ${host} - ${leaf.node} is down: nothing from ${host} enters this chain`;
  await becomes(cut);
});

const sendsFrom = (edge: FakeSwitch, port: string) =>
  edge.spec!.entries.some(({ actions }) => actions.some((it) => it.do === 'output' && it.port === port));

it('packets go around a link between switches that is down, and use it again when it has been up', async () => {
  const infrastructure = withSwitches('edge', 'spare');
  const server = await TestServer.start({ twin: true });
  onTestFinished(() => server.stop());
  await server.bringUp(infrastructure);
  const { id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') });
  await server.finished((await server.api.call('createDeployment', { body: { chain_id } })).id);
  const edge = server.switches.get('edge')!;
  const [leaf] = RACK.switches;
  const sendsTo = (port: string) => sendsFrom(edge, port);
  const reports = (up: boolean) => {
    edge.observed = { ...edge.observed, ports: [{ name: `to-${leaf!.id}`, number: 1, up }] };
    edge.reach();
  };
  expect([sendsTo(`to-${leaf!.id}`), sendsTo('to-spare')]).toEqual([true, false]);
  reports(false);
  await until('nothing is sent into it', async () => !sendsTo(`to-${leaf!.id}`) && sendsTo('to-spare'));
  expect(edge.spec!.ports.map(({ name }) => name)).toContain(`to-${leaf!.id}`);
  reports(true);
  // Samples and reports let it look again.
  await until(
    'it is used again',
    async () => {
      reports(true);
      return sendsTo(`to-${leaf!.id}`);
    },
    15_000,
  );
});

it('packets go around a switch that is silent and over which none arrives, and use it again when it answers', async () => {
  const server = await TestServer.start({ twin: true });
  onTestFinished(() => server.stop());
  await server.bringUp(withSwitches('edge', 'spine', 'spare'));
  const { id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') });
  await server.finished((await server.api.call('createDeployment', { body: { chain_id } })).id);
  const [edge, spine] = ['edge', 'spine'].map((id) => server.switches.get(id)!);
  const state = traffic(server, edge!);
  const ways = () => ['to-spine', 'to-spare'].filter((port) => sendsFrom(edge!, port));
  const reason = async () => (await server.api.call('getDeployment', { params: { chain_id } })).reason ?? '';
  expect(ways()).toEqual(['to-spine']);
  await spine!.kill();
  await until('it is silent', async () => (await reason()).includes('spine: its agent is not connected'));
  state.arrives = 0;
  await until('packets go around it', () => ways().join() === 'to-spare', 20_000);
  const { items } = await server.api.call('listLoops');
  expect(items.find(({ id }) => id === 'fabric')!.last_decision!.why).toContain(
    '; spine does not answer and passes no packets; packets go around edge-spine, ',
  );
  state.arrives = 1;
  await until('they arrive', async () => !(await reason()).includes('no packet'));
  expect(ways()).toEqual(['to-spare']);
  await spine!.connect();
  await until('it is used again', () => ways().join() === 'to-spine', 15_000);
});
