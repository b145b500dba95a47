import type { Deployment, NodeSpec, Plan } from '@orrery/contract';

export const DEPLOYMENT_VIEW = Symbol('DeploymentView');

/** What is deployed, as everyone else needs to know it. */
export interface DeploymentView {
  deployments(): readonly Deployment[];
  deployment(pipelineId: string): Deployment | undefined;
  /** The plan that nodes and fabric were last told to follow; null: none, or nothing is left of it. */
  readonly plan: Plan | null;
  /** The plan that runs when every accepted operation is done: what the next plan builds on. */
  readonly comingPlan: Plan | null;
  /** Servers that hold instances, hops or exits. */
  serversInUse(): ReadonlySet<string>;
  /** Hosts whose traffic the fabric leads, or is to lead, into chains. */
  hostsInUse(): ReadonlySet<string>;
  /** Exits by id, with the servers that have them. */
  exits(): ReadonlyMap<string, ExitView>;
  onChange(listener: () => void): void;
}

export interface ExitView {
  readonly pipeline_id: string;
  readonly direction: NodeSpec['exits'][number]['direction'];
  readonly servers: readonly string[];
}
