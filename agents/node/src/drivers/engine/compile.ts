import {
  EngineGraph,
  type EngineModule,
  type InstanceSpec,
  type ModuleSpec,
  NO_OP_INPUT,
  type NodeSpec,
} from '@orrery/contract';
import { type InstanceProbe, type ModuleProbe, PORTS_HOP, type Probes } from '../nf-driver.js';
import { CompileError } from './compile-error.js';
import { type EngineTraits, refuseWhatIsLacking } from './engine-traits.js';
import { at, entryKey, GATES, type Gate, GraphParts } from './graph-parts.js';
import {
  branchQueueOf,
  bytestreamOf,
  exitModule,
  farOf,
  NIC_HOPS,
  NIC_IN,
  NIC_OUT,
  NIC_PORT,
  nearOf,
  queueOf,
  returnQueueOf,
} from './names.js';
import { Outgoing } from './outgoing.js';
import { type Ends, Places } from './places.js';
import { schedulerProbes, workerSchedulers } from './worker-schedulers.js';

export interface Compiled {
  graph: EngineGraph;
  probes: Probes;
}

const FORWARD = 0;
const RETURN = 1;
/** Gate of an NF for no-op packets, and of a nested merge. */
const NF_NO_OP = 2;
const MERGE_NO_OP = 1;

/**
 * The data plane of one node: nic -> hop_in -> queue -> NF -> classify -> hash_split -> {queue | hop_out | exit} ->
 * nic. An instance or module runs on the worker with index `core` modulo the number of workers. Mirrors, merges, hop_out and
 * exit have queues only where packets come from another worker. An instance outside the engine that cannot be reached (yet) is left
 * out: packets for it reach a gate without a link and are counted there.
 */
export function compile(spec: NodeSpec, engine: EngineTraits, ends: Ends = new Map()): Compiled {
  refuseWhatIsLacking(spec, engine);
  return new Compiler(spec, engine, ends).run();
}

type Config<K extends EngineModule['kind']> = Extract<EngineModule, { kind: K }>['config'];

class Compiler {
  private readonly parts = new GraphParts();
  private readonly places: Places;
  private readonly outgoing: Outgoing;
  private readonly returned: ReadonlySet<string>;

  constructor(
    private readonly spec: NodeSpec,
    private readonly engine: EngineTraits,
    ends: Ends,
  ) {
    this.places = new Places(spec, engine, ends, this.parts);
    this.outgoing = new Outgoing(this.parts, this.places);
    this.returned = returnedIn(spec);
  }

  run(): Compiled {
    const { spec, parts, places, engine } = this;
    const { modules: beside = [], schedulers = [] } = spec;
    this.nic();
    this.exits();
    const probes = spec.instances.flatMap((instance, i) =>
      places.reached(instance.id) ? [this.instance(instance, `/instances/${i}`)] : [],
    );
    const modules = beside.map((module, i) => this.moduleBeside(module, `/modules/${i}`));
    this.hops();
    const trees = workerSchedulers(schedulers, engine, (id) => places.tasksOf(id));
    const graph = EngineGraph.safeParse({
      generation: spec.generation,
      ports: parts.ports,
      modules: parts.modules,
      links: parts.links,
      tasks: parts.tasks,
      ...(trees.length > 0 ? { schedulers: trees } : {}),
    });
    if (!graph.success) throw this.outOfBounds(graph.error.issues[0]!);
    return {
      graph: graph.data,
      probes: {
        instances: probes,
        modules,
        splits: this.outgoing.splits,
        schedulers: schedulerProbes(schedulers, engine.workers),
        exits: spec.exits.map(({ exit_id }) => ({ exit_id, module: exitModule(exit_id) })),
      },
    };
  }

  private nic(): void {
    const { parts } = this;
    parts.ports.push({ name: NIC_PORT, driver: 'af_packet', iface: this.spec.nic.iface });
    parts.add({ name: NIC_IN, kind: 'port_in', config: { port: NIC_PORT } }, '/nic');
    parts.add({ name: NIC_OUT, kind: 'port_out', config: { port: NIC_PORT } }, '/nic');
    parts.tasks.push({ module: NIC_IN, worker: 0 });
  }

  private exits(): void {
    const { gateway_mac: dst_mac, nic, exits } = this.spec;
    exits.forEach(({ exit_id }, i) => {
      const name = exitModule(exit_id);
      const pointer = `/exits/${i}/exit_id`;
      this.parts.add({ name, kind: 'exit', config: { exit_id, dst_mac, src_mac: nic.mac } }, pointer);
      this.places.leave(name, this.places.before(name, { kind: 'exit', exit_id }), pointer);
    });
  }

  private hops(): void {
    const { parts, places } = this;
    const seen = new Set<number>();
    const gates = new Map<string, number>();
    const hops = this.spec.hops.map(({ hop, instance_id, direction, input }, i) => {
      const pointer = `/hops/${i}`;
      if (seen.has(hop)) throw new CompileError(`${pointer}/hop`, `hop ${hop} appears twice`);
      seen.add(hop);
      const branch = direction === 'no-op' ? NO_OP_INPUT : input;
      const to = places.entry(instance_id, branch, direction === 'return', `${pointer}/instance_id`);
      const key = entryKey(to);
      const gate = gates.get(key) ?? gates.size;
      if (gate >= GATES) throw new CompileError(pointer, `a node takes hops to at most ${GATES} instances`);
      if (!gates.has(key)) {
        gates.set(key, gate);
        if (places.reached(instance_id)) parts.link(NIC_HOPS, gate, to);
      }
      return { hop, gate };
    });
    parts.add({ name: NIC_HOPS, kind: 'hop_in', config: { hops } }, '/hops');
    parts.link(NIC_IN, 0, at(NIC_HOPS));
  }

  private instance(instance: InstanceSpec, pointer: string): InstanceProbe {
    const { parts, places, outgoing } = this;
    const { id } = instance;
    const returned = this.returned.has(id);
    const forwards = places.hasQueue(instance) ? [queueOf(id)] : [];
    const queues = returned ? [...forwards, returnQueueOf(id)] : forwards;
    const worker = places.feeders.workerOf(instance);
    for (const name of queues) parts.queue(name, worker, `${pointer}/id`, id);
    const [forward, back] =
      instance.driver === 'engine'
        ? this.engineNf(instance, returned, pointer)
        : this.portsNf(instance, returned, worker, pointer);
    const outputs = outgoing.edges(instance, forward, pointer);
    if (instance.return_to) outgoing.replies(back, instance.return_to, `${pointer}/return_to`);
    if (instance.no_op_to && instance.driver === 'engine')
      outgoing.noOps({ name: id, gate: NF_NO_OP }, instance.no_op_to, `${pointer}/no_op_to`);
    const ports = instance.driver === 'engine' ? null : { near: nearOf(id), far: farOf(id) };
    return { instance_id: id, nf: ports ? null : id, queues, outputs, ports };
  }

  private engineNf(instance: InstanceSpec, returned: boolean, pointer: string): readonly [Gate, Gate] {
    const { parts, places } = this;
    const { id, nf, config, metadata } = instance;
    const { nfs } = this.engine;
    if (nfs && !nfs.includes(nf))
      throw new CompileError(`${pointer}/nf`, `the engine has no NF ${nf}; it has ${nfs.join(', ')}`, id);
    parts.add({ name: id, kind: nf, config, metadata }, `${pointer}/id`, id);
    if (places.hasQueue(instance)) parts.link(queueOf(id), 0, places.behindQueue(instance));
    if (instance.bytestream) this.bytestream(id, `${pointer}/id`);
    if (returned) parts.link(returnQueueOf(id), 0, at(id, RETURN));
    return [
      { name: id, gate: FORWARD },
      { name: id, gate: RETURN },
    ];
  }

  private bytestream(id: string, pointer: string): void {
    const name = bytestreamOf(id);
    this.parts.add({ name, kind: 'bytestream', config: {} as Config<'bytestream'> }, pointer, id);
    this.parts.link(name, 0, at(id));
  }

  /**
   * An NF outside the engine sees Ethernet frames on two interfaces; hop tags carry ingress time and metadata through
   * it.
   */
  private portsNf(
    { id }: InstanceSpec,
    returned: boolean,
    worker: number,
    pointer: string,
  ): readonly [forward: Gate, back: Gate] {
    const { parts } = this;
    const ends = this.places.endsOf(id);
    const [near, far] = [nearOf(id), farOf(id)];
    parts.ports.push({ name: near, driver: 'af_packet', iface: ends.near });
    parts.ports.push({ name: far, driver: 'af_packet', iface: ends.far });
    const leg = (queue: string, toPort: string, fromPort: string, kind: string) => {
      const untag = `${id}:${kind}untag`;
      const modules: EngineModule[] = [
        { name: `${id}:${kind}tag`, kind: 'hop_out', config: { hop: PORTS_HOP } },
        { name: `${toPort}-out`, kind: 'port_out', config: { port: toPort } },
        { name: `${fromPort}-in`, kind: 'port_in', config: { port: fromPort } },
        { name: untag, kind: 'hop_in', config: { hops: [{ hop: PORTS_HOP, gate: 0 }] } },
      ];
      for (const module of modules) parts.add(module, `${pointer}/id`, id);
      parts.link(queue, 0, at(`${id}:${kind}tag`));
      parts.link(`${id}:${kind}tag`, 0, at(`${toPort}-out`));
      parts.link(`${fromPort}-in`, 0, at(untag));
      parts.tasks.push({ module: `${fromPort}-in`, worker });
      return { name: untag, gate: 0 };
    };
    const forward = leg(queueOf(id), near, far, '');
    return [forward, returned ? leg(returnQueueOf(id), far, near, 'return-') : forward];
  }

  /** A mirror or merge of a parallel step, or a queue of a planned schedule or of a split in front of instances. */
  private moduleBeside(module: ModuleSpec, pointer: string): ModuleProbe {
    const { parts, places, outgoing } = this;
    const { id, kind } = module;
    const worker = places.feeders.workerOf(module);
    if (kind === 'queue') {
      parts.queue(id, worker, `${pointer}/id`);
      outgoing.edges(module, { name: id, gate: 0 }, pointer);
      return { module_id: id, module: id, queues: [] };
    }
    const inputs = places.feeders.crossed(id);
    const queues = inputs.map((input) => branchQueueOf(id, input));
    inputs.forEach((input, i) => {
      parts.queue(queues[i]!, worker, `${pointer}/id`);
      parts.link(queues[i]!, 0, kind === 'mirror' ? places.behindQueue(module) : at(id, input));
    });
    if (kind === 'mirror') {
      const copies = module.copies.map(({ writes }) => ({ writes }));
      parts.add({ name: id, kind, config: { nested: module.nested, copies } }, `${pointer}/id`);
      if (module.bytestream) this.bytestream(id, `${pointer}/id`);
      module.copies.forEach((copy, i) => {
        outgoing.edge(id, copy, i, { name: id, gate: i }, `${pointer}/copies/${i}`);
      });
    } else {
      const { nested, branches, no_op_to } = module;
      parts.add({ name: id, kind, config: { nested, branches } as Config<'merge'> }, `${pointer}/id`);
      outgoing.edges(module, { name: id, gate: 0 }, pointer);
      if (no_op_to) outgoing.noOps({ name: id, gate: MERGE_NO_OP }, no_op_to, `${pointer}/no_op_to`);
    }
    return { module_id: id, module: id, queues };
  }

  private outOfBounds(issue: { path: PropertyKey[]; message: string }): CompileError {
    const module = issue.path[0] === 'modules' ? this.parts.modules[Number(issue.path[1])] : undefined;
    const i = this.spec.instances.findIndex(({ id }) => module?.name === id || module?.name.startsWith(`${id}:`));
    const pointer = i >= 0 ? `/instances/${i}` : '';
    return new CompileError(
      pointer,
      `${module ? `module ${module.name}: ` : ''}/${issue.path.join('/')}: ${issue.message}`,
      this.spec.instances[i]?.id ?? null,
    );
  }
}

/** Instances that replies enter: by a return hop, from another address-rewriting NF here, or from one behind ports. */
function returnedIn({ hops, instances }: NodeSpec): ReadonlySet<string> {
  const returned = new Set(hops.flatMap(({ direction, instance_id }) => (direction === 'return' ? [instance_id] : [])));
  for (const { id, driver, return_to } of instances) {
    if (return_to?.kind === 'instance') returned.add(return_to.instance_id);
    if (return_to && driver !== 'engine') returned.add(id);
  }
  return returned;
}
