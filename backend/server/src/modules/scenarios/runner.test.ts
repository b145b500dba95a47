import type { ScenarioRun } from '@orrery/contract';
import { afterEach, expect, it, vi } from 'vitest';
import type { Log } from '../../platform/log.js';
import type { Store, Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { EventLog } from '../../ports/event-log.js';
import { until } from '../../testing/wait.js';
import { type ApiCaller, Unavailable } from './api-caller.js';
import { Ledger } from './ledger.js';
import { ScenarioRunner } from './runner.js';
import { Sweeper } from './sweeper.js';

interface CallOptions {
  readonly body?: unknown;
  readonly params?: { readonly id: string };
}

type When = 'before' | 'after';

/** A store and an API over it that are away for two calls from the n-th on; the outcome of calls is lost before or after. */
class World {
  private calls = 0;
  private readonly hashes = new Map<string, Map<string, string>>();
  readonly chains: { id: string; created_ms: number; draft: unknown }[] = [];
  sessions = 0;
  /** Whether deployments are taken, and then never end. */
  takesDeployments = false;
  listsPolicies = false;
  policyLooks = 0;

  constructor(
    private readonly nth: number,
    private readonly when: When,
  ) {}

  get reached(): boolean {
    return this.calls >= this.nth;
  }

  private async call<T>(work: () => T): Promise<T> {
    this.calls++;
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
    redis: { hkeys: (key: string) => this.call(() => [...this.hash(key).keys()]) },
    hashJson: (key: string, field: string) => this.call(() => JSON.parse(this.hash(key).get(field) ?? 'null')),
    hashValues: async (key: string) => [...this.hash(key).values()].map((text) => JSON.parse(text)),
    transact: (fill: (transaction: Transaction) => void) =>
      this.call(() =>
        fill({
          hset: (key: string, field: string, text: string) => this.hash(key).set(field, text),
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

  /** One board; chains can be made and deleted. */
  private answer(name: string, { body, params }: CallOptions): unknown {
    switch (name) {
      case 'listAccelerators':
        return {
          items: [{ id: 'board-1', state: 'operating', slots: [{ slot: 0, state: 'empty', reservation: null }] }],
        };
      case 'listPipelines':
        return { items: [...this.chains] };
      case 'createPipeline':
        this.chains.push({ id: `pl-${this.calls}`, created_ms: Date.now(), draft: body });
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
        return { items: [] };
      case 'getPipeline':
        return { deployment_state: 'none' };
      case 'deletePipeline':
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

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;
const told: { type: string; message: string; actor?: string }[] = [];
const events = { append: (event: (typeof told)[number]) => told.push(event) } as unknown as EventLog;

afterEach(() => {
  vi.useRealTimers();
  told.length = 0;
});

function runnerIn({ store, caller }: World): ScenarioRunner {
  return new ScenarioRunner(log, store, events, caller, new Sweeper(log, new Ledger(store)));
}

/** Starts the scenario and waits until another could be; gives what is stored of it. */
async function runIn(world: World): Promise<ScenarioRun[]> {
  const runner = runnerIn(world);
  await runner.onModuleInit();
  await runner.start('reconfiguration', 'user').catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
  });
  await until('its end', () => runner.all()[0]?.ended_ms != null);
  const [run] = runner.all();
  await until('room for another', async () =>
    runner.stop(run!.id, 'user').then(
      () => false,
      () => true,
    ),
  );
  return world.store.hashValues<ScenarioRun>(KEYS.scenarioRuns);
}

it.each(['before', 'after'] as const)(
  'ends, with all taken away, whatever call is lost while the store is away, %s it was done',
  async (when) => {
    const worlds = Array.from({ length: 60 }, (_, i) => new World(i + 1, when));
    const ended = await Promise.all(worlds.map(runIn));
    worlds.forEach((world, i) => {
      expect(world.chains, `call ${i + 1}`).toEqual([]);
      expect([...world.hash(KEYS.scenarioMade).keys()], `call ${i + 1}`).toEqual([]);
      // A session of which nothing was heard expires.
      if (when === 'before') expect(world.sessions, `call ${i + 1}`).toBe(0);
      expect(ended[i]!.map(({ state }) => state)).toEqual(['failed']);
      expect(ended[i]![0]!.steps.some(({ state }) => state === 'running' || state === 'pending')).toBe(false);
    });
    expect(worlds.filter(({ reached }) => reached).length).toBeGreaterThan(20);
    expect(worlds.at(-1)!.reached).toBe(false);
    expect(ended.at(-1)![0]!.detail).toBe('createDeployment: refused');
  },
);

it('does not try for ever when the server stops', async () => {
  const world = new World(3, 'before');
  const runner = runnerIn(world);
  await runner.start('reconfiguration', 'user');
  await runner.onApplicationShutdown();
  const [stored] = await world.store.hashValues<ScenarioRun>(KEYS.scenarioRuns);
  expect(stored!.state).toBe('running');
});

it('tells who stopped a run, and that alone', async () => {
  const world = new World(1000, 'before');
  world.takesDeployments = true;
  const runner = runnerIn(world);
  const { id } = await runner.start('reconfiguration', 'ann');
  await until('a chain', () => runner.get(id).pipelines.length > 0);
  await runner.stop(id, 'bob');
  expect(told.at(-1)).toMatchObject({ type: 'scenario.stopped', actor: 'bob' });
  expect(told.at(-1)!.message).toMatch(/" stopped by bob$/);
  expect(runner.get(id)).toMatchObject({ state: 'stopped', detail: null });
  expect(runner.get(id).steps[0]).toMatchObject({ state: 'skipped', detail: 'stopped by bob' });
});

it('tries again from time to time to take away what could not be', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const world = new World(1000, 'before');
  const noted = { kind: 'policy', request: {}, id: 'policy-1', noted_ms: 1 };
  world.hash(KEYS.scenarioMade).set('sr-1', JSON.stringify([noted]));
  const runner = runnerIn(world);
  await runner.onApplicationBootstrap();
  await until('the first try', () => world.policyLooks === 1 && world.sessions === 0);
  expect(world.hash(KEYS.scenarioMade).size).toBe(1);
  world.listsPolicies = true;
  await until('the end of the first try', () => {
    vi.advanceTimersByTime(60_000);
    return world.policyLooks === 2;
  });
  await until('nothing is left', () => world.hash(KEYS.scenarioMade).size === 0);
  await runner.onApplicationShutdown();
});
