import type { Observed } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../../testing/fake-agent.js';
import { monitorChain, RACK } from '../../testing/fixtures.js';
import { TestServer } from '../../testing/server.js';
import { until } from '../../testing/wait.js';

/** Longer than a test: no step times out and no agent becomes stale. */
const PATIENT = { twin: true, env: { ORRERY_STEP_TIMEOUT_MS: '60000', ORRERY_AGENT_STALE_MS: '60000' } };

/** All chains share one server. */
const [ONLY, ...OTHERS] = RACK.servers;
const isOther = (node: string) => OTHERS.some(({ id }) => id === node);
const LINKS = RACK.links.filter(({ a, b }) => !isOther(a.node) && !isOther(b.node));

let server: TestServer;
let host: FakeAgent;
let chain_id: string;

async function start(options: Parameters<typeof TestServer.start>[0]): Promise<void> {
  server = await TestServer.start(options);
  await server.bringUp({ ...RACK, servers: [ONLY!], links: LINKS });
  chain_id = await deploy(monitorChain('a'));
  host = server.agents.get(ONLY!.id)!;
}
afterEach(() => server.stop());

async function deploy(body: ReturnType<typeof monitorChain>): Promise<string> {
  const { id } = await server.api.call('createChain', { body });
  await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
  return id;
}

const stateOf = async () => (await server.api.call('getDeployment', { params: { chain_id } })).state;
const becomes = (wanted: string) => until(wanted, async () => (await stateOf()) === wanted);

type InstanceState = Observed['instances'][number]['state'];

/** Reports without having converged, then sends an event that the server logs after the report. */
async function report(step: string, state: InstanceState, seen: Partial<Observed> = {}): Promise<void> {
  const instances = host.spec!.instances.map(({ id }) => ({ id, state, detail: null }));
  host.report({ ...host.observed, state: 'progressing', instances, ...seen });
  await tell(step);
}

async function tell(step: string): Promise<void> {
  const about = { subject: host.node, message: step, data: {} } as const;
  host.send({ type: 'event', event: `test.${step}`, t_ms: Date.now(), ...about });
  await until(step, async () => (await told()).includes(`test.${step}`));
}

/** Events of the deployment, but for changes of the reason, and of `tell`, in order. */
async function told(): Promise<string[]> {
  const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
  return items
    .filter(({ type }) => type !== 'deployment.reason-changed')
    .filter(({ type, subject }) => type === 'node.event' || (type.startsWith('deployment.') && subject === chain_id))
    .map((event) => (event.type === 'node.event' ? event.data.event : event.type));
}

describe('a deployment that runs', () => {
  beforeEach(() => start({ twin: true }));

  it('whose engine is killed recovers only when its instances run and the node has converged', async () => {
    await report('killed', 'failed', { engine: 'failed' });
    await becomes('degraded');
    await report('starting', 'pending', { engine: 'starting' });
    await report('started', 'pending', { engine: 'running' });
    await report('wired', 'running');
    expect(await stateOf()).toBe('degraded');
    host.reach();
    await becomes('running');
    expect((await told()).filter((type) => type !== 'test.killed')).toEqual([
      'deployment.running',
      'deployment.degraded',
      'test.starting',
      'test.started',
      'test.wired',
      'deployment.recovered',
    ]);
  });

  it.each([
    [{ engine: 'unresponsive' as const }, 'its engine does not answer'],
    [{ troubles: ['nic0: its link is down'] }, 'nic0: its link is down'],
  ])('is degraded although its instances run: %j', async (seen, what) => {
    host.report({ ...host.observed, ...seen });
    await becomes('degraded');
    const { items } = await server.api.call('listEvents', {
      query: { subject: chain_id, type: 'deployment.degraded' },
    });
    expect(items.map(({ message }) => message)).toEqual([`${host.node}: ${what}`]);
    host.report({ ...host.observed, engine: 'running', troubles: [] });
    await becomes('running');
  });

  it('tells when it is degraded for another reason', async () => {
    host.report({ ...host.observed, troubles: ['nic0: its link is down'] });
    await becomes('degraded');
    host.report({ ...host.observed, troubles: ['nic0: its link is down', 'no memory'] });
    const event = await until('the other reason is told', async () => {
      const query = { subject: chain_id, type: 'deployment.reason-changed' } as const;
      return (await server.api.call('listEvents', { query })).items[0];
    });
    expect(event.message).toBe(`${host.node}: nic0: its link is down; ${host.node}: no memory`);
    expect(await server.api.call('getDeployment', { params: { chain_id } })).toMatchObject({ reason: event.message });
  });

  it('tells other reasons every five seconds at most, and the last one in the end', async () => {
    const times: number[] = [];
    const reasons = async () => {
      const query = { subject: chain_id, type: 'deployment.reason-changed', limit: 1000 } as const;
      return (await server.api.call('listEvents', { query })).items;
    };
    host.report({ ...host.observed, troubles: ['no memory'] });
    await becomes('degraded');
    for (let n = 0; n < 30; n++) await report(`change-${n}`, 'running', { troubles: [`trouble ${n}`] });
    const last = `${host.node}: trouble 29`;
    await until('the last reason', async () => {
      const { reason } = await server.api.call('getDeployment', { params: { chain_id } });
      return reason === last;
    });
    const events = await reasons();
    times.push(...events.map(({ t_ms }) => t_ms).sort((a, b) => a - b));
    expect(events.map(({ message }) => message)).toContain(last);
    // Their times are of the wall clock, those between them of another one.
    times.slice(1).forEach((atMs, n) => {
      expect(atMs - times[n]!).toBeGreaterThan(4900);
    });
    host.reach();
    await becomes('running');
  });

  it.each(['pending', 'starting', 'stopping'] as const)('is degraded while an instance is %s', async (state) => {
    await report('changed', state);
    await becomes('degraded');
    const { items } = await server.api.call('listEvents', {
      query: { subject: chain_id, type: 'deployment.degraded' },
    });
    expect(items.map(({ message }) => message)).toEqual([`a.monitor.0: ${state}`]);
    host.reach();
    await becomes('running');
  });

  it('is degraded while its server does not report an instance, or has not converged', async () => {
    await report('emptied', 'running', { instances: [] });
    await becomes('degraded');
    host.reach();
    await becomes('running');
    await report('fallen-back', 'running', { state: 'converged', generation: 0 });
    await becomes('degraded');
    host.reach();
    await becomes('running');
  });
});

it('does not recover by the last report of an agent that has ended', async () => {
  await start({ twin: true });
  const [leaf] = [...server.switches.values()];
  const instance = host.spec!.instances[0]!;
  leaf!.trouble = 'the switch has no port p1';
  leaf!.reach();
  await becomes('degraded');
  await host.kill();
  await until('its end is known', async () => {
    const { status } = await server.api.request('getNfInstanceState', { params: { id: instance.id } });
    return status === 502;
  });
  leaf!.trouble = null;
  leaf!.reach();
  host.hold = true;
  const instances = [{ id: instance.id, state: 'starting' as const, detail: null }];
  host.observed = { ...host.observed, state: 'progressing', instances };
  await host.connect();
  await report('wired', 'running');
  host.reach();
  await becomes('running');
  expect(await told()).toEqual(['deployment.running', 'deployment.degraded', 'test.wired', 'deployment.recovered']);
});

it('is degraded if its agent connects anew and does not report', async () => {
  await start({ twin: true, env: { ORRERY_AGENT_STALE_MS: '1000' } });
  await host.kill();
  host.tellsInHello = false;
  host.hold = true;
  await host.connect();
  await until('it is found', async () => {
    const { state, reason } = await server.api.call('getDeployment', { params: { chain_id } });
    return state === 'degraded' && reason === `${host.node}: its agent has not reported yet`;
  });
  host.reach();
  await becomes('running');
});

describe('an operation that changes the server of a deployment', () => {
  /** An operation of another chain that is waiting for the same server. */
  async function changeUnderWay(): Promise<string> {
    host.hold = true;
    const { id } = await server.api.call('createChain', { body: monitorChain('b', 'client-2') });
    const operation = await server.api.call('createDeployment', { body: { chain_id: id } });
    await until('its server is told', () => host.spec!.instances.length === 2);
    return operation.id;
  }

  async function finish(operation: string): Promise<void> {
    host.hold = false;
    host.reach();
    await server.finished(operation);
  }

  it('does not degrade it', async () => {
    await start(PATIENT);
    const operation = await changeUnderWay();
    await report('rewired', 'pending');
    expect(await stateOf()).toBe('running');
    await finish(operation);
    await tell('over');
    expect(await told()).toEqual(['deployment.running', 'test.rewired', 'test.over']);
  });

  it('does not make it recover before it is healthy', async () => {
    await start(PATIENT);
    await report('stopped', 'pending');
    await becomes('degraded');
    const operation = await changeUnderWay();
    await report('rewired', 'starting');
    expect(await stateOf()).toBe('degraded');
    await finish(operation);
    await becomes('running');
    const types = await told();
    expect(types.indexOf('deployment.recovered')).toBeGreaterThan(types.indexOf('test.rewired'));
  });

  it('hides a failed instance no longer than the step time-out', async () => {
    await start({ twin: true });
    const operation = await changeUnderWay();
    await until('it waits', async () => (await server.operation(operation)).state === 'FAILED_TEMP');
    const instances = host.spec!.instances.map(({ id }) => ({ id, detail: null, state: 'pending' as InstanceState }));
    instances[host.spec!.instances.findIndex((it) => it.chain_id === chain_id)]!.state = 'running';
    await report('loaded', 'pending', { instances });
    expect(await stateOf()).toBe('running');
    await report('stopped', 'pending');
    await becomes('degraded');
    await finish(operation);
    await becomes('running');
  });
});

it('at start the server waits for agents, but reports failures of connected ones immediately', async () => {
  await start(PATIENT);
  const { credential, node, observed } = host;
  await server.pause();
  server = await TestServer.start(PATIENT, server.scratch);
  expect(await stateOf()).toBe('running');
  host = new FakeAgent(server.running.url, node, null);
  host.credential = credential;
  host.hold = true;
  const instances = observed.instances.map((instance) => ({ ...instance, state: 'starting' as const }));
  host.observed = { ...observed, state: 'progressing', generation: 0, instances };
  await host.connect();
  server.agents.set(node, host);
  await becomes('degraded');
});
