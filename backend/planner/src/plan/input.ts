import type {
  ImplementationChoice,
  Infrastructure,
  NfDescriptor,
  Plan,
  PlannedPipeline,
  PlanOptions,
  SlotRef,
} from '@orrery/contract';
import type { Budget } from '../budget.js';

/** Everything that a plan depends on: the same input gives the same plan. */
export interface PlanInput {
  readonly id: string;
  readonly created_ms: number;
  /** Absent ones have the contract's defaults. */
  readonly options?: Partial<PlanOptions>;
  /** All pipelines that must run afterwards, not only those that change. */
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  /** Only the servers given here may be used. */
  readonly infrastructure: Infrastructure;
  /** By which the caller knows this state of the infrastructure. */
  readonly infrastructure_revision?: number;
  /** The feasible plan that runs now: its instances stay where they are. */
  readonly base: Plan | null;
  /** A plan before `base` that is still in force in part: its instances stay too. */
  readonly before?: Plan | null;
  /** On what NFs must run; those that are not named stay on what they run on, new ones are software unless they cannot. */
  readonly implementations?: readonly ImplementationChoice[];
  /** Servers that offer containers: the only ones on which an NF runs as one. */
  readonly container_servers?: readonly string[];
  /** Slots that only a choice that names them may use. */
  readonly reserved_slots?: readonly SlotRef[];
  /** Slots that do not work: what they ran goes back to software. */
  readonly without_slots?: readonly SlotRef[];
  /** Steps of the placement search; 0 leaves the placement as it was packed. */
  readonly budget: Budget;
}
