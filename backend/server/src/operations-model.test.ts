import { join } from 'node:path';
import { Infrastructure, type Operation } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOver } from './ports/operation-log.js';
import { FakeAgent } from './testing/fake-agent.js';
import { FakeSwitch } from './testing/fake-switch.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { killAt } from './testing/kill-point.js';
import { Scratch, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const [LEAF] = RACK.switches;
/** One core each, so that chains are on different servers. Everything about the second client is at a switch of its own. */
const SITE = Infrastructure.parse({
  ...RACK,
  servers: RACK.servers.map((server) => ({ ...server, cores: 1 })),
  switches: [LEAF, { ...LEAF, id: 'leaf-2', title: 'Leaf 2' }],
  links: [
    ...RACK.links.map((link) =>
      ['server-2', 'client-2'].includes(link.a.node) ? { ...link, b: { ...link.b, node: 'leaf-2' } } : link,
    ),
    {
      id: 'trunk',
      a: { node: 'leaf-2', port: 'up' },
      b: { node: LEAF!.id, port: 'up' },
      bandwidth_bps: 10_000_000_000,
    },
  ],
});
const ENV = { ORRERY_STEP_TIMEOUT_MS: '600' };
const NAMES = ['a', 'b', 'c'] as const;

type Command =
  | { readonly do: 'deploy' | 'undeploy'; readonly chain: number }
  | { readonly do: 'cancelOperation' | 'retryOperation' | 'rollbackOperation'; readonly newest: number }
  | { readonly do: 'freeze' | 'lag' | 'recover'; readonly agent: number }
  | { readonly do: 'kill'; readonly write: number; readonly when: 'before' | 'after' }
  | { readonly do: 'pause' };

const index = fc.nat({ max: 2 });
/** Of servers, then of switches. */
const agent = fc.nat({ max: RACK.servers.length + 1 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('deploy' as const), chain: index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undeploy' as const), chain: index }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('cancelOperation' as const, 'retryOperation' as const, 'rollbackOperation' as const),
      newest: index,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('freeze' as const, 'lag' as const), agent }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('recover' as const), agent }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('kill' as const),
      write: fc.integer({ min: 1, max: 4 }),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
);

/** A server, agents that outlive it, and three chains, of which each deployment publishes a new version. */
class Bench {
  private readonly frozen = new Set<FakeAgent | FakeSwitch>();
  private edits = 0;

  private constructor(
    private server: TestServer,
    private readonly agents: readonly FakeAgent[],
    private readonly switches: readonly FakeSwitch[],
    private readonly chains: readonly string[],
  ) {}

  static async start(): Promise<Bench> {
    const scratch = new Scratch();
    const server = await TestServer.start({ twin: true, env: ENV }, scratch);
    await server.api.call('putInfrastructure', { body: SITE });
    const socket = `ws+unix:${join(scratch.runDir, 'agents.sock')}:/api/v1/agent`;
    const token = async (node: string) => (await server.api.call('createJoinToken', { body: { node } })).token;
    const agents: FakeAgent[] = [];
    for (const { id } of SITE.servers) agents.push(new FakeAgent(socket, id, await token(id)));
    const switches: FakeSwitch[] = [];
    for (const { id } of SITE.switches) switches.push(new FakeSwitch(socket, id, await token(id)));
    for (const each of [...agents, ...switches]) await each.connect();
    await until('the twin runs', async () => (await server.api.call('getTwin')).daemon === 'running');
    const chains: string[] = [];
    for (const [i, name] of NAMES.entries())
      chains.push((await server.api.call('createChain', { body: chain(name, i, 0) })).id);
    return new Bench(server, agents, switches, chains);
  }

  stop(): Promise<void> {
    return this.server.stop().then(async () => {
      for (const each of this.all) await each.kill();
    });
  }

  private get all(): readonly (FakeAgent | FakeSwitch)[] {
    return [...this.agents, ...this.switches];
  }

  /** Refusals are part of the game. */
  async run(command: Command): Promise<void> {
    const { api } = this.server;
    switch (command.do) {
      case 'deploy': {
        const id = this.chains[command.chain]!;
        const body = JSON.stringify(chain(NAMES[command.chain]!, command.chain, ++this.edits));
        await api.request('putChain', { params: { id }, body });
        await api.request('createDeployment', { body: JSON.stringify({ chain_id: id }) });
        return;
      }
      case 'undeploy':
        await api.request('deleteDeployment', { params: { chain_id: this.chains[command.chain]! } });
        return;
      case 'freeze':
      case 'lag': {
        const agent = this.all[command.agent]!;
        agent.hold = true;
        this.frozen.add(agent);
        if (command.do === 'freeze') await agent.kill();
        return;
      }
      case 'recover':
        return this.recover(this.all[command.agent]!);
      case 'pause':
        await new Promise((resolve) => setTimeout(resolve, 700));
        return;
      case 'kill':
        return this.kill(command);
      default: {
        const operation = (await this.operations())[command.newest];
        if (operation) await api.request(command.do, { params: { id: operation.id } });
      }
    }
  }

  private async recover(agent: FakeAgent | FakeSwitch): Promise<void> {
    if (!this.frozen.delete(agent)) return;
    agent.hold = false;
    await agent.kill();
    await agent.connect();
    agent.reach();
  }

  private async kill({ write, when }: { write: number; when: 'before' | 'after' }): Promise<void> {
    const isDead = killAt(this.server.running.store, { write, when });
    await this.run({ do: 'deploy', chain: 0 });
    await until('the kill or the end', async () => isDead() || (await this.operations()).every(isOver), 2000).catch(
      () => undefined,
    );
    for (const each of this.all) await each.kill();
    await this.server.pause();
    this.server = await TestServer.start({ twin: true, env: ENV }, this.server.scratch);
    for (const each of this.all) if (!this.frozen.has(each)) await each.connect();
  }

  private async operations(): Promise<readonly Operation[]> {
    return (await this.server.api.call('listOperations', { query: { limit: 200 } })).items;
  }

  /** Everybody comes back: every operation ends, and what runs is what the completed ones made. */
  async requireTruth(): Promise<void> {
    for (const each of this.all) await this.recover(each);
    for (const { id } of await this.operations()) await this.server.finished(id);
    const { api } = this.server;
    const { items: events } = await api.call('listEvents', { query: { limit: 1000 } });
    const ends = events.flatMap(({ type, subject }) =>
      type === 'operation.completed' || type === 'operation.partially-completed' ? subject : [],
    );
    const expected = new Map<string, number>();
    for (const id of ends)
      for (const { chain_id, to_version } of (await this.server.operation(id)).chains)
        if (to_version === null) expected.delete(chain_id);
        else expected.set(chain_id, to_version);
    const { items } = await api.call('listDeployments');
    expect(new Map(items.map(({ chain_id, version }) => [chain_id, version]))).toEqual(expected);
    expect(items.flatMap(({ state }) => (state === 'running' || state === 'degraded' ? [] : state))).toEqual([]);

    const planId = items[0]?.plan_id;
    const plan = planId ? await api.call('getPlan', { params: { id: planId } }) : null;
    const planned = Object.entries(plan?.nodes ?? {}).flatMap(([node, { instances }]) =>
      instances.map(({ id }) => `${node} ${id}`),
    );
    const told = () =>
      this.agents.flatMap(({ node, spec }) => spec?.instances.map(({ id }) => `${node} ${id}`) ?? []).sort();
    await until('agents are told', () => JSON.stringify(told()) === JSON.stringify(planned.sort()), 5000).catch(() =>
      expect(told()).toEqual(planned.sort()),
    );
    const rules = () =>
      [...new Set(this.switches.flatMap((each) => each.rules))].filter((id) => id.startsWith('classify')).sort();
    const classes = plan?.fabric.rules.flatMap(({ id, kind }) => (kind === 'classify' ? id : [])).sort() ?? [];
    await until('switches are told', () => JSON.stringify(rules()) === JSON.stringify(classes), 5000).catch(() =>
      expect(rules()).toEqual(classes),
    );
    const ended = await this.operations();
    for (const { id, state, error, steps } of ended) {
      if (state === 'FAILED' || state === 'ROLLED_BACK') {
        expect(error, id).not.toBeNull();
        expect(steps.filter((step) => step.state === 'done')).toEqual([]);
      } else expect(state).toMatch(/COMPLETED/);
    }
  }
}

/** Fills a core; each edit names the NF anew, so that a version can be told by its instances. */
function chain(name: string, i: number, edit: number) {
  const base = monitorChain(name, i === 1 ? 'client-2' : 'client-1');
  const match = [{ attribute: 'ip.dst', value: `10.0.2.${i + 1}/32` }];
  const text = JSON.stringify({ ...base, traffic_class: { ...base.traffic_class, match, rate_bps: 900_000_000 } });
  return JSON.parse(
    edit === 0 ? text : text.replaceAll('"monitor"', `"m${edit}"`).replaceAll(`"nf":"m${edit}"`, '"nf":"monitor"'),
  );
}

it('what runs is what completed operations made, whatever comes away, is killed, cancelled, retried or rolled back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 14 }), async (commands) => {
      const bench = await Bench.start();
      try {
        for (const each of commands) await bench.run(each);
        await bench.requireTruth();
      } finally {
        await bench.stop();
      }
    }),
    { numRuns: Number(process.env.ORRERY_MODEL_RUNS ?? 3), seed: 20261123, endOnFailure: true },
  );
}, 240_000);
