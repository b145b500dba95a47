import { type InstanceSpec, type ModuleSpec, NO_OP_INPUT, type NodeSpec, type Target } from '@orrery/contract';

/** Frames from the network arrive here and leave from here. */
const NIC_WORKER = 0;

type Leaving = Exclude<Target, { kind: 'instance' }>;

function leavingKey(to: Leaving): string {
  return to.kind === 'hop' ? `hop ${to.hop}` : `exit ${to.exit_id}`;
}

/** Which workers put packets into the inputs of mirrors and merges, and which send packets out of the node. */
export class Feeders {
  /** By module, then by input. */
  private readonly workers = new Map<string, Map<number, Set<number>>>();
  /** Hops and exits to which another worker than that of the network interface sends packets. */
  private readonly sentAcross = new Set<string>();
  private readonly owner = new Map<string, number>();

  constructor(
    { instances, modules = [], hops }: NodeSpec,
    private readonly count: number,
  ) {
    for (const module of modules) {
      if (module.kind === 'queue') continue;
      this.workers.set(module.id, new Map());
      this.owner.set(module.id, this.workerOf(module));
    }
    for (const { instance_id, direction, input } of hops)
      this.feed(instance_id, direction === 'no-op' ? NO_OP_INPUT : input, NIC_WORKER);
    for (const node of [...instances, ...modules]) {
      const worker = this.workerOf(node);
      const outputs = 'copies' in node ? node.copies : node.outputs;
      for (const { targets } of outputs) for (const { to } of targets) this.lead(to, worker);
      if ('return_to' in node && node.return_to) this.lead(node.return_to, worker);
      if ('no_op_to' in node && node.no_op_to) this.lead(node.no_op_to, worker, NO_OP_INPUT);
    }
  }

  workerOf({ core }: Pick<InstanceSpec | ModuleSpec, 'core'>): number {
    return core % this.count;
  }

  /** Inputs of a mirror or merge into which another worker puts packets, ascending: each needs a queue. */
  crossed(id: string): number[] {
    const own = this.owner.get(id);
    const inputs = [...(this.workers.get(id) ?? [])];
    return inputs
      .flatMap(([input, from]) => ([...from].some((worker) => worker !== own) ? [input] : []))
      .sort((a, b) => a - b);
  }

  /** Whether packets for the hop or exit need a queue to the worker of the network interface. */
  leavesAcross(to: Leaving): boolean {
    return this.sentAcross.has(leavingKey(to));
  }

  private lead(to: Target, worker: number, input?: number): void {
    if (to.kind === 'instance') this.feed(to.instance_id, input ?? to.input, worker);
    else if (worker !== NIC_WORKER) this.sentAcross.add(leavingKey(to));
  }

  private feed(id: string, input = 0, worker: number): void {
    const inputs = this.workers.get(id);
    inputs?.set(input, (inputs.get(input) ?? new Set()).add(worker));
  }
}
