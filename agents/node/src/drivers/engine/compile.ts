import {
  type EngineAbility,
  EngineGraph,
  type EngineModule,
  type EnginePort,
  FLOW_SPACE,
  type InstanceSpec,
  type ModuleSpec,
  NO_OP_INPUT,
  type NodeSpec,
  type OutputSpec,
  type Target,
} from '@orrery/contract';
import {
  type EngineEnds,
  type InstanceProbe,
  type ModuleProbe,
  PORTS_HOP,
  type Probes,
  type SplitProbe,
} from '../nf-driver.js';
import { Feeders } from './feeders.js';
import {
  branchQueueOf,
  bytestreamOf,
  exitModule,
  farOf,
  hopModule,
  NIC_HOPS,
  NIC_IN,
  NIC_OUT,
  NIC_PORT,
  nearOf,
  outputsOf,
  queueOf,
  returnQueueOf,
  splitOf,
} from './names.js';
import { schedulerProbes, workerSchedulers } from './worker-schedulers.js';

/** The spec cannot be compiled to a data plane; `pointer` is a JSON Pointer into the spec. */
export class CompileError extends Error {
  override name = 'CompileError';
  constructor(
    readonly pointer: string,
    detail: string,
    readonly instanceId: string | null = null,
  ) {
    super(detail);
  }
}

export interface Compiled {
  graph: EngineGraph;
  probes: Probes;
}

/** The properties of an engine that affect its graph. */
export interface EngineTraits {
  readonly workers: number;
  /** NFs of the engine; null: unknown. */
  readonly nfs: readonly string[] | null;
  /** What it declares that it can run beside NFs. */
  readonly declared: readonly EngineAbility[];
}

/** Abilities of an engine that this compiler can use. A kind of module that it learns to build is added here. */
export const COMPILED_ABILITIES: ReadonlySet<EngineAbility> = new Set([
  'mirror',
  'merge',
  'bytestream',
  'scheduler',
  'round-robin',
  'priority',
  'weighted-fair',
  'rate-limit',
]);

const GATES = 256;
const QUEUE_CAPACITY = 1024;
const FORWARD = 0;
const RETURN = 1;
/** Gate of an NF for no-op packets, and of a nested merge. */
const NF_NO_OP = 2;
const MERGE_NO_OP = 1;

/** Where packets go into a module. */
interface Entry {
  readonly module: string;
  readonly input: number;
}

interface Gate {
  readonly name: string;
  readonly gate: number;
}

/** Interfaces of each instance that the engine does not run itself. */
export type Ends = ReadonlyMap<string, EngineEnds>;

/**
 * The data plane of one node: nic -> hop_in -> queue -> NF -> classify -> hash_split -> {queue | hop_out | exit} ->
 * nic. An instance or module runs on the worker with index `core` modulo the number of workers. Mirrors, merges, hop_out and
 * exit have queues only where packets come from another worker. An instance outside the engine that cannot be reached (yet) is left
 * out: packets for it reach a gate without a link and are counted there.
 */
export function compile(spec: NodeSpec, engine: EngineTraits, ends: Ends = new Map()): Compiled {
  return new Compiler(spec, engine, ends).run();
}

type Config<K extends EngineModule['kind']> = Extract<EngineModule, { kind: K }>['config'];

/** What has outgoing edges. */
type Leaving = Pick<InstanceSpec, 'id' | 'outputs'>;

function at(module: string, input = 0): Entry {
  return { module, input };
}

function entryKey({ module, input }: Entry): string {
  return `${module} ${input}`;
}

class Compiler {
  private readonly ports: EnginePort[] = [];
  private readonly modules = new Map<string, EngineModule>();
  private readonly links: EngineGraph['links'] = [];
  private readonly tasks: { module: string; worker: number }[] = [];
  private readonly instances = new Map<string, InstanceSpec>();
  private readonly beside = new Map<string, ModuleSpec>();
  private readonly feeders: Feeders;
  private readonly splits: SplitProbe[] = [];
  private readonly exits = new Set<string>();
  private readonly returned = new Set<string>();

  constructor(
    private readonly spec: NodeSpec,
    private readonly engine: EngineTraits,
    private readonly ends: Ends,
  ) {
    this.feeders = new Feeders(spec, engine.workers);
  }

  run(): Compiled {
    const { spec } = this;
    this.refuseWhatIsLacking();
    spec.instances.forEach((instance, i) => {
      if (this.instances.has(instance.id))
        throw new CompileError(`/instances/${i}/id`, `instance ${instance.id} appears twice`, instance.id);
      this.instances.set(instance.id, instance);
    });
    const { modules: beside = [], schedulers = [] } = spec;
    beside.forEach((module, i) => {
      if (this.instances.has(module.id) || this.beside.has(module.id))
        throw new CompileError(`/modules/${i}/id`, `the name ${module.id} appears twice`);
      this.beside.set(module.id, module);
    });
    this.nic();
    this.exitModules();
    this.findReturned();
    const probes = spec.instances.flatMap((instance, i) =>
      this.reached(instance.id) ? [this.instance(instance, `/instances/${i}`)] : [],
    );
    const modules = beside.map((module, i) => this.moduleBeside(module, `/modules/${i}`));
    this.hops();
    const trees = workerSchedulers(schedulers, this.engine.workers, (id) => this.tasksOf(id));
    const graph = EngineGraph.safeParse({
      generation: spec.generation,
      ports: this.ports,
      modules: [...this.modules.values()],
      links: this.links,
      tasks: this.tasks,
      ...(trees.length > 0 ? { schedulers: trees } : {}),
    });
    if (!graph.success) throw this.outOfBounds(graph.error.issues[0]!);
    return {
      graph: graph.data,
      probes: {
        instances: probes,
        modules,
        splits: this.splits,
        schedulers: schedulerProbes(schedulers, this.engine.workers),
        exits: spec.exits.map(({ exit_id }) => ({ exit_id, module: exitModule(exit_id) })),
      },
    };
  }

  /** Without its modules beside NFs or its scheduler trees, the data plane would differ from the plan. */
  private refuseWhatIsLacking(): void {
    const { instances, modules = [], schedulers = [] } = this.spec;
    const { declared } = this.engine;
    const able = (ability: string) => (declared as readonly string[]).includes(ability);
    const lacking = modules.findIndex(({ kind }) => kind !== 'queue' && !able(kind));
    if (lacking >= 0) {
      const { kind, id } = modules[lacking]!;
      throw new CompileError(`/modules/${lacking}/kind`, `the engine cannot run ${id}: it has no module ${kind}`);
    }
    for (const [list, nodes] of Object.entries({ instances, modules })) {
      const reads = nodes.findIndex((node) => 'bytestream' in node && node.bytestream);
      if (reads >= 0 && !able('bytestream'))
        throw new CompileError(`/${list}/${reads}/bytestream`, 'the engine does not reassemble TCP streams');
    }
    schedulers.forEach(({ tree }, i) => {
      if (!able('scheduler'))
        throw new CompileError(`/schedulers/${i}/tree`, 'the engine serves tasks in turn and has no scheduler trees');
      const policy = tree.findIndex(({ kind }) => kind !== 'task' && !able(kind));
      if (policy >= 0)
        throw new CompileError(
          `/schedulers/${i}/tree/${policy}/kind`,
          `the engine has no policy ${tree[policy]!.kind}`,
        );
    });
  }

  private nic(): void {
    this.ports.push({ name: NIC_PORT, driver: 'af_packet', iface: this.spec.nic.iface });
    this.add({ name: NIC_IN, kind: 'port_in', config: { port: NIC_PORT } }, '/nic');
    this.add({ name: NIC_OUT, kind: 'port_out', config: { port: NIC_PORT } }, '/nic');
    this.tasks.push({ module: NIC_IN, worker: 0 });
  }

  private exitModules(): void {
    this.spec.exits.forEach(({ exit_id }, i) => {
      const name = exitModule(exit_id);
      const config = { exit_id, dst_mac: this.spec.gateway_mac, src_mac: this.spec.nic.mac };
      this.leaving({ name, kind: 'exit', config }, this.before(name, { kind: 'exit', exit_id }), `/exits/${i}/exit_id`);
      this.exits.add(exit_id);
    });
  }

  /**
   * Instances that replies enter: by a return hop, from another address-rewriting NF here, or from one behind ports.
   */
  private findReturned(): void {
    for (const { direction, instance_id } of this.spec.hops) if (direction === 'return') this.returned.add(instance_id);
    for (const { id, driver, return_to } of this.spec.instances) {
      if (return_to?.kind === 'instance') this.returned.add(return_to.instance_id);
      if (return_to && driver !== 'engine') this.returned.add(id);
    }
  }

  private hops(): void {
    const seen = new Set<number>();
    const gates = new Map<string, number>();
    const hops = this.spec.hops.map(({ hop, instance_id, direction, input }, i) => {
      const pointer = `/hops/${i}`;
      if (seen.has(hop)) throw new CompileError(`${pointer}/hop`, `hop ${hop} appears twice`);
      seen.add(hop);
      const branch = direction === 'no-op' ? NO_OP_INPUT : input;
      const to = this.entry(instance_id, branch, direction === 'return', `${pointer}/instance_id`);
      const key = entryKey(to);
      const gate = gates.get(key) ?? gates.size;
      if (gate >= GATES) throw new CompileError(pointer, `a node takes hops to at most ${GATES} instances`);
      if (!gates.has(key)) {
        gates.set(key, gate);
        if (this.reached(instance_id)) this.link(NIC_HOPS, gate, to);
      }
      return { hop, gate };
    });
    this.add({ name: NIC_HOPS, kind: 'hop_in', config: { hops } }, '/hops');
    this.link(NIC_IN, 0, at(NIC_HOPS));
  }

  private instance(instance: InstanceSpec, pointer: string): InstanceProbe {
    const { id } = instance;
    const returned = this.returned.has(id);
    const forwards = this.hasQueue(instance) ? [queueOf(id)] : [];
    const queues = returned ? [...forwards, returnQueueOf(id)] : forwards;
    const worker = this.feeders.workerOf(instance);
    for (const name of queues) this.queue(name, worker, `${pointer}/id`, id);
    const [forward, back] =
      instance.driver === 'engine'
        ? this.engineNf(instance, returned, pointer)
        : this.portsNf(instance, returned, worker, pointer);
    const outputs = this.outputs(instance, forward, pointer);
    if (instance.return_to) this.linkTo(back, instance.return_to, true, `${pointer}/return_to`);
    if (instance.no_op_to && instance.driver === 'engine')
      this.linkNoOp({ name: id, gate: NF_NO_OP }, instance.no_op_to, `${pointer}/no_op_to`);
    const ports = instance.driver === 'engine' ? null : { near: nearOf(id), far: farOf(id) };
    return { instance_id: id, nf: ports ? null : id, queues, outputs, ports };
  }

  private engineNf(instance: InstanceSpec, returned: boolean, pointer: string) {
    const { id, nf, config, metadata } = instance;
    const { nfs } = this.engine;
    if (nfs && !nfs.includes(nf))
      throw new CompileError(`${pointer}/nf`, `the engine has no NF ${nf}; it has ${nfs.join(', ')}`, id);
    this.add({ name: id, kind: nf, config, metadata }, `${pointer}/id`, id);
    if (this.hasQueue(instance)) this.link(queueOf(id), 0, this.behindQueue(instance));
    if (instance.bytestream) this.bytestream(id, `${pointer}/id`);
    if (returned) this.link(returnQueueOf(id), 0, at(id, RETURN));
    return [
      { name: id, gate: FORWARD },
      { name: id, gate: RETURN },
    ] as const;
  }

  /** Where an instance's packets go in behind its queue, and those of a mirror. */
  private behindQueue({ id, bytestream }: { readonly id: string; readonly bytestream?: boolean | undefined }): Entry {
    return at(bytestream ? bytestreamOf(id) : id);
  }

  private bytestream(id: string, pointer: string): void {
    const name = bytestreamOf(id);
    this.add({ name, kind: 'bytestream', config: {} as Config<'bytestream'> }, pointer, id);
    this.link(name, 0, at(id));
  }

  private hasQueue({ queued, driver }: InstanceSpec): boolean {
    return queued !== false || driver !== 'engine';
  }

  private queue(name: string, worker: number, pointer: string, instanceId: string | null = null): void {
    this.add({ name, kind: 'queue', config: { capacity: QUEUE_CAPACITY } }, pointer, instanceId);
    this.tasks.push({ module: name, worker });
  }

  /** A mirror or merge of a parallel step, or a queue of a planned schedule. */
  private moduleBeside(module: ModuleSpec, pointer: string): ModuleProbe {
    const { id, kind } = module;
    const worker = this.feeders.workerOf(module);
    if (kind === 'queue') {
      this.queue(id, worker, `${pointer}/id`);
      this.outputs(module, { name: id, gate: 0 }, pointer);
      return { module_id: id, module: id, queues: [] };
    }
    const inputs = this.feeders.crossed(id);
    const queues = inputs.map((input) => branchQueueOf(id, input));
    inputs.forEach((input, i) => {
      this.queue(queues[i]!, worker, `${pointer}/id`);
      this.link(queues[i]!, 0, kind === 'mirror' ? this.behindQueue(module) : at(id, input));
    });
    if (kind === 'mirror') {
      const copies = module.copies.map(({ writes }) => ({ writes }));
      this.add({ name: id, kind, config: { nested: module.nested, copies } }, `${pointer}/id`);
      if (module.bytestream) this.bytestream(id, `${pointer}/id`);
      module.copies.forEach((copy, i) => {
        this.output(id, copy, i, { name: id, gate: i }, `${pointer}/copies/${i}`);
      });
    } else {
      const { nested, branches, no_op_to } = module;
      this.add({ name: id, kind, config: { nested, branches } as Config<'merge'> }, `${pointer}/id`);
      this.outputs(module, { name: id, gate: 0 }, pointer);
      if (no_op_to) this.linkNoOp({ name: id, gate: MERGE_NO_OP }, no_op_to, `${pointer}/no_op_to`);
    }
    return { module_id: id, module: id, queues };
  }

  /**
   * An NF outside the engine sees Ethernet frames on two interfaces; hop tags carry ingress time and metadata through
   * it.
   */
  private portsNf(instance: InstanceSpec, returned: boolean, worker: number, pointer: string) {
    const { id } = instance;
    const ends = this.ends.get(id)!;
    const [near, far] = [nearOf(id), farOf(id)];
    this.ports.push({ name: near, driver: 'af_packet', iface: ends.near });
    this.ports.push({ name: far, driver: 'af_packet', iface: ends.far });
    const leg = (queue: string, toPort: string, fromPort: string, kind: string) => {
      const untag = `${id}:${kind}untag`;
      const modules: EngineModule[] = [
        { name: `${id}:${kind}tag`, kind: 'hop_out', config: { hop: PORTS_HOP } },
        { name: `${toPort}-out`, kind: 'port_out', config: { port: toPort } },
        { name: `${fromPort}-in`, kind: 'port_in', config: { port: fromPort } },
        { name: untag, kind: 'hop_in', config: { hops: [{ hop: PORTS_HOP, gate: 0 }] } },
      ];
      for (const module of modules) this.add(module, `${pointer}/id`, id);
      this.link(queue, 0, at(`${id}:${kind}tag`));
      this.link(`${id}:${kind}tag`, 0, at(`${toPort}-out`));
      this.link(`${fromPort}-in`, 0, at(untag));
      this.tasks.push({ module: `${fromPort}-in`, worker });
      return { name: untag, gate: 0 };
    };
    const forward = leg(queueOf(id), near, far, '');
    return [forward, returned ? leg(returnQueueOf(id), far, near, 'return-') : forward] as const;
  }

  /** Name of the classifier, or null if a single edge takes everything. */
  private outputs({ id, outputs }: Leaving, from: Gate, pointer: string): string | null {
    if (outputs.length === 0) return null;
    const only = outputs.length === 1 ? outputs[0]! : null;
    if (only && only.match.length === 0) {
      this.output(id, only, 0, from, `${pointer}/outputs/0`);
      return null;
    }
    if (outputs.length > GATES - 1)
      throw new CompileError(`${pointer}/outputs`, `an instance has at most ${GATES - 1} outgoing edges`, id);
    const name = outputsOf(id);
    const rules = outputs.map(({ match }, gate) => ({ match, gate }));
    this.add({ name, kind: 'classify', config: { rules, default_gate: null } }, `${pointer}/id`, id);
    this.link(from.name, from.gate, at(name));
    outputs.forEach((output, i) => {
      this.output(id, output, i, { name, gate: i }, `${pointer}/outputs/${i}`);
    });
    return name;
  }

  private output(id: string, output: OutputSpec, i: number, from: Gate, pointer: string): void {
    this.checkRanges(output, `${pointer}/targets`, id);
    const entries = output.targets.map(({ to }, t) => this.target(to, false, `${pointer}/targets/${t}/to`));
    const targets = entries.map(entryKey);
    const here = output.targets.map(({ to }) => this.present(to));
    const distinct = [...new Set(targets)];
    const whole = output.targets.reduce((sum, { range }) => sum + range.hi - range.lo, 0) === FLOW_SPACE;
    if (distinct.length === 1 && (whole || output.targets.length === 1)) {
      if (here[0]) this.link(from.name, from.gate, entries[0]!);
      return;
    }
    if (output.key.length === 0)
      throw new CompileError(`${pointer}/key`, 'several targets need at least one field to hash', id);
    const name = splitOf(id, i);
    const ranges = output.targets.map(({ range }, t) => ({ range, gate: distinct.indexOf(targets[t]!) }));
    const { key, keep_flows } = output;
    const exceptions = keep_flows ? { exceptions: keep_flows } : {};
    this.add({ name, kind: 'hash_split', config: { key, ranges, ...exceptions } }, pointer, id);
    this.splits.push({
      from_id: id,
      edge_id: output.edge_id,
      module: name,
      targets: distinct.map((to) => output.targets[targets.indexOf(to)]!.to),
    });
    this.link(from.name, from.gate, at(name));
    distinct.forEach((to, gate) => {
      const first = targets.indexOf(to);
      if (here[first]) this.link(name, gate, entries[first]!);
    });
  }

  private checkRanges({ targets }: OutputSpec, pointer: string, id: string): void {
    const ordered = targets.map(({ range }, i) => ({ ...range, i })).sort((a, b) => a.lo - b.lo);
    ordered.forEach(({ lo, hi, i }, k) => {
      const before = ordered[k - 1];
      if (lo >= hi) throw new CompileError(`${pointer}/${i}/range`, `range ${lo}-${hi} is empty`, id);
      if (before && before.hi > lo)
        throw new CompileError(`${pointer}/${i}/range`, `range ${lo}-${hi} overlaps ${before.lo}-${before.hi}`, id);
    });
  }

  /** First module on the path to a target. */
  private target(to: Target, returning: boolean, pointer: string, input?: number): Entry {
    switch (to.kind) {
      case 'instance':
        return this.entry(to.instance_id, input ?? to.input, returning, `${pointer}/instance_id`);
      case 'exit':
        if (!this.exits.has(to.exit_id)) throw new CompileError(`${pointer}/exit_id`, `no exit ${to.exit_id} here`);
        return at(this.before(exitModule(to.exit_id), to));
      case 'hop': {
        const name = hopModule(to.hop);
        const first = this.before(name, to);
        if (!this.modules.has(name)) this.leaving({ name, kind: 'hop_out', config: { hop: to.hop } }, first, pointer);
        return at(first);
      }
    }
  }

  /** Adds an egress module, which packets enter at `first`: itself, or a queue that hands them over to its worker. */
  private leaving(module: EngineModule, first: string, pointer: string): void {
    const { name } = module;
    this.add(module, pointer);
    this.link(name, 0, at(NIC_OUT));
    if (first === name) return;
    this.queue(first, 0, pointer);
    this.link(first, 0, at(name));
  }

  private before(name: string, to: Exclude<Target, { kind: 'instance' }>): string {
    return this.feeders.leavesAcross(to) ? queueOf(name) : name;
  }

  private linkTo(from: Gate, to: Target, returning: boolean, pointer: string): void {
    const target = this.target(to, returning, pointer);
    if (this.present(to)) this.link(from.name, from.gate, target);
  }

  private linkNoOp(from: Gate, to: Target, pointer: string): void {
    this.link(from.name, from.gate, this.target(to, false, pointer, NO_OP_INPUT));
  }

  private present(to: Target): boolean {
    return to.kind !== 'instance' || this.reached(to.instance_id);
  }

  /** Whether the engine can send packets to it. */
  private reached(instanceId: string): boolean {
    if (this.beside.has(instanceId)) return true;
    return this.instances.get(instanceId)?.driver === 'engine' || this.ends.has(instanceId);
  }

  private entry(id: string, branch: number | undefined, returning: boolean, pointer: string): Entry {
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

  /** The tasks by which the scheduler's node runs. */
  private tasksOf(id: string): string[] {
    const module = this.beside.get(id);
    if (module?.kind === 'queue') return [id];
    if (module) return this.feeders.crossed(id).map((input) => branchQueueOf(id, input));
    const instance = this.instances.get(id);
    return instance && this.hasQueue(instance) && this.reached(id) ? [queueOf(id)] : [];
  }

  private add(module: EngineModule, pointer: string, instanceId: string | null = null): void {
    if (this.modules.has(module.name))
      throw new CompileError(pointer, `the name ${module.name} is used by another module`, instanceId);
    this.modules.set(module.name, module);
  }

  private link(from: string, gate: number, { module, input }: Entry): void {
    this.links.push({ from, gate, to: module, input });
  }

  private outOfBounds(issue: { path: PropertyKey[]; message: string }): CompileError {
    const module = issue.path[0] === 'modules' ? [...this.modules.values()][Number(issue.path[1])] : undefined;
    const i = this.spec.instances.findIndex(({ id }) => module?.name === id || module?.name.startsWith(`${id}:`));
    const pointer = i >= 0 ? `/instances/${i}` : '';
    return new CompileError(
      pointer,
      `${module ? `module ${module.name}: ` : ''}/${issue.path.join('/')}: ${issue.message}`,
      this.spec.instances[i]?.id ?? null,
    );
  }
}
