import { chmodSync, mkdirSync } from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  EVENTS,
  FlowPortion,
  FlowSelector,
  fieldErrors,
  type InstanceSpec,
  LogRequest,
  MOST_EXCEPTIONS,
  NodeSpec,
  type Observed,
  type ObservedElement,
  OpenShell,
  Target,
} from '@orrery/contract';
import { z } from 'zod';
import { probeCapabilities } from './capabilities.js';
import { DesiredStore } from './desired-store.js';
import { elementOf, lackOf } from './drivers/acceleration.js';
import { ApplicationDriver } from './drivers/application/application-driver.js';
import { type BoardConfig, readBoards } from './drivers/board/board-config.js';
import { BoardDriver } from './drivers/board/board-driver.js';
import { ContainerDriver } from './drivers/container/container-driver.js';
import { ImageArchives } from './drivers/container/image-archives.js';
import { EngineDriver } from './drivers/engine/engine-driver.js';
import { Sampler } from './drivers/engine/sampler.js';
import { Programs } from './drivers/legacy/programs.js';
import { loadContainerNfs, loadProcessNfs } from './drivers/legacy/registry.js';
import type { FlowDriver, NfDriver } from './drivers/nf-driver.js';
import { ProcessDriver } from './drivers/process/process-driver.js';
import { RecentSamples } from './instance-figures.js';
import { agentEvent, type Emit } from './link/agent-event.js';
import { CredentialStore } from './link/credential-store.js';
import { EventOutbox } from './link/event-outbox.js';
import { type Call, DEFAULT_LINK, type Desired, ServerLink } from './link/server-link.js';
import { type AgentOptions, UsageError } from './options.js';
import { cpuFeatures } from './platform/cpu-features.js';
import { readLinks, setLink } from './platform/links.js';
import { log } from './platform/log.js';
import { InterfaceKeeper, type NodeInterface } from './reconcile/interface-keeper.js';
import { Reconciler } from './reconcile/reconciler.js';
import { Shells } from './shell/shells.js';
import { VERSION } from './version.js';

const STATE_LIMIT = 1000;
/** Longest that hello waits to learn whether Docker is available. */
const DOCKER_LIMIT_MS = 3000;

/** Composition root: joins the link, the reconciler, the drivers and the sampler of one node. */
export class Agent {
  private readonly engine: EngineDriver;
  private readonly processes: ProcessDriver;
  private readonly containers: ContainerDriver;
  private readonly boards: BoardDriver;
  private readonly applications: ApplicationDriver;
  private readonly interfaces: InterfaceKeeper;
  private readonly reconciler: Reconciler;
  private readonly link: ServerLink;
  private readonly sampler: Sampler;
  private readonly cpuFeatures = cpuFeatures();
  private readonly shells = new Shells((shell, message) => this.link.shell(shell, message));
  private readonly recent = new RecentSamples();
  private readonly store: DesiredStore<typeof NodeSpec>;
  /** Capabilities reported in the last hello; undefined before the first. */
  private told: { dpdk: string | null; boards: string; containers: string } | undefined;

  constructor(private readonly options: AgentOptions) {
    const { node, run_dir, state_dir, engine: path, memory, workers } = options;
    for (const directory of [run_dir, state_dir]) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      chmodSync(directory, 0o700);
    }
    this.store = new DesiredStore(state_dir, NodeSpec);
    const look = () => {
      this.reconciler.look();
      this.tellCapabilities();
    };
    this.engine = new EngineDriver({ path, run_dir, memory, workers, node, origin: options.origin }, this.emit, look);
    const shipped = loadContainerNfs();
    const programs = new Programs(loadProcessNfs(), options.legacy_nfs, shipped);
    const archives = new ImageArchives(options.images, shipped);
    this.processes = new ProcessDriver(programs, run_dir, this.emit, look);
    this.containers = new ContainerDriver({ ...options, programs, archives }, this.emit, look);
    const isLinkDown = (iface: string) => this.interfaces.isLinkDown(iface);
    this.boards = new BoardDriver({ boards: boardsOf(options), isLinkDown }, this.emit, look);
    this.applications = new ApplicationDriver(node, state_dir, run_dir, this.emit, (seen) =>
      this.link.applications(seen),
    );
    this.interfaces = this.keepInterfaces(look);
    const hosted = [this.processes, this.containers];
    const drivers = { engine: this.engine, board: this.boards, hosted, interfaces: this.interfaces };
    this.reconciler = new Reconciler(drivers, this.emit, (seen) => this.observed(seen), node, this.cpuFeatures);
    this.link = new ServerLink(
      { url: options.server, ca: options.ca, node, join_token: options.join_token, ...DEFAULT_LINK },
      new CredentialStore(state_dir, node),
      new EventOutbox(),
      {
        hello: () => this.hello(),
        desired: (message, first) => this.desired(message, first),
        applications: (spec) => this.applications.desire(spec),
        call: (call) => this.call(call),
        shell: ({ shell, message }) => this.shells.take(shell, message),
        closed: () => this.shells.endAll(),
        invalid: (why) => this.emit('agent.bad-message', node, `Message from the server ignored: ${why}`, {}),
      },
    );
    this.sampler = new Sampler(this.engine, this.boards, [this.processes, this.containers], (samples) => {
      this.recent.take(samples);
      return this.link.samples({ type: 'samples', samples });
    });
  }

  /** Resumes what earlier agents started, then connects. */
  async start(): Promise<void> {
    // Find out everything that runs before changing anything.
    await Promise.all([
      this.processes.adopt(),
      this.containers.start(),
      this.boards.start(),
      this.engine.learn().then(() => this.engine.adopt()),
    ]);
    const spec = this.store.read();
    if (spec) this.reconciler.desire(spec);
    this.applications.start();
    this.interfaces.start();
    this.sampler.start();
    // A server that is told too early that there are no containers would plan without those that run.
    await Promise.race([this.containers.looked, sleep(DOCKER_LIMIT_MS, undefined, { ref: false })]);
    this.link.start();
  }

  async stop(): Promise<void> {
    this.shells.endAll();
    this.sampler.stop();
    this.interfaces.stop();
    const keep = this.options.on_exit === 'keep';
    const engine = this.engine.close(keep);
    await this.reconciler.stop();
    this.boards.stop();
    await Promise.all([engine, this.processes.close(keep), this.containers.close(keep), this.applications.close(keep)]);
    // The last events are sent before the connection closes.
    await setImmediate();
    await this.link.stop();
  }

  private keepInterfaces(changed: () => void): InterfaceKeeper {
    const hosted = [this.processes.instances, this.containers.instances];
    const agent = this;
    return new InterfaceKeeper({
      get node() {
        return agent.nodeInterfaces;
      },
      get instances() {
        return hosted.flatMap((instances) => instances.interfaces);
      },
      ownsNode: this.options.origin === 'twin',
      read: readLinks,
      set: setLink,
      relink: async (id) => hosted.find((instances) => instances.has(id))?.relink(id),
      recreate: (id, why) => {
        for (const instances of hosted) instances.recreate(id, why);
      },
      changed,
    });
  }

  /** The NIC, and the interfaces of slots that hold an instance, also where they hang on a switch. */
  private get nodeInterfaces(): NodeInterface[] {
    const spec = this.reconciler.desired;
    if (!spec) return [];
    const { iface: name, mac } = spec.nic;
    const slots = [...this.boards.observe().values()].flatMap(({ ends }) => (ends ? [ends.near, ends.far] : []));
    return [{ name, mac }, ...slots.map((iface) => ({ name: iface, mac: null })), ...this.boards.portsAtSwitches];
  }

  private readonly emit: Emit = (event, subject, message, data) => {
    log(EVENTS[event].severity, `${event} ${subject}: ${message}`);
    this.link.event(agentEvent(event, subject, message, data, Date.now()));
  };

  private observed(observed: Observed): void {
    this.link.observed({ type: 'observed', observed });
  }

  /**
   * DPDK and its memory are known once an engine runs, a board once it was read; Docker comes and goes. A new hello
   * reports changes to the server.
   */
  private tellCapabilities(): void {
    const { told, known } = this;
    if (!told) return;
    const another = this.engine.description !== null && known.dpdk !== told.dpdk;
    if (another || known.boards !== told.boards || known.containers !== told.containers) this.link.renew();
  }

  private get known() {
    return {
      dpdk: this.engine.description?.dpdk ?? null,
      boards: JSON.stringify(this.boards.descriptions),
      containers: JSON.stringify(this.containers.offer),
    };
  }

  private async hello() {
    const { origin, iface } = this.options;
    this.told = this.known;
    const containers = this.containers.offer;
    const drivers = [this.engine, this.processes, ...(containers.available ? [this.containers] : []), this.boards];
    const { description } = this.engine;
    const known = await probeCapabilities(iface, description, drivers, this.boards.descriptions, containers);
    const capabilities = {
      ...known,
      abilities: [...this.engine.abilities],
      workers: this.options.workers,
      legacy_nfs: this.processes.offer,
      cpu_features: this.cpuFeatures,
    };
    return {
      type: 'hello' as const,
      origin,
      version: VERSION,
      capabilities,
      observed: this.reconciler.observed,
    };
  }

  private desired(message: Desired, first: boolean): void {
    if (message.type !== 'desired') {
      this.emit('agent.bad-message', this.options.node, 'Message from the server ignored: it is for a switch', {});
      return;
    }
    const { spec } = message;
    const { desired } = this.reconciler;
    if (!first && desired && spec.generation < desired.generation) {
      log('warning', `generation ${spec.generation} arrived after ${desired.generation} and is ignored`);
    } else if (desired && JSON.stringify(spec) === JSON.stringify(desired)) {
      this.reconciler.look();
    } else {
      this.remember(spec);
      this.reconciler.desire(spec);
    }
  }

  /** A node that cannot save its desired state still applies it. */
  private remember(spec: NodeSpec): void {
    try {
      this.store.write(spec);
    } catch (error) {
      const why = `Generation ${spec.generation} cannot be saved for a restart: ${(error as Error).message}`;
      this.emit('agent.state-not-saved', this.options.node, why, {});
    }
  }

  private async call({ method, instance_id, params }: Call): Promise<unknown> {
    switch (method) {
      // Whatever runs the instance, or the module beside instances, the engine splits the flows behind it.
      case 'hold_flows': {
        const { from, to, ...wanted } = paramsOf(HoldParams, params);
        return this.engine.holds.hold(instance_id, { from, to }, wanted);
      }
      case 'end_hold': {
        const { from, to, steer } = paramsOf(EndHoldParams, params);
        return this.engine.holds.end(instance_id, { from, to }, steer);
      }
      case 'read_split':
        return this.engine.holds.read(instance_id, paramsOf(ReadSplitParams, params).limit);
    }
    const instance = this.instanceOf(instance_id);
    const driver = this.reconciler.driverOf(instance.driver);
    switch (method) {
      case 'get_instance_state': {
        const limit = Number.isInteger(params.limit) ? Number(params.limit) : STATE_LIMIT;
        const state = await driver.getInstanceState(instance_id, Math.min(Math.max(limit, 1), 100_000));
        return { ...state, figures: this.recent.figures(instance, state, this.boards.descriptions) };
      }
      case 'read_log': {
        if (!driver.readLog)
          throw new Error(`/instance_id: ${instance_id} writes no log of its own (driver ${driver.kind})`);
        return driver.readLog(instance_id, paramsOf(LogRequest, params));
      }
      case 'open_shell': {
        const { shell, ...size } = paramsOf(OpenShell, params);
        if (!driver.openShell)
          throw new Error(`/instance_id: ${instance_id} runs in no container (driver ${driver.kind})`);
        await this.shells.open(shell, () => driver.openShell!(instance_id, size));
        return {};
      }
      case 'accelerate':
        return this.switchTo(instance, true);
      case 'release':
        return this.switchTo(instance, false);
      case 'export_state':
        return driver.exportState(instance_id);
      case 'import_state': {
        const { state, renew } = paramsOf(ImportParams, params);
        return (await driver.importState(instance_id, state, renew)) ?? {};
      }
      case 'export_flows':
        return flowsOf(driver, instance_id).export(instance_id, paramsOf(ExportParams, params));
      case 'release_flows':
        return flowsOf(driver, instance_id).release(instance_id, paramsOf(ReleaseParams, params));
    }
  }

  /** Asked for what it does already, it changes nothing. */
  private async switchTo(instance: InstanceSpec, accelerated: boolean): Promise<ObservedElement> {
    const { id, acceleration: mode, driver: kind } = instance;
    const { elements } = this.reconciler.driverOf(kind);
    const told = () => elements && elementOf(instance, elements.switched(id), this.cpuFeatures);
    if (!mode || !elements || !told())
      throw new Error(`/instance_id: ${id} cannot be switched (${instance.nf}, driver ${kind})`);
    const lack = accelerated ? lackOf(mode, this.cpuFeatures) : [];
    if (lack.length > 0)
      throw new Error(`/instance_id: the processor of ${this.options.node} lacks ${lack.join(', ')} for ${id}`);
    await elements.switchTo(instance, accelerated);
    this.reconciler.look();
    return told()!;
  }

  private instanceOf(instanceId: string): InstanceSpec {
    const instance = this.reconciler.desired?.instances.find(({ id }) => id === instanceId);
    if (!instance) throw new Error(`/instance_id: no instance ${instanceId} on this node`);
    return instance;
  }
}

const ImportParams = z.object({ state: z.record(z.string(), z.unknown()), renew: z.boolean().default(false) });
const ExportParams = z.object({
  flows: FlowSelector,
  after: FlowPortion.optional(),
  since: FlowPortion.optional(),
  used_within_ms: z.int().min(1).optional(),
});
const ReleaseParams = z.object({
  flows: FlowSelector,
  portion: FlowPortion,
  used_within_ms: z.int().min(1).optional(),
});
const ReadSplitParams = z.object({ limit: z.int().min(0).max(MOST_EXCEPTIONS) });
const HoldParams = z.object({ flows: FlowSelector, from: Target, to: Target, hold_ms: z.int().min(1) });
const EndHoldParams = z.object({ from: Target, to: Target, steer: z.boolean() });

/** Throws an error that names the field. */
function paramsOf<T extends z.ZodType>(schema: T, params: unknown): z.infer<T> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const [first] = fieldErrors(parsed.error);
  throw new Error(`/params${first?.pointer}: ${first?.detail}`);
}

function flowsOf({ flows, kind }: NfDriver, instanceId: string): FlowDriver {
  if (flows) return flows;
  throw new Error(`/instance_id: the state of ${instanceId} moves as a whole (driver ${kind})`);
}

function boardsOf({ boards }: AgentOptions): BoardConfig[] {
  try {
    return boards === null ? [] : readBoards(boards);
  } catch (error) {
    throw new UsageError(`--boards ${(error as Error).message}`);
  }
}
