import { type InstanceSpec, type ModuleSpec, NO_OP_INPUT, type NodeSpec, type Target } from '@orrery/contract';
import type { EngineEnds } from '../nf-driver.js';
import { CompileError } from './compile-error.js';
import type { EngineTraits } from './engine-traits.js';
import { Feeders } from './feeders.js';
import { at, type Entry, type GraphParts } from './graph-parts.js';
import { branchQueueOf, bytestreamOf, exitModule, hopModule, NIC_OUT, queueOf, returnQueueOf } from './names.js';

/** Interfaces of each instance that the engine does not run itself. */
export type Ends = ReadonlyMap<string, EngineEnds>;

/** Where packets enter the instances, modules, hops and exits of a node. Errors: `CompileError`. */
export class Places {
  readonly feeders: Feeders;
  private readonly instances = new Map<string, InstanceSpec>();
  private readonly beside = new Map<string, ModuleSpec>();
  private readonly exits: ReadonlySet<string>;

  constructor(
    spec: NodeSpec,
    engine: EngineTraits,
    private readonly ends: Ends,
    private readonly parts: GraphParts,
  ) {
    this.feeders = new Feeders(spec, engine.workers);
    this.exits = new Set(spec.exits.map(({ exit_id }) => exit_id));
    spec.instances.forEach((instance, i) => {
      if (this.instances.has(instance.id))
        throw new CompileError(`/instances/${i}/id`, `instance ${instance.id} appears twice`, instance.id);
      this.instances.set(instance.id, instance);
    });
    (spec.modules ?? []).forEach((module, i) => {
      if (this.instances.has(module.id) || this.beside.has(module.id))
        throw new CompileError(`/modules/${i}/id`, `the name ${module.id} appears twice`);
      this.beside.set(module.id, module);
    });
  }

  /** Precondition: the engine does not run the instance itself, and reaches it. */
  endsOf(id: string): EngineEnds {
    return this.ends.get(id)!;
  }

  hasQueue({ queued, driver }: InstanceSpec): boolean {
    return queued !== false || driver !== 'engine';
  }

  /** Where an instance's packets go in behind its queue, and those of a mirror. */
  behindQueue({ id, bytestream }: { readonly id: string; readonly bytestream?: boolean | undefined }): Entry {
    return at(bytestream ? bytestreamOf(id) : id);
  }

  /** Whether the engine can send packets to it. */
  reached(id: string): boolean {
    if (this.beside.has(id)) return true;
    return this.instances.get(id)?.driver === 'engine' || this.ends.has(id);
  }

  present(to: Target): boolean {
    return to.kind !== 'instance' || this.reached(to.instance_id);
  }

  /** First module on the path to a target. */
  target(to: Target, returning: boolean, pointer: string, input?: number): Entry {
    switch (to.kind) {
      case 'instance':
        return this.entry(to.instance_id, input ?? to.input, returning, `${pointer}/instance_id`);
      case 'exit':
        if (!this.exits.has(to.exit_id)) throw new CompileError(`${pointer}/exit_id`, `no exit ${to.exit_id} here`);
        return at(this.before(exitModule(to.exit_id), to));
      case 'hop': {
        const name = hopModule(to.hop);
        const first = this.before(name, to);
        if (!this.parts.has(name)) {
          this.parts.add({ name, kind: 'hop_out', config: { hop: to.hop } }, pointer);
          this.leave(name, first, pointer);
        }
        return at(first);
      }
    }
  }

  /** What packets enter on their way to an egress module: itself, or a queue that hands them over to its worker. */
  before(name: string, to: Exclude<Target, { kind: 'instance' }>): string {
    return this.feeders.leavesAcross(to) ? queueOf(name) : name;
  }

  /** Leads packets from `first` through an egress module to the network interface. */
  leave(name: string, first: string, pointer: string): void {
    this.parts.link(name, 0, at(NIC_OUT));
    if (first === name) return;
    this.parts.queue(first, 0, pointer);
    this.parts.link(first, 0, at(name));
  }

  entry(id: string, branch: number | undefined, returning: boolean, pointer: string): Entry {
    const instance = this.instances.get(id);
    if (instance && returning) return at(returnQueueOf(id));
    if (instance) return this.hasQueue(instance) ? at(queueOf(id)) : this.behindQueue(instance);
    const module = this.beside.get(id);
    if (!module) throw new CompileError(pointer, `no instance ${id} here`);
    const input = branch ?? 0;
    const known = module.kind !== 'merge' ? 1 : module.branches.length;
    if (input >= known && !(module.kind === 'merge' && input === NO_OP_INPUT))
      throw new CompileError(pointer, `${id} has no input ${input}`);
    if (this.feeders.crossed(id).includes(input)) return at(branchQueueOf(id, input));
    return module.kind === 'mirror' ? this.behindQueue(module) : at(id, input);
  }

  /** The tasks by which a scheduler's node runs. */
  tasksOf(id: string): string[] {
    const module = this.beside.get(id);
    if (module?.kind === 'queue') return [id];
    if (module) return this.feeders.crossed(id).map((input) => branchQueueOf(id, input));
    const instance = this.instances.get(id);
    return instance && this.hasQueue(instance) && this.reached(id) ? [queueOf(id)] : [];
  }
}
