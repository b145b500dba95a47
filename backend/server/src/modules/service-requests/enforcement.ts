import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ImplementationChoice, type Operation } from '@orrery/contract';
import { poolChain } from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { ProblemError } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { heldRequest, PoolView, passes } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import { holds, type StoredPool } from './stored.js';

const BACKOFF = { firstMs: 500, mostMs: 10_000 };
const DEADLINE_MS = 30_000;
/** Until a broken request is tried again, or an operation is looked at again. */
const AGAIN_MS = 2000;
/** Broken requests that are tried again in one run. */
const MOST_AGAIN = 500;

/** Makes what is accepted run: one operation of a pool for all requests that wait for it (decision 0065). */
@Injectable()
export class Enforcement implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(Pools) private readonly pools: Pools,
    @Inject(Requests) private readonly requests: Requests,
    @Inject(PoolView) private readonly view: PoolView,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(DEPLOYMENT_VIEW) private readonly deployments: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(BOARDS) private readonly boards: BoardView,
  ) {
    this.loop = loops.add({
      id: 'service-requests',
      title: 'Service requests',
      purpose:
        'Brings accepted service requests into their pools, and finds other ways for those whose instances fail.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.pools.onChange((ids) => ids.forEach((id) => void this.loop.wake(id)));
    this.requests.onChange((ids) => ids.forEach((id) => void this.loop.wake(id)));
    const wakeAll = () => {
      for (const { definition } of this.pools.all()) this.loop.wake(definition.name);
    };
    this.deployments.onChange(wakeAll);
    this.fleet.onChange(wakeAll);
    this.boards.onChange(wakeAll);
    wakeAll();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Has the pool taken down, unless requests use it; false: some do. */
  remove(id: string): Promise<boolean> {
    return this.collections.commit((batch) => {
      const pool = this.pools.get(id);
      if (this.requests.heldOf(id).length > 0) return false;
      this.pools.putIn(batch, { ...pool, removing: true });
      return true;
    });
  }

  private async run(run: LoopRun): Promise<RunOutcome | undefined> {
    const pool = this.pools.find(run.key);
    if (!pool) return { again: 'done' };
    if (pool.operation_id !== null) {
      const operation = this.deployer.operation(pool.operation_id) ?? (await this.operations.get(pool.operation_id));
      if (operation && !isOver(operation)) return { again: AGAIN_MS };
      if (operation) await this.settle(pool, operation.id, failureOf(operation));
      else await this.submit(run, pool, pool.operation_id);
      return { again: 0 };
    }
    if (pool.removing) return this.takeDown(run, pool);
    const isWaiting = await this.chooseAgain(run, pool);
    if (await this.begin(run, pool.definition.name)) return { again: 0 };
    return isWaiting || this.view.isWaiting ? { again: AGAIN_MS } : undefined;
  }

  /** Gives an operation its id, and with it the requests that it is to enforce; false: there is nothing to do. */
  private begin({ decide }: LoopRun, id: string): Promise<boolean> {
    return this.collections.commit((batch) => {
      const pool = this.pools.get(id);
      const held = this.requests.heldOf(id);
      const waiting = held.filter(({ state }) => state === 'requested');
      const running = this.view.deployedOf(pool);
      if (running && isDeepStrictEqual(running, this.wanted(pool))) return false;
      if (pool.failed !== null && waiting.length === 0) return false;
      const number = pool.operations + 1;
      const operation_id = `op-${pool.chain_id}-${number}`;
      this.pools.putIn(batch, { ...pool, operation_id, operations: number });
      this.requests.changeIn(batch, waiting, { state: 'deploying', operation_id });
      const what = running ? `Change the ways of ${id}` : `Deploy ${id}`;
      const why = waiting.length > 0 ? 'requests were accepted' : running ? 'requests were released' : 'it is declared';
      decide({ subject: id, what, why, inputs: { requests: held.length, waiting: waiting.length } });
      return true;
    });
  }

  /** The chain of the pool with all requests that hold capacity. */
  private wanted(pool: StoredPool) {
    const held = this.requests.heldOf(pool.definition.name);
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
    const { chain_id, by, instances } = pool;
    try {
      const version = await step(this.chains.keep(chain_id, this.wanted(pool), by));
      // What runs stays where it is, or goes back to software where its slot has failed.
      const running = new Set(this.view.deployedOf(pool)?.nodes.map((node) => node.id));
      const implementations = instances.flatMap(({ id: node_id, slot }) =>
        slot && !running.has(node_id) ? [ImplementationChoice.parse({ chain_id, node_id, on: 'board', slot })] : [],
      );
      await step(
        this.deployer.change({ chains: [{ chain_id, version }], implementations }, { id, kind: 'deploy', by }),
      );
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status >= 500) throw error;
      await this.settle(pool, id, error.message);
    }
  }

  /** An operation is over: its requests are active, or refused with the reason. */
  private settle({ definition: { name } }: StoredPool, id: string, failure: string | null): Promise<void> {
    return this.collections.commit((batch) => {
      const pool = this.pools.get(name);
      if (pool.operation_id !== id) return;
      const own = this.requests.of(name).filter((it) => it.state === 'deploying' && it.operation_id === id);
      if (failure === null) this.requests.changeIn(batch, own, { state: 'active' }, 'service-request.active');
      else
        this.requests.changeIn(
          batch,
          own,
          { state: 'refused', way: null, why: `It could not be deployed. ${failure}` },
          'service-request.refused',
        );
      const ready = pool.ready || failure === null;
      this.pools.putIn(batch, { ...this.withoutFailed(pool, failure), operation_id: null, ready, failed: failure });
    });
  }

  /** After a failure, without instances on boards that never came to run. */
  private withoutFailed(pool: StoredPool, failure: string | null): StoredPool {
    if (failure === null) return pool;
    const running = new Set(this.view.deployedOf(pool)?.nodes.map(({ id }) => id));
    const used = this.requests.heldOf(pool.definition.name).filter(({ state }) => state !== 'deploying');
    return {
      ...pool,
      instances: pool.instances.filter(
        ({ id, slot }) => !slot || running.has(id) || used.some(({ way }) => passes(way, id)),
      ),
    };
  }

  /** Looks for other ways where instances have failed, and for any way for broken requests; true: some have none. */
  private async chooseAgain({ decide }: LoopRun, { definition: { name }, ready }: StoredPool): Promise<boolean> {
    if (!ready) return false;
    return this.collections.commit((batch) => {
      const pool = this.pools.get(name);
      const works = this.worksIn(pool);
      const failed = ({ way }: { readonly way: { readonly stages: readonly { readonly instance: string }[] } }) =>
        way.stages.find(({ instance }) => !works(instance))?.instance;
      const all = this.requests.of(name);
      const lost = all.filter((it) => holds(it) && failed(it) !== undefined);
      const broken = all.filter(({ state }) => state === 'broken').slice(0, MOST_AGAIN);
      if (lost.length + broken.length === 0) return false;
      if (lost.length > 0)
        decide({
          subject: name,
          what: `Choose ${lost.length} ways anew`,
          why: `${failed(lost[0] as never)} does not work`,
          inputs: { requests: lost.length },
        });
      this.requests.chooseAgainIn(batch, pool, [...lost, ...broken], (it) =>
        it.way
          ? `${failed(it as never)} does not work.`
          : (it.why ?? '').replace(/ does not work\..*$/s, ' does not work.'),
      );
      return true;
    });
  }

  private async takeDown({ step }: LoopRun, pool: StoredPool): Promise<RunOutcome | undefined> {
    const { chain_id, by, definition } = pool;
    if (this.view.isDeployed(pool)) {
      const id = `op-${chain_id}-${pool.operations + 1}-removal`;
      const operation = await step(this.deployer.change({ remove: [chain_id] }, { id, kind: 'undeploy', by }));
      const known = this.deployer.operation(operation.id) ?? operation;
      if (isOver(known) && this.view.isDeployed(pool)) {
        await this.collections.commit((batch) => {
          const failed = failureOf(known);
          this.pools.putIn(batch, {
            ...this.pools.get(definition.name),
            removing: false,
            failed,
            operations: pool.operations + 1,
          });
        });
      }
      return { again: AGAIN_MS };
    }
    await step(this.chains.drop(chain_id, by));
    await this.collections.commit((batch) => this.pools.removeIn(batch, definition.name));
    return { again: 'done' };
  }
}

/** Why an operation came to nothing; null: it did not. */
function failureOf({ state, error }: Operation): string | null {
  if (state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED') return null;
  return error?.detail ?? 'The operation was taken back.';
}
