import type { Deployment, DriverChange, NodeSpec, Plan } from '@orrery/contract';

export const DEPLOYMENT_VIEW = Symbol('DeploymentView');

/** The deployment, for other modules. */
export interface DeploymentView {
  deployments(): readonly Deployment[];
  deployment(chainId: string): Deployment | undefined;
  /** Whether packets of the chain, which was left out, are dropped now, or may be once the operations under way are over. */
  isGuarded(chainId: string): boolean;
  /** The plan last sent to nodes and fabric; null: none, or all of it has been removed. */
  readonly plan: Plan | null;
  /** That of the latest operation that came about; null: none has. */
  readonly planInForce: Plan | null;
  /** The plan in effect once every accepted operation is done: the base of the next plan. */
  readonly comingPlan: Plan | null;
  /** An operation is being taken back: until that is over, packets may take what its plan had. */
  readonly isGoingBack: boolean;
  /** What accepted operations will have changed of the drivers of switches by then. */
  readonly comingDrivers: readonly DriverChange[];
  /** Servers that have, or will have, instances, hops or exits. */
  serversInUse(): ReadonlySet<string>;
  /** Hosts whose traffic the fabric steers, or will steer, into chains. */
  hostsInUse(): ReadonlySet<string>;
  /** Exits by id, with the servers that have them. */
  exits(): ReadonlyMap<string, ExitView>;
  onChange(listener: () => void): void;
}

export interface ExitView {
  readonly chain_id: string;
  readonly direction: NodeSpec['exits'][number]['direction'];
  readonly servers: readonly string[];
}
