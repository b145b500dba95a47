import type { Deployment, Plan } from '@orrery/contract';

export const DEPLOYMENT_VIEW = Symbol('DeploymentView');

/** What is deployed, as everyone else needs to know it. */
export interface DeploymentView {
  deployments(): readonly Deployment[];
  deployment(pipelineId: string): Deployment | undefined;
  /** The plan that nodes and fabric were last told to follow; null: none, or nothing is left of it. */
  readonly plan: Plan | null;
  /** Servers that hold instances, hops or exits. */
  serversInUse(): ReadonlySet<string>;
  onChange(listener: () => void): void;
}
