import type { ObservedSwitch, PacketTraces, SwitchAbilities, SwitchDescription, SwitchSpec } from '@orrery/contract';

export const SWITCH_FLEET = Symbol('SwitchFleet');

/** The switches' agents. */
export interface SwitchFleet {
  /** The agent's last report; null: none. */
  observedSwitch(id: string): ObservedSwitch | null;
  /** Abilities of the switch at the agent's last connection; null: not known yet. */
  switchAbilities(id: string): SwitchAbilities | null;
  /** Description of the switch at the agent's last connection; null: not known yet. */
  switchDescription(id: string): SwitchDescription | null;
  isConnected(id: string): boolean;
  /** Sends the agent the desired state of its switch, now and on every connection. */
  setDesiredSwitch(id: string, spec: SwitchSpec): void;
  /** Throws if the agent is away or refuses. */
  traces(id: string, method: 'arm_traces' | 'read_traces', params: Record<string, unknown>): Promise<PacketTraces>;
  /** Called with the switch or server whose connection or report has changed. */
  onChange(listener: (id: string) => void): void;
}
