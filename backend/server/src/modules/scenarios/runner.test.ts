import type { ScenarioReport, ScenarioRun } from '@orrery/contract';
import { afterEach, expect, it } from 'vitest';
import { ControlLoops } from '../../platform/control-loop/control-loops.js';
import { Collections } from '../../platform/durable-collection/collections.js';
import type { Log } from '../../platform/log.js';
import { ProblemError } from '../../platform/problem.js';
import type { Store, Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { EventLog } from '../../ports/event-log.js';
import { FakeClock } from '../../testing/fake-clock.js';
import { MemoryStore } from '../../testing/killed-story.js';
import { until } from '../../testing/wait.js';
import { type ApiCaller, Unavailable } from './api-caller.js';
import { Ledger } from './ledger.js';
import { ScenarioRecords } from './records.js';
import { SCENARIOS } from './registry.js';
import { ScenarioRunner } from './runner.js';
import { ScenarioLoop } from './scenario-loop.js';
import { Sweeper } from './sweeper.js';

interface CallOptions {
  readonly body?: unknown;
  readonly params?: { readonly id: string };
}

type When = 'before' | 'after';

/** A store and an API that fail for two calls from the n-th on, before or after the effect of the call. */
class World {
  private calls = 0;
  private readonly hashes = new Map<string, Map<string, string>>();
  readonly chains: { id: string; created_ms: number; draft: unknown }[] = [];
  sessions = 0;
  /** Whether deployments are accepted; they then never end. */
  takesDeployments = false;
  listsPolicies = false;
  policyLooks = 0;
  twinIsOn = true;
  /** Calls are not counted until then. */
  isUp = false;
  /** The server is killed after this number of calls and gets no further replies. */
  killAfter = Number.POSITIVE_INFINITY;

  constructor(
    private readonly nth: number,
    readonly when: When,
  ) {}

  get isKilled(): boolean {
    return this.calls >= this.killAfter;
  }

  /** The same world for the next server. */
  next(): World {
    const world = new World(Number.POSITIVE_INFINITY, this.when);
    for (const [key, entries] of this.hashes) world.hashes.set(key, entries);
    world.chains.push(...this.chains);
    world.listsPolicies = this.listsPolicies;
    return world;
  }

  get reached(): boolean {
    return this.calls >= this.nth;
  }

  private async call<T>(work: () => T): Promise<T> {
    if (this.isKilled) return new Promise(() => undefined);
    if (this.isUp) this.calls++;
    const away = this.calls >= this.nth && this.calls < this.nth + 2;
    if (away && this.when === 'before') throw new Unavailable('away');
    const result = work();
    if (away) throw new Unavailable('away');
    return result;
  }

  hash(key: string): Map<string, string> {
    const found = this.hashes.get(key) ?? new Map<string, string>();
    this.hashes.set(key, found);
    return found;
  }

  readonly store = {
    redis: { hgetall: (key: string) => this.call(() => Object.fromEntries(this.hash(key))) },
    transact: (fill: (transaction: Transaction) => void) =>
      this.call(() =>
        fill({
          hset: (key: string, texts: ReadonlyMap<string, string>) => {
            for (const [field, text] of texts) this.hash(key).set(field, text);
          },
          hdel: (key: string, ...fields: string[]) => fields.map((field) => this.hash(key).delete(field)),
        } as unknown as Transaction),
      ),
  } as unknown as Store;

  readonly caller = {
    as: () =>
      this.call(() => {
        let open = true;
        this.sessions++;
        return {
          call: (name: string, options: CallOptions = {}) => this.call(() => this.answer(name, options)),
          end: () =>
            this.call(() => {
              this.sessions -= Number(open);
              open = false;
            }),
        };
      }),
  } as unknown as ApiCaller;

  /** One board; chains can be created and deleted. */
  private answer(name: string, { body, params }: CallOptions): unknown {
    switch (name) {
      case 'getTwin':
        return { enabled: this.twinIsOn, daemon: 'running' };
      case 'listNfDescriptors':
        return { items: [{ id: 'sqli-detector' }, { id: 'ddos-detector' }] };
      case 'getInfrastructure':
        return { hosts: ['client-3', 'client-4', 'web-1', 'web-2'].map((id) => ({ id })) };
      case 'listAccelerators':
        return {
          items: [
            {
              id: 'board-1',
              state: 'operating',
              switches: [],
              slots: [{ slot: 0, state: 'empty', reservation: null }],
            },
          ],
        };
      case 'listChains':
        return { items: [...this.chains] };
      case 'createChain':
        this.chains.push({ id: `ch-${this.calls}`, created_ms: Date.now(), draft: body });
        return this.chains.at(-1);
      case 'createDeployment':
        if (!this.takesDeployments) throw new Error(`${name}: refused`);
        return { id: 'op-1' };
      case 'getOperation':
        return { state: 'PROCESSING' };
      case 'listReconfigurationPolicies':
        this.policyLooks++;
        if (!this.listsPolicies) throw new Error(`${name}: refused`);
        return { items: [] };
      case 'listReconfigurations':
      case 'listDeployments':
        return { items: [] };
      case 'getChain':
        return { deployment_state: 'none' };
      case 'deleteChain':
        this.chains.splice(
          this.chains.findIndex(({ id }) => id === params!.id),
          1,
        );
        return undefined;
      default:
        throw new Error(`${name}: refused`);
    }
  }
}

const USER = { name: 'user', role: 'designer' } as const;
const log = { warn: () => undefined, error: () => undefined } as unknown as Log;
const told: { type: string; message: string; actor?: string }[] = [];
const events = {
  append: (event: (typeof told)[number]) => told.push(event),
  appendIn: (_transaction: Transaction, event: (typeof told)[number]) => told.push(event),
} as unknown as EventLog;

afterEach(() => {
  told.length = 0;
});

/** The scenario part of a server, after it has read its stored state. */
async function serverIn(world: World, clock?: FakeClock) {
  const { store, caller } = world;
  const collections = new Collections(store, log);
  const loops = new ControlLoops(log, clock);
  const ledger = new Ledger(collections);
  const records = new ScenarioRecords(collections, events);
  const loop = new ScenarioLoop(loops, events, caller, records, new Sweeper(log, ledger));
  await Promise.all([records.onModuleInit(), ledger.onModuleInit()]);
  world.isUp = true;
  return { runner: new ScenarioRunner(caller, records, loop), loop, loops };
}

const storedIn = (world: World): ScenarioRun[] =>
  [...world.hash(KEYS.scenarioRuns).values()].map((text) => JSON.parse(text).value);

/** Runs the scenario until another could start; returns the stored runs. */
async function runIn(world: World): Promise<ScenarioRun[]> {
  const { runner } = await serverIn(world);
  const refused = await runner.start('reconfiguration', {}, USER).then(
    () => null,
    (error: unknown) => error,
  );
  if (refused instanceof ProblemError && refused.status === 503 && runner.all().length === 0) return [];
  if (refused && !(refused instanceof Unavailable)) throw refused;
  await until('its end', () => runner.all()[0]?.ended_ms != null);
  const [run] = runner.all();
  await until('room for another', async () =>
    runner.stop(run!.id, 'user').then(
      () => false,
      () => true,
    ),
  );
  if (world.when === 'before') await until('the end of its sessions', () => world.sessions === 0);
  return storedIn(world);
}

it.each(['before', 'after'] as const)(
  'ends with everything removed, whichever call fails while the store is away, %s its effect',
  async (when) => {
    const worlds = Array.from({ length: 60 }, (_, i) => new World(i + 1, when));
    const ended = await Promise.all(worlds.map(runIn));
    worlds.forEach((world, i) => {
      expect(world.chains, `call ${i + 1}`).toEqual([]);
      expect([...world.hash(KEYS.scenarioMade).keys()], `call ${i + 1}`).toEqual([]);
      // A session whose creation got no reply expires.
      if (when === 'before') expect(world.sessions, `call ${i + 1}`).toBe(0);
      const [run] = ended[i]!;
      // The store was away while the needs were checked: nothing was started.
      if (!run) return;
      expect(ended[i]!.map(({ state }) => state)).toEqual(['failed']);
      expect(run.steps.some(({ state }) => state === 'running' || state === 'pending')).toBe(false);
    });
    expect(worlds.filter(({ reached }) => reached).length).toBeGreaterThan(20);
    expect(ended.filter((runs) => runs.length === 0).length).toBeLessThan(12);
    expect(worlds.at(-1)!.reached).toBe(false);
    expect(ended.at(-1)![0]!.detail).toBe('createDeployment: refused');
  },
);

it('leaves nothing behind and is closed, wherever the server is killed and restarted', async () => {
  const survivors = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const world = new World(Number.POSITIVE_INFINITY, 'before');
      world.takesDeployments = i % 2 === 0;
      world.listsPolicies = true;
      world.killAfter = i + 2;
      const { runner } = await serverIn(world);
      void runner.start('reconfiguration', {}, USER).catch(() => undefined);
      await until('the kill', () => world.isKilled || runner.all()[0]?.ended_ms != null);
      const next = world.next();
      const { loop } = await serverIn(next);
      await loop.onApplicationBootstrap();
      await until(`nothing is left after call ${i + 2}`, () => next.hash(KEYS.scenarioMade).size === 0);
      expect(next.chains, `call ${i + 2}`).toEqual([]);
      expect(storedIn(next).every(({ state, ended_ms }) => state === 'failed' && ended_ms !== null)).toBe(true);
      await loop.onApplicationShutdown();
      return next;
    }),
  );
  expect(survivors.filter((each) => storedIn(each).length > 0).length).toBeGreaterThan(20);
});

it('does not retry forever when the server stops', async () => {
  // The store goes away after the needs were checked, when the run is stored.
  const world = new World(12, 'before');
  const { runner, loop } = await serverIn(world);
  await runner.start('reconfiguration', {}, USER);
  await loop.onApplicationShutdown();
  const [stored] = storedIn(world);
  expect(stored!.state).toBe('running');
});

it('reports only who stopped a run', async () => {
  const world = new World(1000, 'before');
  world.takesDeployments = true;
  const { runner } = await serverIn(world);
  const { id } = await runner.start('reconfiguration', {}, { name: 'ann', role: 'designer' });
  await until('a chain', () => runner.get(id).chains.length > 0);
  await runner.stop(id, 'bob');
  expect(told.at(-1)).toMatchObject({ type: 'scenario.stopped', actor: 'bob' });
  expect(told.at(-1)!.message).toMatch(/" stopped by bob$/);
  expect(runner.get(id)).toMatchObject({ state: 'stopped', detail: null });
  expect(runner.get(id).steps[0]).toMatchObject({ state: 'skipped', detail: 'stopped by bob' });
});

it('refuses who may not run it, before anything else', async () => {
  const { runner } = await serverIn(new World(1000, 'before'));
  for (const [id, least, role] of [
    ['fabric-three-ways', 'admin', 'designer'],
    ['reconfiguration', 'designer', 'operator'],
  ] as const)
    await expect(runner.start(id, { what: true }, { name: 'ann', role })).rejects.toMatchObject({
      status: 403,
      message: `This scenario needs the role ${least}; the session has ${role}.`,
    });
});

it('retries periodically to remove leftovers', async () => {
  const world = new World(1000, 'before');
  const noted = { kind: 'policy', request: {}, id: 'policy-1', noted_ms: 1 };
  world.hash(KEYS.scenarioMade).set('sr-1', JSON.stringify([noted]));
  const clock = new FakeClock();
  const { loop } = await serverIn(world, clock);
  await loop.onApplicationBootstrap();
  await until('the first try', () => world.policyLooks === 1 && world.sessions === 0);
  expect(world.hash(KEYS.scenarioMade).size).toBe(1);
  world.listsPolicies = true;
  await clock.pass(59_000);
  expect(world.policyLooks).toBe(1);
  await clock.pass(1000);
  await until('nothing is left', () => world.hash(KEYS.scenarioMade).size === 0);
  await loop.onApplicationShutdown();
});

const missing = async (world: World) =>
  (await serverIn(world)).runner.start('reconfiguration', {}, USER).then(
    () => null,
    (error: unknown) => error as ProblemError,
  );

it('starts nothing if a prerequisite is missing, and names all that are', async () => {
  const world = new World(1000, 'before');
  world.twinIsOn = false;
  world.chains.push({ id: 'ch-own', created_ms: 1, draft: { name: 'scenario-sqli' } });
  const refused = await missing(world);
  expect(refused).toMatchObject({ status: 409 });
  expect(refused?.errors.map(({ detail }) => detail)).toEqual([
    'the twin is off (ORRERY_TWIN=off)',
    'a chain called scenario-sqli is there already: remove it',
  ]);
  expect(world.chains).toHaveLength(1);
  expect(world.hash(KEYS.scenarioRuns).size + world.hash(KEYS.scenarioMade).size + world.sessions).toBe(0);
});

it('rejects unknown or invalid parameters, each with its pointer', async () => {
  const { runner } = await serverIn(new World(1000, 'before'));
  const start = () => runner.start('reconfiguration', { limit_bps: 1, what: true }, USER);
  const refused = await start().catch((error: ProblemError) => error);
  expect(refused).toMatchObject({ status: 422 });
  expect((refused as ProblemError).errors.map(({ pointer }) => pointer).toSorted()).toEqual([
    '/parameters/limit_bps',
    '/parameters/what',
  ]);
});

it('keeps the newest runs, and skips those stored by another version', async () => {
  const world = new World(1000, 'before');
  const stored = { id: 'sr-old', scenario_id: 'gone', state: 'completed', steps: [], figures: [], chains: [] };
  const times = { detail: null, started_ms: 1, ended_ms: 2 };
  world.hash(KEYS.scenarioRuns).set('sr-old', JSON.stringify({ ...stored, ...times }));
  world.hash(KEYS.scenarioRuns).set('sr-bad', JSON.stringify({ id: 'sr-bad' }));
  const { runner } = await serverIn(world);
  expect(runner.all().map(({ id }) => id)).toEqual(['sr-old']);
  expect(runner.get('sr-old')).toMatchObject({ parameters: {}, plots: [], title: '' });
});

it('keeps the reports of the runs that began last, also once the wall clock was set back', async () => {
  const records = new ScenarioRecords(new Collections(new MemoryStore().open(), log), events);
  await records.onModuleInit();
  const runOf = (n: number, state: ScenarioReport['state']) =>
    ({ id: `sr-${n}`, state, started_ms: 1000 - n }) as ScenarioReport;
  for (let n = 0; n <= 50; n++)
    for (const state of ['running', 'completed'] as const) await records.write(runOf(n, state));
  const ids = records.all().map(({ id }) => id);
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([50, 'sr-50', 'sr-1']);
});

/** Those that only compute. */
const NEED_NOTHING = ['e2-placement'];

it('declares for every scenario a schema whose defaults give a script', () => {
  for (const { scenario, script } of SCENARIOS) {
    const { steps, needs } = script({});
    expect(steps.length, scenario.id).toBeGreaterThan(0);
    expect(needs.length === 0, scenario.id).toBe(NEED_NOTHING.includes(scenario.id));
    const { type, properties } = scenario.parameters as { type: string; properties: Record<string, object> };
    expect(type).toBe('object');
    for (const [name, schema] of Object.entries(properties))
      expect(schema, `${scenario.id}: ${name}`).toMatchObject({
        default: expect.anything(),
        title: expect.any(String),
      });
  }
});
