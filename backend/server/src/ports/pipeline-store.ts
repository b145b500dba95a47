import type { Pipeline, PipelineDefinition, PipelineProblem, PipelineVersion, PlannedPipeline } from '@orrery/contract';
import type { Transaction } from '../platform/redis.js';

export const PIPELINES = Symbol('PipelineStore');

export interface Publication {
  /** Of each planned pipeline, by id. */
  readonly versions: ReadonlyMap<string, number>;
  /** Whether any version is new. */
  readonly isNew: boolean;
  /** Stores what is new. */
  writeIn(transaction: Transaction): void;
}

export interface PipelineStore {
  /** Throws 404. */
  get(id: string): Promise<Pipeline>;
  /** Throws 404. */
  version(id: string, version: number): Promise<PipelineVersion>;
  /**
   * Runs `work` while no pipeline changes. A planned draft (version 0) becomes the newest version when it equals that, else
   * a new one. Throws 404 when a pipeline is gone, 409 when a draft is not as planned, 422 when it has errors.
   */
  publishing<T>(
    planned: readonly PlannedPipeline[],
    by: string,
    work: (publication: Publication) => Promise<T>,
  ): Promise<T>;
  problemsOf(definition: PipelineDefinition): PipelineProblem[];
}
