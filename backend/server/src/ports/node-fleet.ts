import type {
  BoardDescription,
  InstanceSpec,
  JoinToken,
  NodeSpec,
  NodeStatus,
  Observed,
  Origin,
} from '@orrery/contract';

export const FLEET = Symbol('NodeFleet');

export type CallMethod = 'get_instance_state' | 'export_state' | 'import_state';

/** The servers' agents. */
export interface NodeFleet {
  statuses(): NodeStatus[];
  status(node: string): NodeStatus | undefined;
  /** What the agent last reported; null: nothing since the server knows of it. */
  observed(node: string): Observed | null;
  isConnected(node: string): boolean;
  originOf(node: string): Origin;
  /** What the agent said of a board when it last connected; null: nothing. */
  boardOf(node: string, board: string): BoardDescription | null;
  /**
   * Whether NFs may run by the driver: the agent offered it when it last connected, or something that works runs by it and
   * is not to be moved because, say, Docker restarts. What is new there waits until the driver is back.
   */
  offers(node: string, driver: InstanceSpec['driver']): boolean;
  /** Tells the agent what to be, now and whenever it connects. */
  setDesired(node: string, spec: NodeSpec): void;
  /** Throws 502 when the agent is away, refuses or does not answer in time. */
  call(node: string, method: CallMethod, instanceId: string, params: Record<string, unknown>): Promise<unknown>;
  issueJoinToken(node: string): Promise<JoinToken>;
  /** Called with the node whose connection or report changed. */
  onChange(listener: (node: string) => void): void;
}
