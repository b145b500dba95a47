import type { Chain, ChainDefinition, ChainProblem, ChainVersion, PlannedChain } from '@orrery/contract';
import type { Batch } from '../platform/durable-collection/collections.js';

export const CHAINS = Symbol('ChainStore');

export interface Publication {
  /** Version of each planned chain, by id. */
  readonly versions: ReadonlyMap<string, number>;
  /** Whether any version is new. */
  readonly isNew: boolean;
  /** Stores what is new. */
  putIn(batch: Batch): void;
}

export interface ChainStore {
  /** Throws 404. */
  get(id: string): Promise<Chain>;
  /** Throws 404. */
  version(id: string, version: number): Promise<ChainVersion>;
  /**
   * Runs `work` while no chain can change. A planned draft (version 0) resolves to the newest version if it is equal to
   * that, otherwise to a new one. Throws 404 if a chain is gone, 409 if a draft has changed since planning, 422 if it has
   * errors.
   */
  publishing<T>(
    planned: readonly PlannedChain[],
    by: string,
    work: (publication: Publication) => Promise<T>,
  ): Promise<T>;
  /**
   * Makes the definition the newest version of a chain that the server keeps itself, and says which that is; creates the chain.
   * Of older versions, those that run or are about to are kept, and a few of the newest. Throws 409 if its name is taken or
   * there is no room, 422 if it has errors.
   */
  keep(id: string, definition: ChainDefinition, by: string): Promise<number>;
  /** Removes such a chain, which may be gone already. Throws 409 while it is deployed. */
  drop(id: string, by: string): Promise<void>;
  /** Whether a chain has the name. */
  isNamed(name: string): Promise<boolean>;
  /** Throws 503 if too many checks wait. */
  problemsOf(definition: ChainDefinition): Promise<ChainProblem[]>;
}
