import type { NfMove, NfRef, Reconfiguration, ReconfigurationRequest } from '@orrery/contract';

export const RECONFIGURER = Symbol('Reconfigurer');

/** Who requests a reconfiguration, and why. */
export interface Cause extends Pick<Reconfiguration, 'cause' | 'trigger' | 'policy_id'> {
  readonly by: string;
  /** Chains of a higher priority must keep their objectives. */
  readonly priority: number;
}

/** What an NF ran as before it was moved to a board, on which server and as which instance. */
export interface FormerPlace {
  readonly on: 'software' | 'container';
  readonly server: string;
  readonly instance: string;
}

/** Priority of a chain without a policy. */
export const USUAL_PRIORITY = 50;

/**
 * Moves NFs between software and boards. Reconfigurations of different chains and boards run concurrently; an overlapping
 * one is refused with 409 that names the other. A refusal because of its effect is recorded, not thrown.
 */
export interface Reconfigurer {
  /** Throws 409, and 422 that names the field. */
  request(request: ReconfigurationRequest, cause: Cause): Promise<Reconfiguration>;
  /** Undoes the moves of an earlier reconfiguration. Throws 409. Null if the NF is not on a board. */
  back(nf: NfRef, moves: readonly NfMove[], cause: Cause): Promise<Reconfiguration | null>;
  /**
   * Moves an NF off its board to what it ran as before, and on the server where it ran if there is room. Throws 409. Null if
   * the NF is not on a board.
   */
  home(nf: NfRef, place: FormerPlace, cause: Cause): Promise<Reconfiguration | null>;
  /** Moves NFs out of slots that do not work to software. Throws 409. Null if there is nothing to move. */
  leaveBroken(cause: Cause): Promise<Reconfiguration | null>;
  /** The reconfiguration in progress that holds the NF's chain; null: none. */
  holderOf(nf: NfRef): string | null;
  find(id: string): Reconfiguration | undefined;
  /** Called with every reconfiguration that has ended. */
  onEnd(listener: (run: Reconfiguration) => void): void;
}
