import type {
  KeptReading,
  ObservedSwitch,
  P4ProgramFiles,
  PacketTraces,
  SwitchAbilities,
  SwitchDescription,
  SwitchNode,
  SwitchSpec,
} from '@orrery/contract';

export const SWITCH_FLEET = Symbol('SwitchFleet');

/** The switches' agents. */
export interface SwitchFleet {
  /** The agent's last report; null: none. */
  observedSwitch(id: string): ObservedSwitch | null;
  /** Abilities of the switch at the agent's last connection; null: not known yet. */
  switchAbilities(id: string): SwitchAbilities | null;
  /** Abilities that the switch has by a driver, as its agent told at its last connection; null: it has not told. */
  switchAbilitiesBy(id: string, driver: string): SwitchAbilities | null;
  /** Description of the switch at the agent's last connection; null: not known yet. */
  switchDescription(id: string): SwitchDescription | null;
  isConnected(id: string): boolean;
  /** When the agent said hello on the connection that it has now, by a monotonic clock; null: it has none. */
  connectedSinceMs(id: string): number | null;
  /**
   * Sends the agent the desired state of its switch, now and on every connection, with the P4 program that the specification
   * names by its hash.
   */
  setDesiredSwitch(id: string, spec: SwitchSpec, program?: P4ProgramFiles): void;
  /** Throws if the agent is away or refuses. */
  traces(id: string, method: 'arm_traces' | 'read_traces', params: Record<string, unknown>): Promise<PacketTraces>;
  /** Throws if the agent is away or refuses. */
  program(id: string, method: 'read_program' | 'read_cells', params: Record<string, unknown>): Promise<unknown>;
  /** The flows of a split that the switch keeps. Throws if the agent is away or refuses. */
  kept(id: string, split: number, signal?: AbortSignal): Promise<KeptReading>;
  /** Called with the switch or server whose connection or report has changed. */
  onChange(listener: (id: string) => void): void;
}

/** Whether a switch is silent, or its agent tells of nothing but a failure. Packets may pass all the same. */
export function isUnheard(fleet: Pick<SwitchFleet, 'isConnected' | 'observedSwitch'>, id: string): boolean {
  return !fleet.isConnected(id) || fleet.observedSwitch(id)?.state === 'failed';
}

type Known = Pick<SwitchFleet, 'switchAbilities' | 'switchAbilitiesBy'>;
type Node = Pick<SwitchNode, 'id' | 'origin' | 'driver'>;

/** Abilities of a switch by the driver that it is to run, also while it still runs another; null: not known yet. */
export function abilitiesOf(fleet: Known, { id, origin, driver }: Node): SwitchAbilities | null {
  const told = origin === 'twin' ? fleet.switchAbilitiesBy(id, driver) : null;
  return told ?? fleet.switchAbilities(id);
}

/** The driver that a switch of the twin still runs instead of the one that it is to run; null: none, or not known. */
export function formerDriver(
  fleet: Pick<SwitchFleet, 'switchDescription'>,
  { id, origin, driver }: Node,
): string | null {
  const runs = fleet.switchDescription(id)?.driver ?? driver;
  return origin === 'twin' && runs !== driver ? runs : null;
}
