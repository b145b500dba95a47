import {
  type EngineAbility,
  EngineGraph,
  type EngineModule,
  type EnginePort,
  FLOW_SPACE,
  type InstanceSpec,
  type NodeSpec,
  type OutputSpec,
  type Target,
} from '@orrery/contract';
import type { EngineEnds, InstanceProbe, Probes } from '../nf-driver.js';
import {
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
export const COMPILED_ABILITIES: ReadonlySet<EngineAbility> = new Set();

/** Tag between the engine and an NF behind ports; it never leaves the server, so all pairs of ports can share it. */
const PORTS_HOP = 0xfffe;
const GATES = 256;
const QUEUE_CAPACITY = 1024;
const FORWARD = 0;
const RETURN = 1;

/** Interfaces of each instance that the engine does not run itself. */
export type Ends = ReadonlyMap<string, EngineEnds>;

/**
 * The data plane of one node: nic -> hop_in -> queue -> NF -> classify -> hash_split -> {queue | hop_out | exit} ->
 * nic. An instance runs on the worker with index `core` modulo the number of workers. An instance outside the engine
 * that cannot be reached (yet) is left out: packets for it reach a gate without a link and are counted there.
 */
export function compile(spec: NodeSpec, engine: EngineTraits, ends: Ends = new Map()): Compiled {
  return new Compiler(spec, engine, ends).run();
}

class Compiler {
  private readonly ports: EnginePort[] = [];
  private readonly modules = new Map<string, EngineModule>();
  private readonly links: EngineGraph['links'] = [];
  private readonly tasks: { module: string; worker: number }[] = [];
  private readonly instances = new Map<string, InstanceSpec>();
  private readonly exits = new Set<string>();
  private readonly returned = new Set<string>();

  constructor(
    private readonly spec: NodeSpec,
    private readonly engine: EngineTraits,
    private readonly ends: Ends,
  ) {}

  run(): Compiled {
    const { spec } = this;
    this.refuseWhatIsLacking();
    spec.instances.forEach((instance, i) => {
      if (this.instances.has(instance.id))
        throw new CompileError(`/instances/${i}/id`, `instance ${instance.id} appears twice`, instance.id);
      this.instances.set(instance.id, instance);
    });
    this.nic();
    this.exitModules();
    this.findReturned();
    const probes = spec.instances.flatMap((instance, i) =>
      this.reached(instance.id) ? [this.instance(instance, `/instances/${i}`)] : [],
    );
    this.hops();
    const graph = EngineGraph.safeParse({
      generation: spec.generation,
      ports: this.ports,
      modules: [...this.modules.values()],
      links: this.links,
      tasks: this.tasks,
    });
    if (!graph.success) throw this.outOfBounds(graph.error.issues[0]!);
    return {
      graph: graph.data,
      probes: {
        instances: probes,
        exits: spec.exits.map(({ exit_id }) => ({ exit_id, module: exitModule(exit_id) })),
      },
    };
  }

  /** Without its modules beside NFs or its scheduler trees, the data plane would differ from the plan. */
  private refuseWhatIsLacking(): void {
    const { modules = [], schedulers = [], instances } = this.spec;
    const [first] = modules;
    const declared: readonly string[] = this.engine.declared;
    if (first) {
      const why = declared.includes(first.kind)
        ? `this agent cannot build ${first.id}, a module ${first.kind}`
        : `the engine cannot run ${first.id}: it has no module ${first.kind}`;
      throw new CompileError('/modules/0/kind', why);
    }
    if (schedulers.length > 0) {
      const why = declared.includes('scheduler')
        ? 'this agent cannot build scheduler trees'
        : 'the engine serves tasks in turn and does not support scheduler trees';
      throw new CompileError('/schedulers/0/tree', why);
    }
    const bare = instances.findIndex(({ queued }) => queued === false);
    if (bare < 0) return;
    const { id } = instances[bare]!;
    throw new CompileError(`/instances/${bare}/queued`, `the engine cannot run an NF without its own queue: ${id}`, id);
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
      this.leaving({ name, kind: 'exit', config }, `/exits/${i}/exit_id`);
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
    const hops = this.spec.hops.map(({ hop, instance_id, direction }, i) => {
      const pointer = `/hops/${i}`;
      if (seen.has(hop)) throw new CompileError(`${pointer}/hop`, `hop ${hop} appears twice`);
      seen.add(hop);
      const to = this.entry(instance_id, direction === 'return', `${pointer}/instance_id`);
      const gate = gates.get(to) ?? gates.size;
      if (gate >= GATES) throw new CompileError(pointer, `a node takes hops to at most ${GATES} instances`);
      if (!gates.has(to)) {
        gates.set(to, gate);
        if (this.reached(instance_id)) this.link(NIC_HOPS, gate, to);
      }
      return { hop, gate };
    });
    this.add({ name: NIC_HOPS, kind: 'hop_in', config: { hops } }, '/hops');
    this.link(NIC_IN, 0, NIC_HOPS);
  }

  private instance(instance: InstanceSpec, pointer: string): InstanceProbe {
    const { id } = instance;
    const returned = this.returned.has(id);
    const queues = returned ? [queueOf(id), returnQueueOf(id)] : [queueOf(id)];
    const worker = instance.core % this.engine.workers;
    for (const name of queues) {
      this.add({ name, kind: 'queue', config: { capacity: QUEUE_CAPACITY } }, `${pointer}/id`, id);
      this.tasks.push({ module: name, worker });
    }
    const [forward, back] =
      instance.driver === 'engine'
        ? this.engineNf(instance, returned, pointer)
        : this.portsNf(instance, returned, worker, pointer);
    const outputs = this.outputs(instance, forward, pointer);
    if (instance.return_to) this.linkTo(back, instance.return_to, true, `${pointer}/return_to`);
    const ports = instance.driver === 'engine' ? null : { near: nearOf(id), far: farOf(id) };
    return { instance_id: id, nf: ports ? null : id, queues, outputs, ports };
  }

  private engineNf(instance: InstanceSpec, returned: boolean, pointer: string) {
    const { id, nf, config, metadata } = instance;
    const { nfs } = this.engine;
    if (nfs && !nfs.includes(nf))
      throw new CompileError(`${pointer}/nf`, `the engine has no NF ${nf}; it has ${nfs.join(', ')}`, id);
    this.add({ name: id, kind: nf, config, metadata }, `${pointer}/id`, id);
    this.link(queueOf(id), 0, id, FORWARD);
    if (returned) this.link(returnQueueOf(id), 0, id, RETURN);
    return [
      { name: id, gate: FORWARD },
      { name: id, gate: RETURN },
    ] as const;
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
      this.link(queue, 0, `${id}:${kind}tag`);
      this.link(`${id}:${kind}tag`, 0, `${toPort}-out`);
      this.link(`${fromPort}-in`, 0, untag);
      this.tasks.push({ module: `${fromPort}-in`, worker });
      return { name: untag, gate: 0 };
    };
    const forward = leg(queueOf(id), near, far, '');
    return [forward, returned ? leg(returnQueueOf(id), far, near, 'return-') : forward] as const;
  }

  /** Name of the classifier, or null if a single edge takes everything. */
  private outputs(instance: InstanceSpec, from: { name: string; gate: number }, pointer: string): string | null {
    const { id, outputs } = instance;
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
    this.link(from.name, from.gate, name);
    outputs.forEach((output, i) => {
      this.output(id, output, i, { name, gate: i }, `${pointer}/outputs/${i}`);
    });
    return name;
  }

  private output(id: string, output: OutputSpec, i: number, from: { name: string; gate: number }, at: string): void {
    this.checkRanges(output, `${at}/targets`, id);
    const targets = output.targets.map(({ to }, t) => this.target(to, false, `${at}/targets/${t}/to`));
    const here = output.targets.map(({ to }) => this.present(to));
    const distinct = [...new Set(targets)];
    const whole = output.targets.reduce((sum, { range }) => sum + range.hi - range.lo, 0) === FLOW_SPACE;
    if (distinct.length === 1 && (whole || output.targets.length === 1)) {
      if (here[0]) this.link(from.name, from.gate, distinct[0]!);
      return;
    }
    if (output.key.length === 0)
      throw new CompileError(`${at}/key`, 'several targets need at least one field to hash', id);
    const name = splitOf(id, i);
    const ranges = output.targets.map(({ range }, t) => ({ range, gate: distinct.indexOf(targets[t]!) }));
    this.add({ name, kind: 'hash_split', config: { key: output.key, ranges } }, at, id);
    this.link(from.name, from.gate, name);
    distinct.forEach((to, gate) => {
      if (here[targets.indexOf(to)]) this.link(name, gate, to);
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
  private target(to: Target, returning: boolean, pointer: string): string {
    switch (to.kind) {
      case 'instance':
        return this.entry(to.instance_id, returning, `${pointer}/instance_id`);
      case 'exit':
        if (!this.exits.has(to.exit_id)) throw new CompileError(`${pointer}/exit_id`, `no exit ${to.exit_id} here`);
        return this.before(exitModule(to.exit_id));
      case 'hop': {
        const name = hopModule(to.hop);
        if (!this.modules.has(name)) this.leaving({ name, kind: 'hop_out', config: { hop: to.hop } }, pointer);
        return this.before(name);
      }
    }
  }

  /** Adds an egress module. All workers share it, so with several workers a queue hands packets over to the first. */
  private leaving(module: EngineModule, pointer: string): void {
    const { name } = module;
    this.add(module, pointer);
    this.link(name, 0, NIC_OUT);
    const queue = this.before(name);
    if (queue === name) return;
    this.add({ name: queue, kind: 'queue', config: { capacity: QUEUE_CAPACITY } }, pointer);
    this.link(queue, 0, name);
    this.tasks.push({ module: queue, worker: 0 });
  }

  private before(leaving: string): string {
    return this.engine.workers > 1 ? queueOf(leaving) : leaving;
  }

  private linkTo(from: { name: string; gate: number }, to: Target, returning: boolean, pointer: string): void {
    const target = this.target(to, returning, pointer);
    if (this.present(to)) this.link(from.name, from.gate, target);
  }

  private present(to: Target): boolean {
    return to.kind !== 'instance' || this.reached(to.instance_id);
  }

  /** Whether the engine can send packets to it. */
  private reached(instanceId: string): boolean {
    return this.instances.get(instanceId)?.driver === 'engine' || this.ends.has(instanceId);
  }

  private entry(instanceId: string, returning: boolean, pointer: string): string {
    if (!this.instances.has(instanceId)) throw new CompileError(pointer, `no instance ${instanceId} here`);
    return returning ? returnQueueOf(instanceId) : queueOf(instanceId);
  }

  private add(module: EngineModule, pointer: string, instanceId: string | null = null): void {
    if (this.modules.has(module.name))
      throw new CompileError(pointer, `the name ${module.name} is used by another module`, instanceId);
    this.modules.set(module.name, module);
  }

  private link(from: string, gate: number, to: string, input = 0): void {
    this.links.push({ from, gate, to, input });
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
