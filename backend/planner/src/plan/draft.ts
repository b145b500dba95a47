import type { FabricRule, InstanceGraph, Plan, PlanOptions } from '@orrery/contract';
import type { Assignment } from '../accelerator/assignment.js';
import type { ClockOf } from '../check/clock.js';
import type { BuiltGraph } from '../igraph/build.js';
import type { ChainForm } from '../igraph/chain-form.js';
import type { MetadataLayout } from '../lower/metadata.js';
import type { OnSwitches } from '../offload/on-switches.js';
import type { PlacementBound } from '../placement/bound.js';
import type { Recall } from '../recall.js';
import type { ChainSchedule } from '../schedule/schedule-forms.js';
import type { PlannedSchedule } from '../schedule/task-queues.js';
import type { OfferedInput } from './offered.js';

/** A plan under construction; each step adds its decisions and reasons. */
export interface Draft {
  readonly input: OfferedInput;
  readonly options: PlanOptions;
  /** Clock of the cores for which NFs are sized. */
  readonly clockOf: ClockOf;
  readonly problems: Plan['problems'];
  readonly reasons: Plan['reasons'];
  readonly pgraph: Plan['pgraph'];
  readonly recall: Recall;
  /** NFs that switches run: the chains of the input begin behind them. */
  readonly onSwitches: OnSwitches;
}

/** What each NF runs on is chosen. */
export interface AssignedDraft extends Draft {
  readonly assignment: Assignment;
}

/** What runs in parallel is chosen. */
export interface FormedDraft extends AssignedDraft {
  readonly chainForms: readonly ChainForm[];
}

export interface SplitDraft extends FormedDraft {
  readonly unplaced: BuiltGraph;
}

/** Every node of the instance graph has a core. */
export interface PlacedDraft extends FormedDraft {
  readonly graph: InstanceGraph;
  readonly cut_bps: number;
  readonly bound: PlacementBound;
  /** What packets carry, by chain name. */
  readonly layouts: ReadonlyMap<string, MetadataLayout>;
  /** Of the chains that fail closed. */
  readonly guards: readonly FabricRule[];
  /** External addresses by instance. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
}

/** Tasks begin at queues of the graph. */
export interface ScheduledDraft extends PlacedDraft {
  /** The graph without queues. */
  readonly unscheduled: InstanceGraph;
  readonly schedules: readonly ChainSchedule[];
  /** Schedules that servers apply. */
  readonly planned: readonly PlannedSchedule[];
}

/** What servers and switches are to run is known. */
export interface LoweredDraft extends ScheduledDraft, Pick<Plan, 'nodes' | 'fabric' | 'tables'> {}

type Found = Pick<Plan, 'problems' | 'reasons' | 'conflicts'>;

/** Thrown by a step if there is no feasible plan. */
export class Infeasible extends Error {
  readonly found: Found & Pick<Plan, 'pgraph'>;

  constructor(
    { problems, reasons, pgraph }: Draft,
    { problems: more = [], reasons: why = [], conflicts = [] }: Partial<Found>,
  ) {
    super('no plan');
    this.found = { problems: [...problems, ...more], reasons: [...reasons, ...why], conflicts, pgraph };
  }
}
