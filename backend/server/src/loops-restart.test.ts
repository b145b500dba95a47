import type { ApplicationsSpec, Infrastructure, Operation } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KillStep } from './testing/child-server.js';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { type Kill, KilledSite } from './testing/killed-site.js';
import { until } from './testing/wait.js';

let site: KilledSite;
beforeEach(async () => {
  site = await KilledSite.start();
});
afterEach(() => site.stop());

const WHEN = ['before', 'after'] as const;
const json = JSON.stringify;

/** Calls `attempt` with a kill at each step of what it does, until one is not reached any more; returns how many were. */
async function atEachStep(when: KillStep['when'], attempt: (point: KillStep) => Promise<Kill>): Promise<number> {
  for (let step = 1; ; step++) {
    const { answer, reached } = await attempt({ step, when });
    if (!reached) expect(answer!.status).toBeLessThan(300);
    expect(site.contradictions, `${when} step ${step}`).toEqual([]);
    if (!reached) return step - 1;
  }
}

describe('a deployment that kills of the server interrupt', () => {
  const operations = async (): Promise<Operation[]> =>
    (await site.api.call('listOperations', { query: { limit: 1000 } })).items;
  const isIdle = async () => (await operations()).every(({ state }) => state === 'COMPLETED');

  it.each(WHEN)('%s any step ends once, completely, in both directions', async (when) => {
    await site.bringUp();
    const { id } = await site.api.call('createChain', { body: monitorChain('a') });
    const change = (to: 'running' | 'none') => (api: KilledSite['api']) =>
      to === 'running'
        ? api.request('createDeployment', { body: json({ chain_id: id }) })
        : api.request('deleteDeployment', { params: { chain_id: id } });
    const stateNow = async () => (await site.api.call('getChain', { params: { id } })).deployment_state;
    const expectInstalled = async (to: 'running' | 'none') => {
      expect(await stateNow()).toBe(to);
      const { items: instances } = await site.api.call('listNfInstances');
      expect(instances.map(({ state }) => state)).toEqual(to === 'running' ? ['running'] : []);
      const told = site.agents.flatMap(({ spec }) => spec?.instances ?? []);
      expect(told.map((instance) => instance.id)).toEqual(instances.map((instance) => instance.id));
      expect(site.switches[0]!.rules.length > 0).toBe(to === 'running');
    };
    for (const [from, to] of [['none', 'running'] as const, ['running', 'none'] as const]) {
      const steps = await atEachStep(when, async (point) => {
        const known = new Set((await operations()).map((operation) => operation.id));
        const kill = await site.killedAt(point, change(to), isIdle);
        await until('every operation ends', isIdle);
        const made = (await operations()).filter((operation) => !known.has(operation.id));
        expect(made.length, `step ${point.step}`).toBeLessThanOrEqual(1);
        if (kill.answer?.status === 202) expect(made).toHaveLength(1);
        await expectInstalled(made.length === 1 ? to : from);
        const [operation] = made;
        if (!operation) return kill;
        const events = await site.eventsOf('');
        const told = events.filter(({ subject }) => subject === operation.id).map(({ type }) => type);
        for (const type of ['operation.started', 'operation.completed'])
          expect(told.filter((each) => each === type)).toHaveLength(1);
        const phases = eventsOf(events, 'operation.step')
          .filter(({ subject }) => subject === operation.id)
          .map(({ data }) => data.phase);
        expect(phases).toEqual([...new Set(phases)]);
        const outcome = to === 'running' ? 'deployment.running' : 'deployment.removed';
        const outcomes = events.filter(({ type, data }) => type === outcome && data.plan_id === operation.plan_id);
        expect(outcomes).toHaveLength(1);
        await site.api.request(to === 'running' ? 'deleteDeployment' : 'createDeployment', {
          params: { chain_id: id },
          body: to === 'running' ? undefined : json({ chain_id: id }),
        });
        await until('the change is undone', isIdle);
        return kill;
      });
      expect(steps).toBeGreaterThan(5);
      await change(to)(site.api);
      await until('the next direction', isIdle);
    }
  });
});

/** The rack with a further host, which needs entries of the switch and a port of the twin. */
const LARGER: Infrastructure = {
  ...RACK,
  hosts: [
    ...RACK.hosts,
    { ...RACK.hosts[0]!, id: 'extra', addresses: [{ address: '10.0.9.9' }], mac: '02:00:0a:00:09:09' },
  ],
  links: [
    ...RACK.links,
    { ...RACK.links[3]!, id: 'extra-leaf-1', a: { node: 'extra', port: 'eth0' }, b: { node: 'leaf-1', port: 'p9' } },
  ],
};
const EMPTY: Infrastructure = { name: 'empty', servers: [], boards: [], switches: [], hosts: [], links: [] };

describe('a new infrastructure that kills of the server interrupt', () => {
  const specs = () => site.scratch.toldTwin('PUT /spec');
  const current = async () => {
    const { headers, body } = await site.api.request('getInfrastructure');
    return { revision: Number(headers.get('etag')!.replaceAll('"', '')), infrastructure: body as Infrastructure };
  };
  /** The twin and the switches have what is stored. */
  const isBuilt = async () => {
    const { revision, infrastructure } = await current();
    const { daemon, state } = await site.api.call('getTwin');
    if (infrastructure.hosts.length === 0) return daemon === 'off';
    if (daemon !== 'running' || state?.generation !== revision || specs().at(-1)?.body.generation !== revision)
      return false;
    const ports = site.switches[0]?.spec?.ports.map(({ neighbour }) => neighbour) ?? [];
    return infrastructure.hosts.every(({ id }) => ports.includes(id)) && ports.length === infrastructure.links.length;
  };
  const put = (body: Infrastructure) => (api: KilledSite['api']) =>
    api.request('putInfrastructure', { body: json(body) });

  it.each(WHEN)('%s any step reaches the same twin and the switches', async (when) => {
    await site.bringUp();
    await until('it is built', isBuilt);
    const steps = await atEachStep(when, async (point) => {
      const before = await current();
      const next = before.infrastructure.hosts.length === RACK.hosts.length ? LARGER : RACK;
      const kill = await site.killedAt(point, put(next), isBuilt);
      await until('the twin and the switches follow', isBuilt);
      const { revision, infrastructure } = await current();
      if (kill.answer?.status === 200) expect(revision).toBe(before.revision + 1);
      expect(infrastructure.hosts).toHaveLength(
        (revision > before.revision ? next : before.infrastructure).hosts.length,
      );
      const told = await site.eventsOf('infrastructure.changed');
      expect(told.map(({ data }) => data.revision)).toEqual(told.map((_, i) => i + 1));
      expect(told).toHaveLength(revision);
      expect((await site.eventsOf('twin.')).filter(({ type }) => /lost|failed|refused/.test(type))).toEqual([]);
      return kill;
    });
    expect(steps).toBeGreaterThanOrEqual(4);
    expect(new Set(site.scratch.twinJournal().map(({ pid }) => pid)).size).toBe(1);
  });

  it.each(WHEN)('%s any step of its first start leaves one twin, or none', async (when) => {
    const steps = await atEachStep(when, async (point) => {
      const kill = await site.killedAt(
        point,
        put(RACK),
        async () => (await site.api.call('getTwin')).daemon === 'running',
      );
      const { infrastructure } = await current();
      const wanted = infrastructure.hosts.length > 0;
      if (kill.answer?.status === 200) expect(wanted).toBe(true);
      const { daemon } = await until('the twin follows', async () => {
        const twin = await site.api.call('getTwin');
        return twin.daemon === (wanted ? 'running' : 'off') && site.twins.length === (wanted ? 1 : 0) && twin;
      });
      expect(daemon).toBe(wanted ? 'running' : 'off');
      await put(EMPTY)(site.api);
      await until('no twin is left', async () => site.twins.length === 0 && (await isBuilt()));
      return kill;
    });
    expect(steps).toBeGreaterThanOrEqual(4);
  });
});

describe('applications that kills of the server interrupt', () => {
  const WEB = { id: 'web', kind: 'http-server', enabled: true, config: { port: 80 } } as const;
  const newest = (node: string): ApplicationsSpec | undefined =>
    node === 'server-1'
      ? site.agents[0]!.toldApplications.at(-1)
      : site.scratch.toldTwin('PUT /applications').at(-1)?.body;
  const declared = async () => (await site.api.call('listApplications')).items;

  describe.each(['web-1', 'server-1'])('on %s', (node) => {
    const isTold = async () => {
      const wanted = await declared();
      const told = newest(node)?.applications ?? [];
      return (
        told.length === wanted.length &&
        wanted.every(({ definition }) => told.some((each) => each.definition.id === definition.id))
      );
    };

    it.each(WHEN)('%s any step are run once by their supervisor', async (when) => {
      await site.bringUp();
      await until('the supervisor is told', isTold);
      const steps = await atEachStep(when, async (point) => {
        const before = await declared();
        const starts = before.length === 0;
        const kill = await site.killedAt(
          point,
          (api) =>
            starts
              ? api.request('createApplication', { body: json({ ...WEB, node }) })
              : api.request('deleteApplication', { params: { id: WEB.id } }),
          isTold,
        );
        await until('the supervisor follows', isTold);
        const after = await declared();
        if (kill.answer && kill.answer.status < 300) expect(after).toHaveLength(starts ? 1 : 0);
        const runs = new Set(
          (node === 'server-1'
            ? site.agents[0]!.toldApplications
            : site.scratch.toldTwin('PUT /applications').map(({ body }) => body)
          ).flatMap(({ applications }) => applications.map(({ revision }) => revision)),
        );
        const told = await site.eventsOf('application.');
        const declarations = told.filter(({ type }) => type === 'application.declared').length;
        expect(runs.size).toBe(declarations);
        expect(declarations - told.filter(({ type }) => type === 'application.deleted').length).toBe(after.length);
        return kill;
      });
      expect(steps).toBeGreaterThanOrEqual(2);
    });
  });
});
