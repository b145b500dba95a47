import type { EventDraft, Operation, Plan } from '@orrery/contract';
import { seededRandom } from '@orrery/planner';
import { conflict } from '../platform/problem.js';
import type { Store, Transaction } from '../platform/redis.js';
import type { Deployer, PlanChange } from '../ports/deployer.js';
import type { EventLog } from '../ports/event-log.js';
import { isOver, type OperationLog } from '../ports/operation-log.js';
import { killAt } from './kill-point.js';

interface MemoryTransaction {
  hset(key: string, entries: ReadonlyMap<string, string>): unknown;
  hdel(key: string, ...ids: string[]): unknown;
  also(write: () => void): unknown;
}

function also(transaction: Transaction, write: () => void): void {
  (transaction as unknown as MemoryTransaction).also(write);
}

/** A write of a server to what outlives it. */
export async function writeIn(store: Store, write: () => void): Promise<void> {
  await store.transact((transaction) => also(transaction, write));
}

/** A store in memory that outlives servers: entries of collections, and what was told in the same transactions. */
export class MemoryStore {
  readonly told: EventDraft[] = [];
  private readonly hashes = new Map<string, Map<string, string>>();

  /** As one server process has it: its kill leaves the others alone. */
  open(): Store {
    const transact = async (fill: (transaction: Transaction) => void) => {
      const writes: (() => void)[] = [];
      const transaction: MemoryTransaction = {
        hset: (key, entries) => {
          for (const [id, text] of entries) writes.push(() => this.hashOf(key).set(id, text));
        },
        hdel: (key, ...ids) => writes.push(...ids.map((id) => () => void this.hashOf(key).delete(id))),
        also: (write) => writes.push(write),
      };
      fill(transaction as unknown as Transaction);
      for (const write of writes) write();
      return [];
    };
    const redis = { hgetall: async (key: string) => Object.fromEntries(this.hashOf(key)) };
    return { redis, transact } as unknown as Store;
  }

  get events(): EventLog {
    return {
      append: (draft) => void this.told.push(draft),
      appendIn: (transaction, draft) => also(transaction, () => void this.told.push(draft)),
    };
  }

  /** How often each type of event was told. */
  get counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { type } of this.told) counts[type] = (counts[type] ?? 0) + 1;
    return counts;
  }

  private hashOf(key: string): Map<string, string> {
    const hash = this.hashes.get(key) ?? new Map<string, string>();
    this.hashes.set(key, hash);
    return hash;
  }
}

/**
 * How an operation ends, or that it is refused; one that is set aside is planned again when the others are over, and one that is
 * stuck cannot go on until it is taken back.
 */
export type End = 'done' | 'failed' | 'set aside' | 'refused' | 'stuck';

/** Of the first operations of a story, drawn. */
export function drawnEnds(seed: number, among: readonly End[], most: number): End[] {
  const random = seededRandom(seed);
  return Array.from({ length: most }, () => among[Math.floor(random() * among.length)]!);
}

/** A story in which not every operation comes about. */
export interface Fortune {
  /** Of the n-th operation that is asked for. */
  readonly endOf: (n: number) => End;
  /** Its plan is in force. */
  readonly comesAbout: (plan: Plan) => void;
  /** What comes is what is in force. Says which plan that is. */
  readonly comesToNothing: () => Plan;
}

const ALL_DONE: Fortune = {
  endOf: () => 'done',
  comesAbout: () => undefined,
  comesToNothing: () => {
    throw new Error('every operation of the story comes about');
  },
};

/** Operations that outlive servers. To accept one is a write of the server that does. */
export class MemoryOperations {
  /** In the order in which they were accepted. */
  readonly accepted: { readonly id: string; readonly request: PlanChange }[] = [];
  private readonly all = new Map<string, Operation>();
  private readonly ends = new Map<string, End>();
  private readonly planned = new Map<string, Plan>();
  private asked = 0;

  /** `planOf`: what a request leads to; throws where there is no such plan. `comes`: called when it is accepted. */
  constructor(
    private readonly planOf: (request: PlanChange) => Plan,
    private readonly comes: (plan: Plan) => void,
    private readonly fortune = ALL_DONE,
  ) {}

  deployer(store: Store): Deployer {
    return {
      change: async (request, { id, kind, by, as_planned }, refusal = () => null) => {
        const known = this.all.get(id);
        if (known) return known;
        const end = this.fortune.endOf(this.asked++);
        if (end === 'refused') throw conflict('It is refused.');
        const plan = this.planOf(request);
        const why = refusal(plan);
        if (why !== null) throw conflict(why);
        const operation = {
          ...{ id, kind, by, as_planned, state: 'PROCESSING', plan_id: plan.id, request, chains: [] },
          ...{ set_aside: null, cancelled_by: null, error: null },
        } as unknown as Operation;
        await writeIn(store, () => {
          this.accepted.push({ id, request });
          this.all.set(id, operation);
          this.ends.set(id, end);
          this.planned.set(id, plan);
          this.comes(plan);
        });
        return operation;
      },
      takeBack: (id, why) => writeIn(store, () => this.takeBack(id, why)),
      underWay: () => [...this.all.values()].filter((operation) => !isOver(operation)),
      operation: (id) => this.all.get(id),
    };
  }

  get log(): OperationLog {
    return {
      find: (id) => this.all.get(id),
      get: async (id) => this.all.get(id) ?? null,
      list: async () => [...this.all.values()].reverse(),
      putIn: () => undefined,
    };
  }

  /** Those under way end, each as the story has it. */
  complete(): void {
    for (const { id, set_aside } of [...this.all.values()].filter((operation) => !isOver(operation))) {
      const end = set_aside ? 'done' : this.ends.get(id);
      if (end === 'set aside') this.without(id, { state: 'FAILED_TEMP', set_aside: { waiting_for: [], since_ms: 0 } });
      else if (end === 'stuck') this.put(id, { state: 'FAILED_TEMP', error: { detail: 'It is stuck.' } as never });
      else if (end === 'failed' || !this.isPlanned(id)) this.without(id, { state: 'FAILED' });
      else {
        this.put(id, { state: 'COMPLETED', set_aside: null });
        this.fortune.comesAbout(this.planned.get(id)!);
      }
    }
  }

  /** By hand. Precondition: PROCESSING. */
  cancel(id: string, by: string): void {
    this.byHand(id, 'PROCESSING', { cancelled_by: by, error: { detail: `Cancelled by ${by}`, errors: [] } });
  }

  /** By hand. Precondition: FAILED_TEMP. */
  rollBack(id: string, by: string): void {
    this.byHand(id, 'FAILED_TEMP', { rolled_back_by: by });
  }

  private byHand(id: string, wanted: Operation['state'], change: Partial<Operation>): void {
    const state = this.all.get(id)?.state;
    if (state !== wanted) throw conflict(`${id} is ${state}.`);
    this.without(id, { ...change, state: 'ROLLED_BACK', set_aside: null });
  }

  private takeBack(id: string, why: string): void {
    const operation = this.all.get(id);
    if (!operation || isOver(operation)) return;
    this.without(id, { state: 'ROLLED_BACK', set_aside: null, error: { detail: why, errors: [] } });
  }

  /** Whether it can come about on what is in force; where that is not what it was planned on, it may be planned again. */
  private isPlanned(id: string): boolean {
    if (this.fortune === ALL_DONE) return true;
    const coming = this.planned.get(id)!;
    const inForce = this.fortune.comesToNothing();
    if (coming.base_plan === inForce.id) {
      this.comes(coming);
      return true;
    }
    if (this.all.get(id)!.as_planned) return false;
    try {
      const plan = this.planOf(this.all.get(id)!.request);
      this.planned.set(id, plan);
      this.put(id, { plan_id: plan.id });
      this.comes(plan);
      return true;
    } catch {
      return false;
    }
  }

  /** It has no effect, or none yet. */
  private without(id: string, change: Partial<Operation>): void {
    this.put(id, change);
    this.fortune.comesToNothing();
  }

  private put(id: string, change: Partial<Operation>): void {
    this.all.set(id, { ...this.all.get(id)!, ...change });
  }
}

interface Story<World extends { readonly store: MemoryStore }> {
  readonly world: () => World;
  /** What a server does, and is asked to do, from the beginning. */
  readonly play: (world: World, its: Store) => Promise<void>;
  /** What the one does that is started after a kill. */
  readonly goOn: (world: World, its: Store) => Promise<void>;
  readonly check: (world: World, where: string) => Promise<void>;
}

/** Plays a story again and again, each time with a server that is killed before or after another one of its writes. How many there were. */
export async function killedAtEachWrite<World extends { readonly store: MemoryStore }>(
  story: Story<World>,
): Promise<number> {
  let kills = 0;
  for (const when of ['before', 'after'] as const) {
    for (let write = 1, wasKilled = true; wasKilled; write++) {
      const world = story.world();
      const its = world.store.open();
      const isDead = killAt(its, { write, when });
      await story.play(world, its).catch((error: unknown) => {
        if (!isDead()) throw error;
      });
      wasKilled = isDead();
      if (wasKilled) kills++;
      if (wasKilled) await story.goOn(world, world.store.open());
      await story.check(world, wasKilled ? `${when} write ${write}` : 'without a kill');
    }
  }
  return kills;
}
