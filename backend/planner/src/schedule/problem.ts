import type { Budget } from '../budget.js';

export const MAX_MODULES = 4096;
export const MAX_CLASSES = 2048;
/** Modules of the tree after shared modules were unfolded. */
export const MAX_TREE_NODES = 16_384;
export const MAX_SLOS = 16_384;
export const MAX_WORKERS = 64;

/** A step of packet processing (Alpine 5.1.1). */
export interface Module {
  readonly id: string;
  readonly cycles_per_packet: number;
  /** Heads a task by itself, as a receiving port or a queue does. */
  readonly schedulable?: boolean;
}

/** The packets that take one path from a source to an exit (Alpine 5.2.1). */
export interface TrafficClass {
  readonly id: string;
  /** Modules from source to exit. */
  readonly path: readonly number[];
  /** Offered load. */
  readonly rate_pps: number;
}

/** An objective between two classes, by index (Alpine 5.2.1). */
export type Slo =
  /** Cycles spent on class `a` over cycles spent on class `b`. */
  | { readonly kind: 'cpu-time'; readonly a: number; readonly b: number; readonly ratio: number }
  /** Packets per second that leave in class `a` over those in class `b`. */
  | { readonly kind: 'throughput'; readonly a: number; readonly b: number; readonly ratio: number }
  /** No task of class `below` runs while one of class `above` has packets. */
  | { readonly kind: 'priority'; readonly above: number; readonly below: number };

export interface ScheduleProblem {
  readonly modules: readonly Module[];
  readonly edges: readonly { readonly from: number; readonly to: number }[];
  readonly classes: readonly TrafficClass[];
  readonly slos: readonly Slo[];
  readonly workers: Workers;
  readonly costs: Costs;
}

/**
 * `replicate`: every worker runs all tasks on its part of the packets, as from one of the queues of a NIC each.
 * `split`: every task runs on one worker (Alpine 5.3.2), which is held back where the others could not keep up with the
 * ratios. Run-to-completion is always replicated, since it has nothing to split (Alpine 5.5.2).
 */
export interface Workers {
  readonly count: number;
  /** Of each. */
  readonly cycles_per_second: number;
  readonly sharing: 'replicate' | 'split';
  /** Where modules stand already, with what each worker can spend; `split`. Modules that packets reach from another worker are schedulable. */
  readonly placed?: Placed;
}

interface Placed {
  /** By module. */
  readonly worker: readonly number[];
  /** By worker. */
  readonly cycles_per_second: readonly number[];
}

/**
 * What strategies pay beside the modules. SLOs speak of the cycles of modules; weights make up for these, and the
 * prediction reports them apart.
 */
export interface Costs {
  /** To put a packet into a queue, fetch it again and miss the cache over it: paid by the task behind the queue. */
  readonly queue_cycles_per_packet: number;
  /** To tell the class of a packet at its source; `null` where only modules further down can tell (Alpine 5.2.2). */
  readonly classifier_cycles_per_packet: number | null;
}

/**
 * `free` is the published formulation, in which a task may be granted more than arrives and then polls an empty queue;
 * `constrained` never asks downstream for more than arrives, so that every granted cycle does work.
 */
export type Mode = 'free' | 'constrained';

export type StrategyName = 'alpine' | 'run-to-completion' | 'manual' | 'semi-manual';

export interface ScheduleOptions {
  readonly strategy: StrategyName;
  readonly mode: Mode;
  /** A step is one way to cut a tree. */
  readonly budget: Budget;
}

/** An objective that cannot be met: how much it needs, and the most that leaves every class some service. */
export interface ScheduleConflict {
  readonly constraint: 'cpu-time' | 'classifier';
  readonly needed: number;
  readonly available: number;
  readonly unit: string;
  readonly where: string;
  /** A set of classes that conflict, none of which can be left out; by index. */
  readonly classes: readonly number[];
  /** The SLOs that tie these classes together; by index. Empty: they are tied by their offered load alone. */
  readonly slos: readonly number[];
  /** Modules that the classes have in common, which a queue cannot serve at two rates; by index. */
  readonly modules: readonly number[];
}

export type Method = 'enumeration' | 'constructive' | 'dynamic-programme' | 'fixed';

/** A part of the graph that runs to completion behind one queue or port. */
export interface Task {
  readonly id: string;
  /** Queue or port from which it fetches; `null` for a source. */
  readonly upstream: number | null;
  /** Modules in order of processing; by index, -1 for the classifier of the manual strategy. */
  readonly modules: readonly number[];
  /** Classes that pass through it; by index. */
  readonly classes: readonly number[];
  /** One, or all of them when they are replicated. */
  readonly workers: readonly number[];
  /** 0 is served first. */
  readonly level: number;
  /** Share of what its siblings in the scheduler get together. */
  readonly weight: number;
  /** Packets granted per packet offered, up to a factor common to the level. */
  readonly service: number;
}

/** A scheduler tree after that of BESS (Alpine Fig. 5.2): one root for each worker. */
export type SchedulerNode =
  | { readonly kind: 'priority'; readonly children: readonly { level: number; node: SchedulerNode }[] }
  | {
      readonly kind: 'weighted-fair';
      /** Whether a task with an empty queue spends its share on polling, or yields it to the others. */
      readonly when_idle: 'poll' | 'yield';
      readonly children: readonly { weight: number; node: SchedulerNode }[];
    }
  | { readonly kind: 'rate-limit'; readonly cycles_per_second: number; readonly child: SchedulerNode }
  | { readonly kind: 'task'; readonly task: number };

export interface WorkerSchedule {
  readonly worker: number;
  /** `null` for a worker without tasks. */
  readonly root: SchedulerNode | null;
}

interface ClassPrediction {
  /**
   * Share in what the classes get that ratio SLOs tie to this one, itself included: cycles granted to modules at its
   * priority level (polling included, as in Alpine 5.3.2), or packets that leave.
   */
  readonly share: number;
  readonly share_target: number;
  readonly throughput_pps: number;
  readonly useful_cycles_per_second: number;
  readonly idle_cycles_per_second: number;
}

interface TaskPrediction {
  readonly useful_cycles_per_second: number;
  /** Granted, but spent on polling an empty queue. */
  readonly idle_cycles_per_second: number;
  /** For queues and the classifier: neither useful nor idle. */
  readonly overhead_cycles_per_second: number;
  readonly packets_per_second: number;
}

export interface SloPrediction {
  readonly slo: number;
  readonly wanted: number;
  /** `null` when the second class gets nothing. For a priority: 1 when kept. */
  readonly predicted: number | null;
  /** Within 1 %, or both classes get all that they offer so there is nothing to divide. */
  readonly met: boolean;
}

export interface Prediction {
  readonly classes: readonly ClassPrediction[];
  readonly tasks: readonly TaskPrediction[];
  readonly slos: readonly SloPrediction[];
  readonly throughput_pps: number;
  readonly useful_cycles_per_second: number;
  readonly idle_cycles_per_second: number;
  readonly overhead_cycles_per_second: number;
  /** Capacity that no task may use or could use. */
  readonly unused_cycles_per_second: number;
  /** Sum over classes of the absolute difference between share and target share (Alpine 5.5.1); 0 to 2 for each group of classes tied by ratios. */
  readonly slo_error: number;
  /** The same for useful cycles: what is left of the SLO when polling does not count as service. */
  readonly useful_slo_error: number;
}

/** How good the number of tasks is. `gap` is the number of tasks that might still be saved. */
export interface TaskBound {
  readonly tasks: number;
  readonly lower_bound: number;
  readonly gap: number;
  readonly proven_optimal: boolean;
  readonly method: Method;
  /** How the lower bound was proven. */
  readonly proof: string;
}

export type Schedule =
  | {
      readonly feasible: true;
      readonly strategy: StrategyName;
      readonly mode: Mode;
      readonly tasks: readonly Task[];
      /** Queues to insert: the module before which each stands, and the module that fills it; by index. */
      readonly queues: readonly { task: number; from_module: number; to_module: number }[];
      readonly workers: readonly WorkerSchedule[];
      readonly bound: TaskBound;
      readonly prediction: Prediction;
    }
  | {
      readonly feasible: false;
      readonly strategy: StrategyName;
      readonly mode: Mode;
      readonly conflicts: readonly ScheduleConflict[];
    };
