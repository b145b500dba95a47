import type {
  AgentCapabilities,
  AgentMethod,
  ApplicationsSpec,
  BoardDescription,
  ContainerImage,
  EngineAbility,
  InstanceSpec,
  JoinToken,
  NodeSpec,
  NodeStatus,
  Observed,
  ObservedApplications,
  Origin,
} from '@orrery/contract';

export const FLEET = Symbol('NodeFleet');

/** A call was sent and no answer came: whether the agent did what was asked is unknown. */
export class LostReply extends Error {
  override name = 'LostReply';

  constructor(node: string, why: string) {
    super(`${node}: ${why}`);
  }
}

export type CallMethod = AgentMethod;

/** The servers' agents. */
export interface NodeFleet {
  statuses(): NodeStatus[];
  status(node: string): NodeStatus | undefined;
  /** Whether the infrastructure has the server, or the slot at a switch, to which packets are led. */
  hasPlace(place: string): boolean;
  /** The agent's last report; null: none. */
  observed(node: string): Observed | null;
  /** Whether its agent has been heard lately; one whose process has just ended counts, so that it may be started anew. */
  isConnected(node: string): boolean;
  /** Whether its agent has a connection now: if not, `observed` may be of a process that has ended. */
  hasConnection(node: string): boolean;
  originOf(node: string): Origin;
  /** The agent's description of a board at its last connection; null: none. */
  boardOf(node: string, board: string): BoardDescription | null;
  /**
   * Whether NFs may use the driver: the agent offered it at its last connection, or a working instance uses it and should
   * not be moved just because, for example, Docker restarts. New instances wait until the driver is back.
   */
  offers(node: string, driver: InstanceSpec['driver']): boolean;
  /** Whether the server's containers run unmodified programs, too, as reported at the agent's last connection. */
  containsPrograms(node: string): boolean;
  /** Which programs the server runs as NFs, as reported at the agent's last connection; null: it has not said. */
  legacyNfsOf(node: string): AgentCapabilities['legacy_nfs'] | null;
  /** Why its containers cannot run an image, by the agent's last connection; null: nothing is known that speaks against it. */
  imageLackOf(node: string, image: ContainerImage, isOfUser: boolean): string | null;
  /** Worker threads of the node's engine, as reported at the agent's last connection; null: not reported. */
  workersOf(node: string): number | null;
  /** What the node's engine can run besides NFs, as reported at the agent's last connection. */
  abilitiesOf(node: string): readonly EngineAbility[];
  /** Sends the agent its desired state, now and on every connection. */
  setDesired(node: string, spec: NodeSpec): void;
  /** Sends the agent its applications, now and on every connection. */
  setApplications(node: string, spec: ApplicationsSpec): void;
  /** The agent's last report about its applications; null: none. */
  observedApplications(node: string): ObservedApplications | null;
  /**
   * Throws if the agent is away or refuses, and `LostReply` if it does not answer in time, disconnects, or `signal` aborts
   * before it has answered.
   */
  call(
    node: string,
    method: CallMethod,
    instanceId: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<unknown>;
  /** Whether the infrastructure has the node: no other may join. */
  isKnown(node: string): boolean;
  issueJoinToken(node: string, actor: string): Promise<JoinToken>;
  /** Throws 404 if the node has no credential, 409 if it is emulated. */
  revokeCredential(node: string, actor: string): Promise<void>;
  /** Called with the node whose connection or report has changed. */
  onChange(listener: (node: string) => void): void;
}
