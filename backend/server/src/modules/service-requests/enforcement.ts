import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type ChainDefinition, ImplementationChoice, type Operation } from '@orrery/contract';
import { poolChain } from '@orrery/planner';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { conflict } from '../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { type ChainKeeper, NOT_KEPT_CHAINS, type NotKeptChains } from '../../ports/not-kept-chains.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { Decider } from './decider.js';
import { backoffMs, type Ending, endingOf, endingOfLate, type Refusal, refusalOf } from './endings.js';
import { seekForLate } from './late-requests.js';
import { Memories, takeLate, takeNote } from './memories.js';
import { takeDown } from './pool-removal.js';
import { heldRequest, PoolView, passes } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import { holds, releasedBy, type StoredPool, type StoredRequest } from './stored.js';
import { Surroundings } from './surroundings.js';

const BY = 'service-requests';
const BACKOFF = { firstMs: 500, mostMs: 10_000 };
const DEADLINE_MS = 30_000;
/** Until an operation under way, or a server whose agent is away, is looked at again. */
const AGAIN_MS = 2000;
/** Between attempts to find ways for broken requests while nothing changes but what is measured. */
const ANEW = { firstMs: 2000, mostMs: 60_000 };

/** Makes what is accepted run: one operation of a pool for all requests that wait for it (decision 0065). */
@Injectable()
export class Enforcement implements ChainKeeper, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly memories: Memories;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(Pools) private readonly pools: Pools,
    @Inject(Requests) private readonly requests: Requests,
    @Inject(Decider) private readonly decider: Decider,
    @Inject(PoolView) private readonly view: PoolView,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(Surroundings) private readonly surroundings: Surroundings,
    @Inject(NOT_KEPT_CHAINS) notKept: NotKeptChains,
    @Inject(CONFIG) config: Config,
  ) {
    this.memories = new Memories(config.timing.sloPeriodMs);
    notKept.leaveTo(this);
    this.loop = loops.add({
      id: 'service-requests',
      title: 'Service requests',
      purpose:
        'Brings accepted service requests into their pools, and finds other ways for those that are late or lose instances.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.pools.onChange((ids) => ids.forEach((id) => void this.loop.wake(id)));
    this.requests.onChange((changed) => {
      const names = new Set(changed.map(({ pool }) => pool));
      // What is given back may be what others lack.
      for (const { pool, state } of changed) if (state === 'released') this.memories.of(pool).anewMs = 0;
      for (const name of names) this.loop.wake(name);
    });
    const wakeAll = () => {
      for (const { definition } of this.pools.all()) {
        this.memories.of(definition.name).anewMs = 0;
        this.loop.wake(definition.name);
      }
    };
    this.surroundings.onChange(wakeAll, () => {
      for (const { definition, operation_id, removing } of this.pools.all())
        if (operation_id !== null || removing) this.loop.wake(definition.name);
    });
    wakeAll();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Why the requests of the pool are not enforced yet; null: nothing is in the way. */
  waitsFor(id: string): string | null {
    return this.memories.of(id).waitsFor;
  }

  /** Has the pool taken down, unless requests use it or wait for it that are not to be released with it; false: some do. */
  remove(id: string, by: string, releases: boolean): Promise<boolean> {
    return this.collections.commit((batch) => {
      const pool = this.pools.get(id);
      const claims = this.requests.claimsOf(id);
      if (claims.length > 0 && !releases) return false;
      this.requests.releaseIn(batch, claims, by);
      const released = claims.length > 0 ? { released_by: releasedBy(pool, by) } : {};
      this.pools.putIn(batch, { ...pool, ...released, removing: true, removed_by: by });
      if (!pool.removing) this.pools.tellIn(batch, 'service-pool.removing', pool, by);
      const anew = { failures: 0, notBeforeMs: 0, waitsFor: null };
      batch.onStored(() => void Object.assign(this.memories.of(id), anew));
      return true;
    });
  }

  ownerOf(chainId: string): string | null {
    const pool = this.poolOf(chainId);
    return pool ? `the service pool "${pool.definition.name}"` : null;
  }

  giveUp(chainId: string, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const pool = this.poolOf(chainId);
      if (!pool) return;
      if (pool.operation_id !== null) throw conflict('It is being deployed.');
      this.pools.putIn(batch, { ...pool, given_up: true, failed: `It was given up by ${by}; take it down.` });
    });
  }

  private poolOf(chainId: string): StoredPool | undefined {
    return this.pools.all().find(({ chain_id }) => chain_id === chainId);
  }

  private async run(run: LoopRun): Promise<RunOutcome | undefined> {
    const pool = this.pools.find(run.key);
    if (!pool) {
      this.memories.forget(run.key);
      return { again: 'done' };
    }
    const memory = this.memories.of(run.key);
    if (pool.operation_id !== null) {
      const operation = this.deployer.operation(pool.operation_id) ?? (await this.operations.get(pool.operation_id));
      if (operation && !isOver(operation)) return this.await(run, pool, operation);
      if (!operation && pool.removing) {
        await this.collections.commit((batch) =>
          this.pools.putIn(batch, { ...this.pools.get(run.key), operation_id: null }),
        );
        return { again: 0 };
      }
      const leftMs = memory.notBeforeMs - performance.now();
      if (!operation && leftMs > 0) return { again: leftMs };
      if (operation) await this.settle(pool, operation.id, endingOf(operation, memory.ended++));
      else await this.submit(run, pool, pool.operation_id);
      return { again: 0 };
    }
    if (pool.removing) {
      const { collections, pools, chains, deployer, view } = this;
      return takeDown(run, pool, { collections, pools, chains, deployer, view, memory });
    }
    const dueMs = pool.ready ? await this.chooseAgain(run, pool) : [];
    const { requests, decider } = this;
    const lateMs = pool.ready ? await seekForLate(run, run.key, { requests, decider, ...memory }) : null;
    if (lateMs !== null) dueMs.push(lateMs);
    if (memory.crowded) await this.decideAnew(run, run.key);
    const leftMs = pool.given_up ? 0 : memory.notBeforeMs - performance.now();
    if (leftMs > 0) dueMs.push(leftMs);
    else if (await this.begin(run, pool.definition.name)) return { again: 0 };
    if (this.view.isWaiting) dueMs.push(AGAIN_MS);
    return dueMs.length > 0 ? { again: Math.max(1, Math.min(...dueMs)) } : undefined;
  }

  /** An operation that cannot go on without a server that the pool has lost makes way for one that can. */
  private async await({ decide, step }: LoopRun, pool: StoredPool, { id, state, set_aside, error }: Operation) {
    const { all } = this.view.stateOf(pool, [], []);
    const lost = all.find(({ instance_id, usable }) => instance_id !== null && !usable);
    if (set_aside !== null || (state === 'FAILED_TEMP' && lost)) {
      const why = error?.detail ?? 'it cannot go on';
      decide({ subject: pool.definition.name, what: 'Take the operation back', why, inputs: { operation: id } });
      await step(this.deployer.takeBack(id, `${why} (made way for the rest of the pool)`, BY));
    }
    return { again: AGAIN_MS };
  }

  /** Gives an operation its id, and with it the requests that it is to enforce; false: there is nothing to do. */
  private begin({ decide }: LoopRun, id: string): Promise<boolean> {
    return this.collections.commit((batch) => {
      const pool = this.pools.get(id);
      if (pool.given_up || pool.removing) return false;
      const { released_by = [], ...rest } = pool;
      const held = this.requests.heldOf(id);
      const waiting = held.filter(({ state }) => state === 'requested');
      const running = this.view.deployedOf(pool);
      const wanted = this.wanted(pool, held);
      if (running && isDeepStrictEqual(running, wanted)) {
        // They take ways that their pool has with their classes already.
        this.requests.changeIn(batch, waiting, { state: 'active', former: null }, 'service-request.active');
        if (pool.failed !== null || released_by.length > 0) this.pools.putIn(batch, { ...rest, failed: null });
        return false;
      }
      const memory = this.memories.of(id);
      const { refused } = memory;
      if (refused?.surroundings === this.surroundings.now() && isDeepStrictEqual(refused.chain, wanted)) return false;
      const number = pool.operations + 1;
      const operation_id = `op-${pool.chain_id}-${number}`;
      memory.begun = { id: operation_id, chain: wanted };
      const names = new Set([...waiting.map(({ by }) => by), ...released_by]);
      const asked_by = names.size === 1 ? [...names][0]! : pool.by;
      this.pools.putIn(batch, { ...rest, operation_id, operations: number, asked_by });
      this.requests.changeIn(batch, waiting, { state: 'deploying', operation_id });
      const what = running ? `Change the ways of ${id}` : `Deploy ${id}`;
      const why = waiting.length > 0 ? 'requests were accepted' : running ? 'requests were released' : 'it is declared';
      decide({ subject: id, what, why, inputs: { requests: held.length, waiting: waiting.length } });
      return true;
    });
  }

  /** The chain of the pool with all requests that hold capacity. */
  private wanted(pool: StoredPool, held = this.requests.heldOf(pool.definition.name)): ChainDefinition {
    const { kept } = this.view.waysOf(pool, held, this.worksIn(pool));
    return poolChain(pool.definition, pool.instances, held.map(heldRequest), kept);
  }

  private worksIn(pool: StoredPool): (instance: string) => boolean {
    const { state } = this.view.stateOf(pool, [], []);
    const working = new Set(state.instances.map(({ id }) => id));
    return (id) => working.has(id);
  }

  /** Asking again after a restart changes nothing twice: the id of the operation is stored before. */
  private async submit({ step }: LoopRun, pool: StoredPool, id: string): Promise<void> {
    const { chain_id, instances, asked_by: by = pool.by } = pool;
    const { begun } = this.memories.of(pool.definition.name);
    const chain = begun?.id === id ? begun.chain : this.wanted(pool);
    try {
      const version = await step(this.chains.keep(chain_id, chain, by));
      // What runs stays where it is, or goes back to software where its slot has failed.
      const running = new Set(this.view.deployedOf(pool)?.nodes.map((node) => node.id));
      const added = new Set(chain.nodes.flatMap((node) => (running.has(node.id) ? [] : node.id)));
      const implementations = instances.flatMap(({ id: node_id, slot }) =>
        slot && added.has(node_id) ? [ImplementationChoice.parse({ chain_id, node_id, on: 'board', slot })] : [],
      );
      await step(
        this.deployer.change({ chains: [{ chain_id, version }], implementations }, { id, kind: 'deploy', by }),
      );
      Object.assign(this.memories.of(pool.definition.name), { waitsFor: null, late: null });
    } catch (error) {
      await this.settle(pool, id, this.meaningOf(pool, id, refusalOf(error)));
    }
  }

  /**
   * What a refusal means to the pool. One that ran and was left out waits until there is room. To decide anew helps no
   * request that had room by that already, and no pool without requests that wait.
   */
  private meaningOf(pool: StoredPool, id: string, given: Refusal): Ending {
    const { name } = pool.definition;
    const memory = this.memories.of(name);
    const surroundings = this.surroundings.now();
    if (given.is !== 'late') memory.late = null;
    const refusal = given.is === 'late' ? endingOfLate(given.why, takeLate(memory, surroundings)) : given;
    if (refusal.is !== 'passing' && this.view.isLeftOut(pool)) return { is: 'passing', why: refusal.why };
    if (refusal.is !== 'crowded') return refusal;
    const isVain = memory.roomIn === surroundings;
    const helps = !isVain && this.requests.claimsOf(name).some((it) => isOf(it, id));
    return helps ? refusal : { is: 'final', why: refusal.why };
  }

  /** An attempt is over: its requests are active, wait for the next one, or are refused with the reason. */
  private async settle({ definition: { name } }: StoredPool, id: string, ending: Ending): Promise<void> {
    const memory = this.memories.of(name);
    const refused = ending.is === 'final' ? { chain: this.wanted(this.pools.get(name)) } : null;
    await this.collections.commit((batch) => {
      const pool = this.pools.get(name);
      if (pool.operation_id !== id) return;
      const own = this.requests.claimsOf(name).filter((it) => isOf(it, id));
      switch (ending.is) {
        case 'done':
          this.requests.changeIn(batch, own, { state: 'active', former: null }, 'service-request.active');
          this.pools.putIn(batch, { ...this.asItRuns(pool), operation_id: null, ready: true, failed: null });
          return;
        case 'passing':
        case 'crowded':
          this.requests.changeIn(batch, own, { state: 'requested', operation_id: null });
          this.pools.putIn(batch, {
            ...pool,
            operation_id: null,
            released_by: releasedBy(pool, pool.asked_by ?? pool.by),
          });
          return;
        case 'final':
          this.giveUpIn(batch, own, `It could not be deployed. ${ending.why}`);
          this.pools.putIn(batch, { ...this.withoutFailed(pool), operation_id: null, failed: ending.why });
      }
    });
    takeNote(memory, ending, performance.now());
    // Others are tried again without those that were refused.
    memory.refused = refused && { ...refused, surroundings: this.surroundings.now() };
  }

  /** Requests without the ways that were to be enforced: late ones keep those that they have, and others are refused. */
  private giveUpIn(batch: Batch, requests: readonly StoredRequest[], why: string): void {
    const refused = requests.filter(({ former }) => former === null);
    this.requests.changeIn(batch, refused, { state: 'refused', way: null, why }, 'service-request.refused');
    const late = requests.filter(({ former }) => former !== null);
    for (const it of late) this.requests.changeIn(batch, [it], { state: 'late', way: it.former, former: null, why });
    this.requests.tellIn(batch, 'service-request.late', late);
  }

  /** With instances in software that have left their slots for good, so that these are free for others. */
  private asItRuns(pool: StoredPool): StoredPool {
    const running = new Map(this.view.stateOf(pool, [], []).all.map((it) => [it.id, it]));
    return {
      ...pool,
      instances: pool.instances.map((it) => {
        const now = running.get(it.id);
        return now?.instance_id && it.slot && now.slot === null ? { ...it, on: 'software', slot: null } : it;
      }),
    };
  }

  /** After a failure, without instances on boards that never came to run. */
  private withoutFailed(pool: StoredPool): StoredPool {
    const running = new Set(this.view.deployedOf(pool)?.nodes.map(({ id }) => id));
    const used = this.requests.heldOf(pool.definition.name).filter(({ state }) => state !== 'deploying');
    return {
      ...pool,
      instances: pool.instances.filter(
        ({ id, slot }) => !slot || running.has(id) || used.some(({ way }) => passes(way, id)),
      ),
    };
  }

  /**
   * Looks for other ways where instances have failed, and for any way for broken requests, the oldest first. When to look
   * again, in ms.
   */
  private async chooseAgain({ decide, signal, step, holdDeadline }: LoopRun, pool: StoredPool): Promise<number[]> {
    const { name } = pool.definition;
    const memory = this.memories.of(name);
    const works = this.worksIn(pool);
    const failedOf = ({ way }: StoredRequest) => way?.stages.find(({ instance }) => !works(instance))?.instance;
    const all = this.requests.oldestFirst(this.requests.claimsOf(name));
    const lost = all.filter((it) => holds(it) && failedOf(it) !== undefined);
    const broken = all.filter(({ state }) => state === 'broken');
    if (lost.length + broken.length === 0) return [];
    const nowMs = performance.now();
    if (lost.length === 0 && nowMs < memory.anewMs) return [memory.anewMs - nowMs];
    if (lost.length > 0)
      decide({
        subject: name,
        what: `Choose ${lost.length} ways anew`,
        why: `${failedOf(lost[0]!)} does not work`,
        inputs: { requests: lost.length },
      });
    const why = (it: StoredRequest) =>
      it.way ? `${failedOf(it)} does not work.` : (it.why ?? '').replace(/ does not work\..*$/s, ' does not work.');
    const again = { without: 'broken', why, signal, begins: holdDeadline() } as const;
    const found = await step(this.decider.chooseAgain([...lost, ...broken], again));
    memory.vain = lost.length > 0 || found > 0 ? 0 : memory.vain + 1;
    const againMs = backoffMs(memory.vain, ANEW.firstMs, ANEW.mostMs);
    memory.anewMs = performance.now() + againMs;
    return this.requests.claimsOf(name).some(({ state }) => state === 'broken') ? [againMs] : [];
  }

  /** Decides once more on requests that wait: others came first to what they were accepted by. */
  private async decideAnew({ decide, signal, step, holdDeadline }: LoopRun, name: string): Promise<void> {
    const memory = this.memories.of(name);
    const surroundings = this.surroundings.now();
    const waiting = this.requests.claimsOf(name).filter(({ state }) => state === 'requested');
    const why = memory.waitsFor ?? 'the switches have no room';
    decide({ subject: name, what: `Decide on ${waiting.length} requests anew`, why, inputs: {} });
    const refusal = () => 'It could not be deployed.';
    const again = { without: 'refused', why: refusal, signal, begins: holdDeadline() } as const;
    const found = await step(this.decider.chooseAgain(this.requests.oldestFirst(waiting), again));
    memory.crowded = false;
    memory.roomIn = found === waiting.length ? surroundings : null;
  }
}

/** Whether the operation enforces the request. */
function isOf({ state, operation_id }: StoredRequest, operationId: string): boolean {
  return state === 'deploying' && operation_id === operationId;
}
