import type { NfRef, Origin } from '@orrery/contract';
import type { LendingCandidate } from '@orrery/planner';
import type { Holding } from './ledger.js';

/** How accelerators of one kind are taken and given back, and what is known of them. */
export interface Accelerate {
  /** What `has` says is of now; false: reports may be older than the last call. */
  readonly isCertain: boolean;
  originOf(accelerator: string): Origin;
  /** Whether the VNF could use it if it were free. */
  fits(vnf: LendingCandidate, accelerator: string): boolean;
  /** Whether the agent that drives it has a connection. */
  answers(accelerator: string): boolean;
  /** Whether it may be given to somebody. */
  works(accelerator: string): boolean;
  /** An instance that uses it, lent or not; null: none does. */
  userOf(accelerator: string): string | null;
  /** Whether the holder has it; null: that is not known now. */
  has(holding: Holding): boolean | null;
  /** Whether what is said of the holder is of now. */
  isHeard(holding: Holding): boolean;
  /** Whether the plan has the VNF where it can have the accelerator. */
  isPlannedFor(holding: Holding): boolean;
  /** Whether the VNF does not run there: then it has nothing. */
  isStopped(holding: Holding): boolean;
  /** Why it cannot be given to an NF now, as a sentence; null: it can. */
  hindrance(accelerator: string, nf: NfRef): string | null;
  /** Resolves when the VNF has it, or has it no longer; throws if that is refused or not answered. */
  switchTo(holding: Holding, accelerated: boolean, signal: AbortSignal): Promise<void>;
}
