import type {
  Calibration,
  DriverChange,
  EngineAbility,
  ImplementationChoice,
  Infrastructure,
  NfDescriptor,
  Plan,
  PlannedChain,
  PlanOptions,
  RequestedChange,
  SlotRef,
} from '@orrery/contract';
import type { Budget } from '../budget.js';
import type { AbilitiesOf } from '../lower/switch/lower-fabric.js';
import type { Memo } from '../memo.js';

/** Everything that a plan depends on: the same input gives the same plan. */
export interface PlanInput {
  readonly id: string;
  readonly created_ms: number;
  /** What was asked for, to be kept with the plan; it does not influence it. */
  readonly request?: RequestedChange;
  /** Absent ones have the contract's defaults. */
  readonly options?: Partial<PlanOptions>;
  /** All chains that must run afterwards, not only those that change. */
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  /** Identify the descriptors of the NFs in `chains`; kept with the plan, which they do not influence. */
  readonly nf_revisions?: Readonly<Record<string, string>>;
  /** Only the servers given here may be used. */
  readonly infrastructure: Infrastructure;
  /** Identifies this state of the infrastructure. */
  readonly infrastructure_revision?: number;
  /** The feasible plan that runs now: its instances stay where they are. */
  readonly base: Plan | null;
  /** Required implementations. NFs not listed keep theirs; new ones run in software if they can. */
  readonly implementations?: readonly ImplementationChoice[];
  /** Servers that offer containers: the only ones on which an NF runs as one. */
  readonly container_servers?: readonly string[];
  /** Those whose containers also run the programs of legacy NFs; absent: all of them. */
  readonly program_servers?: readonly string[];
  /** Legacy NFs that each server can run, by server; for servers not listed, all. */
  readonly legacy_nfs?: Readonly<Record<string, readonly string[]>>;
  /** Reported engine abilities by server; servers not listed have none. */
  readonly abilities?: Readonly<Record<string, readonly EngineAbility[]>>;
  /** Reported worker threads of the engine by server, which its cores share evenly; servers not listed have one for each core. */
  readonly workers?: Readonly<Record<string, number>>;
  /** Reported abilities by switch; assumed for the others (lower/switch/abilities.ts). */
  readonly switches?: AbilitiesOf;
  /** Other drivers that switches get with the plan; `infrastructure` and `switches` are already as they are then. */
  readonly drivers?: readonly DriverChange[];
  /** As `switches`, but with the abilities that they have before; absent: the same. */
  readonly switches_before?: AbilitiesOf;
  /** Reserved slots: used only if a choice names them. */
  readonly reserved_slots?: readonly SlotRef[];
  /** Faulty slots: what they ran moves back to software. */
  readonly without_slots?: readonly SlotRef[];
  /** Nothing may stand on these servers: what runs there moves, with its flow state. */
  readonly without_servers?: readonly string[];
  /** As `without_servers`, but nothing there answers: its flow state is gone, and no step waits for it. */
  readonly lost_servers?: readonly string[];
  /** No slot of these boards may be used: what they run moves, with its flow state. */
  readonly without_boards?: readonly string[];
  /** What runs on these servers stays there, and nothing else comes; so do users of slots of these boards. */
  readonly closed_servers?: readonly string[];
  readonly closed_boards?: readonly string[];
  /** Running instances that are to stand on these servers. */
  readonly move?: readonly { readonly instance: string; readonly server: string }[];
  /** Chains that do not run and fail closed: their packets are dropped. */
  readonly guarded?: readonly PlannedChain[];
  /** Whether chains are left out where not everything fits; absent: the plan is infeasible then. */
  readonly when_short?: RequestedChange['when_short'];
  /** What the model of latency lacks on these machines; absent: the built-in figures. */
  readonly calibration?: Calibration;
  /** `steps`: of the placement search; 0: the initial packing is kept. */
  readonly budget: Budget;
  /** Parts of earlier plans, to be taken over where nothing they depend on changed. The plan is the same without it. */
  readonly memo?: Memo;
}
