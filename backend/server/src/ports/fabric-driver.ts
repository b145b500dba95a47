import type { FabricRule, FabricSpec, NfInstance, SwitchInstance, SwitchNode } from '@orrery/contract';

export const FABRIC = Symbol('FabricDriver');
export const FABRIC_VIEW = Symbol('FabricView');

/**
 * Of the time of a step: a switch that gets another driver is built anew, and its agent started, before it can take rules. What
 * takes longer is taken back.
 */
export const TIMEOUTS_OF_A_DRIVER = 2;

/** What an operation makes of the rules, whatever phase it is in. */
export interface RuleChange {
  /** In force. */
  readonly before: readonly FabricRule[];
  readonly after: readonly FabricRule[];
}

export interface FabricWait {
  readonly signal: AbortSignal;
  /** `all`: of the switches that carry the change; `able`: those of them that are connected and do not fail. */
  readonly for: 'all' | 'able';
  /** Switches that are built anew, by another driver: they are waited for whatever becomes of them meanwhile. */
  readonly rebuilt?: readonly string[];
  /** Told what each switch lacks that is waited for, when that changes. */
  readonly lagging?: (lags: ReadonlyMap<string, string>) => Promise<void>;
}

/** The switches between the servers. */
export interface FabricDriver {
  /** Switches with entries, before or after, of a chain whose rules change. */
  carriersOf(change: RuleChange): ReadonlySet<string>;
  /**
   * Tells every switch its rules of the spec, and maintains them. Resolves when the carriers of the change have installed them.
   * Rejects with the error, with SwitchesAway as soon as only switches are missing whose agents are away, and on abort.
   */
  apply(spec: FabricSpec, change: RuleChange, wait: FabricWait): Promise<void>;
}

/** Only switches whose agents are not connected have not installed their rules. */
export class SwitchesAway extends Error {
  constructor(
    readonly switches: readonly string[],
    message: string,
  ) {
    super(message);
  }
}

export interface SwitchTrouble {
  readonly what: string;
  /** The switch whose trouble it is, if it is being built anew by another driver and the time for that is not over; else null. */
  readonly rebuilt: string | null;
}

/** State of the switches, for other modules. */
export interface FabricView {
  /** Why the switches that carry a chain do not forward as desired; empty: they do, or their twin is off. */
  troublesOf(chainId: string): readonly SwitchTrouble[];
  /** The switches that were told exceptions of a split by one of these rules, each with its numbers of the splits. */
  withExceptions(rules: ReadonlySet<string>): ReadonlyMap<string, readonly number[]>;
  /** An NF on a switch runs once the switch holds its entries, by the driver that it is to run. */
  nfState(instance: Pick<SwitchInstance, 'id' | 'switch'>): Pick<NfInstance, 'state' | 'detail'>;
  /** Why what the agent of a switch tells is not about the switch as it is to be, while its driver changes; null: it is. */
  lackOf(node: SwitchNode): string | null;
  onChange(listener: () => void): void;
}
