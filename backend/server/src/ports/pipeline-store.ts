import type { Pipeline, PipelineDefinition, PipelineProblem, PipelineVersion } from '@orrery/contract';

export const PIPELINES = Symbol('PipelineStore');

export interface PipelineStore {
  /** Throws 404. */
  get(id: string): Promise<Pipeline>;
  /** Throws 404. */
  version(id: string, version: number): Promise<PipelineVersion>;
  /**
   * The newest version when the draft equals it, else a new one. Throws 422 when the draft has errors and 409 when it is
   * not `expected`.
   */
  publishDraft(id: string, by: string, expected?: PipelineDefinition): Promise<PipelineVersion>;
  problemsOf(definition: PipelineDefinition): PipelineProblem[];
}
