import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { NodeSpec, Observed } from '@orrery/contract';
import { probeCapabilities } from './capabilities.js';
import { DesiredStore } from './desired-store.js';
import { type BoardConfig, readBoards } from './drivers/board/board-config.js';
import { BoardDriver } from './drivers/board/board-driver.js';
import { ContainerDriver } from './drivers/container/container-driver.js';
import { EngineDriver } from './drivers/engine/engine-driver.js';
import { Sampler } from './drivers/engine/sampler.js';
import type { NfDriver } from './drivers/nf-driver.js';
import { ProcessDriver } from './drivers/process/process-driver.js';
import { loadProcessNfs } from './drivers/process/registry.js';
import type { Emit } from './link/agent-event.js';
import { CredentialStore } from './link/credential-store.js';
import { EventOutbox } from './link/event-outbox.js';
import { type Call, DEFAULT_LINK, ServerLink } from './link/server-link.js';
import { type AgentOptions, UsageError } from './options.js';
import { log } from './platform/log.js';
import { Reconciler } from './reconcile/reconciler.js';
import { VERSION } from './version.js';

const STATE_LIMIT = 1000;
/** A server is not kept waiting longer than this to hear whether there is a Docker. */
const DOCKER_LIMIT_MS = 3000;

/** Composition root: joins the link, the reconciler, the drivers and the sampler of one node. */
export class Agent {
  private readonly boot_id = randomUUID();
  private readonly engine: EngineDriver;
  private readonly processes: ProcessDriver;
  private readonly containers: ContainerDriver;
  private readonly boards: BoardDriver;
  private readonly reconciler: Reconciler;
  private readonly link: ServerLink;
  private readonly sampler: Sampler;
  private readonly store: DesiredStore;
  /** What a server learns of in the last hello only; undefined before the first. */
  private told: { dpdk: string | null; boards: string; containers: string } | undefined;

  constructor(private readonly options: AgentOptions) {
    const { node, run_dir, state_dir, engine: path, memory, workers } = options;
    for (const directory of [run_dir, state_dir]) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      chmodSync(directory, 0o700);
    }
    this.store = new DesiredStore(state_dir);
    const look = () => {
      this.reconciler.look();
      this.tellCapabilities();
    };
    this.engine = new EngineDriver({ path, run_dir, memory, workers, node }, this.emit, look);
    this.processes = new ProcessDriver(loadProcessNfs(), run_dir, this.emit, look);
    this.containers = new ContainerDriver(
      { node, run_dir, docker: options.docker, nf_box: options.nf_box },
      this.emit,
      look,
    );
    this.boards = new BoardDriver({ boards: boardsOf(options) }, this.emit, look);
    const drivers = { engine: this.engine, board: this.boards, hosted: [this.processes, this.containers] };
    this.reconciler = new Reconciler(drivers, this.emit, (seen) => this.observed(seen), node);
    this.link = new ServerLink(
      { url: options.server, node, join_token: options.join_token, ...DEFAULT_LINK },
      new CredentialStore(state_dir, node),
      new EventOutbox(),
      {
        hello: () => this.hello(),
        desired: (spec, first) => this.desired(spec, first),
        call: (call) => this.call(call),
        invalid: (why) => this.emit('warning', 'agent.bad-message', node, `Message of the server ignored: ${why}`),
      },
    );
    this.sampler = new Sampler(this.engine, this.boards, this.containers, (samples) => this.link.samples(samples));
  }

  /** Resumes what earlier agents began, then connects. */
  async start(): Promise<void> {
    // All that runs is known before anything is changed.
    await Promise.all([
      this.processes.adopt(),
      this.containers.start(),
      this.boards.start(),
      this.engine.learnNfs().then(() => this.engine.adopt()),
    ]);
    const spec = this.store.read();
    if (spec) this.reconciler.desire(spec);
    this.sampler.start();
    // A server that is told too early that there are no containers plans without those that run.
    await Promise.race([this.containers.looked, sleep(DOCKER_LIMIT_MS, undefined, { ref: false })]);
    this.link.start();
  }

  async stop(): Promise<void> {
    this.sampler.stop();
    const keep = this.options.on_exit === 'keep';
    const engine = this.engine.close(keep);
    await this.reconciler.stop();
    this.boards.stop();
    await Promise.all([engine, this.processes.close(keep), this.containers.close(keep)]);
    // The last events go out with the connection.
    await setImmediate();
    await this.link.stop();
  }

  private readonly emit: Emit = (severity, event, subject, message, data = {}) => {
    log(severity, `${event} ${subject}: ${message}`);
    this.link.event({ event, severity, subject, message, t_ms: Date.now(), data });
  };

  private observed(observed: Observed): void {
    this.link.observed(observed);
  }

  /** DPDK and its memory are known once an engine runs, a board once it was seen; Docker comes and goes. Hello is where a server learns of them. */
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
    const capabilities = await probeCapabilities(iface, description, drivers, this.boards.descriptions, containers);
    return { origin, version: VERSION, boot_id: this.boot_id, capabilities, observed: this.reconciler.observed };
  }

  private desired(spec: NodeSpec, first: boolean): void {
    const { desired } = this.reconciler;
    if (!first && desired && spec.generation < desired.generation) {
      log('warning', `generation ${spec.generation} came after ${desired.generation} and is ignored`);
    } else if (desired && JSON.stringify(spec) === JSON.stringify(desired)) {
      this.reconciler.look();
    } else {
      this.remember(spec);
      this.reconciler.desire(spec);
    }
  }

  /** A node that cannot remember still does what it is told. */
  private remember(spec: NodeSpec): void {
    try {
      this.store.write(spec);
    } catch (error) {
      const why = `Generation ${spec.generation} cannot be saved for a restart: ${(error as Error).message}`;
      this.emit('error', 'agent.state-not-saved', this.options.node, why);
    }
  }

  private async call({ method, instance_id, params }: Call): Promise<unknown> {
    const driver = this.driverOf(instance_id);
    switch (method) {
      case 'get_instance_state': {
        const limit = Number.isInteger(params.limit) ? Number(params.limit) : STATE_LIMIT;
        return driver.getInstanceState(instance_id, Math.min(Math.max(limit, 1), 100_000));
      }
      case 'export_state':
        return driver.exportState(instance_id);
      case 'import_state': {
        const { state } = params;
        if (typeof state !== 'object' || state === null || Array.isArray(state))
          throw new Error('/params/state: must be an object');
        await driver.importState(instance_id, state as Record<string, unknown>);
        return {};
      }
    }
  }

  private driverOf(instanceId: string): NfDriver {
    const instance = this.reconciler.desired?.instances.find(({ id }) => id === instanceId);
    if (!instance) throw new Error(`/instance_id: no instance ${instanceId} on this node`);
    return this.reconciler.driverOf(instance.driver);
  }
}

function boardsOf({ boards }: AgentOptions): BoardConfig[] {
  try {
    return boards === null ? [] : readBoards(boards);
  } catch (error) {
    throw new UsageError(`--boards ${(error as Error).message}`);
  }
}
