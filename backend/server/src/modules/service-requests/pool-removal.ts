import type { Operation } from '@orrery/contract';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import type { Collections } from '../../platform/durable-collection/collections.js';
import type { ChainStore } from '../../ports/chain-store.js';
import type { Deployer } from '../../ports/deployer.js';
import { endedBy, isOver } from '../../ports/operation-log.js';
import { endingOf, refusalOf } from './endings.js';
import { type Memory, takeNote } from './memories.js';
import type { PoolView } from './pool-view.js';
import type { Pools } from './pools.js';
import type { StoredPool } from './stored.js';

/** Until a removal under way is looked at again. */
const AGAIN_MS = 2000;

interface TakenFrom {
  readonly collections: Collections;
  readonly pools: Pools;
  readonly chains: ChainStore;
  readonly deployer: Deployer;
  readonly view: PoolView;
  /** Of the pool. */
  readonly memory: Memory;
}

/**
 * Takes a pool down that is to go. What is refused or comes to nothing is asked for again, and the pool says why; it stays where
 * somebody cancels that, or rolls it back.
 */
export async function takeDown({ step }: LoopRun, pool: StoredPool, from: TakenFrom): Promise<RunOutcome> {
  const { chain_id, definition, operations, removed_by: by = pool.by } = pool;
  const { collections, pools, chains, deployer, view, memory } = from;
  if (!view.isDeployed(pool)) {
    await step(chains.drop(chain_id, by));
    await collections.commit((batch) => pools.removeIn(batch, pool, by));
    return { again: 'done' };
  }
  const leftMs = memory.notBeforeMs - performance.now();
  if (leftMs > 0) return { again: leftMs };
  const id = `op-${chain_id}-${operations + 1}-removal`;
  const asked = await step(askedOf(deployer, chain_id, { id, kind: 'undeploy', by }));
  if (typeof asked === 'string') return waitFor(memory, asked);
  const operation = deployer.operation(id) ?? asked;
  if (!isOver(operation)) memory.waitsFor = delayOf(operation);
  else if (view.isDeployed(pool)) {
    const ending = endingOf(operation, 0);
    const why = ending.is === 'done' ? null : ending.why;
    const isCancelled = endedBy(operation) !== null;
    await collections.commit((batch) => {
      const failed = isCancelled ? why : null;
      const now = pools.get(definition.name);
      pools.putIn(batch, { ...now, removing: !isCancelled, failed, operations: operations + 1 });
    });
    if (why !== null && !isCancelled) return waitFor(memory, why);
  }
  return { again: AGAIN_MS };
}

/** The operation, or why it was refused. */
async function askedOf(
  deployer: Deployer,
  chainId: string,
  operation: Pick<Operation, 'id' | 'kind' | 'by'>,
): Promise<Operation | string> {
  try {
    return await deployer.change({ remove: [chainId] }, operation);
  } catch (error) {
    return refusalOf(error).why;
  }
}

function waitFor(memory: Memory, why: string): RunOutcome {
  const nowMs = performance.now();
  takeNote(memory, { is: 'passing', why }, nowMs);
  return { again: memory.notBeforeMs - nowMs };
}

/** Why an operation under way does not go on; null: it does. */
function delayOf({ set_aside, error }: Operation): string | null {
  return set_aside ? `It waits for ${set_aside.waiting_for.join(', ')}.` : (error?.detail ?? null);
}
