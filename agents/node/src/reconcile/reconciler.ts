import type { CpuFeature, InstanceSpec, NodeSpec, Observed, ObservedBoard, SlotRef } from '@orrery/contract';
import { elementOf } from '../drivers/acceleration.js';
import type { EngineView } from '../drivers/engine/engine-driver.js';
import { type BoardInstance, type Drift, DriverError, type HostedDriver, type NfDriver } from '../drivers/nf-driver.js';
import type { Emit } from '../link/agent-event.js';
import { backoffMs } from '../platform/backoff.js';
import { monotonicMs } from '../platform/monotonic.js';
import { decide, type World } from './decide.js';
import { DriftLedger } from './drift-ledger.js';
import type { Failure, Step } from './steps.js';

export interface EnginePort extends NfDriver {
  /** What somebody else has changed and is not repaired yet. */
  readonly drifts: readonly Drift[];
  readonly view: EngineView;
  start(): Promise<void>;
}

/** A board driver accepts a change without waiting for loads; `observe` reports their progress. */
export interface BoardsPort extends NfDriver {
  observe(): ReadonlyMap<string, BoardInstance>;
  readonly drifts: readonly Drift[];
  readonly observed: readonly ObservedBoard[];
  readonly unclaimed: readonly SlotRef[];
}

/** Compares the interfaces of the data plane with the desired ones and repairs those that the agent may change. */
export interface InterfacesPort {
  readonly drifts: readonly Drift[];
  /** Interfaces without a link. */
  readonly troubles: readonly string[];
}

export interface Drivers {
  engine: EnginePort;
  board: BoardsPort;
  hosted: readonly HostedDriver[];
  interfaces: InterfacesPort;
}

const RETRY = { first_ms: 500, most_ms: 30_000 };

/** Brings the node to its desired state and keeps it there. Observes again after every step and every call. */
export class Reconciler {
  private spec: NodeSpec | null = null;
  private failure: Failure | null = null;
  private attempts = 0;
  private converged = 0;
  private dirty = false;
  private running: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private stopped = false;
  private last: Observed;
  private lastText = '';
  private readonly ledger: DriftLedger;

  constructor(
    private readonly drivers: Drivers,
    private readonly emit: Emit,
    private readonly onObserved: (observed: Observed) => void,
    private readonly node: string,
    private readonly cpuFeatures: readonly CpuFeature[] = [],
  ) {
    this.ledger = new DriftLedger(node, emit);
    this.last = decide(this.world()).observed;
  }

  get observed(): Observed {
    return this.last;
  }

  get desired(): NodeSpec | null {
    return this.spec;
  }

  /** Replaces the desired state. */
  desire(spec: NodeSpec): void {
    this.spec = spec;
    // A server that lost its state counts from the beginning; what was reached before no longer counts.
    if (spec.generation < this.converged) this.converged = 0;
    this.failure = null;
    this.attempts = 0;
    this.look();
  }

  /** Something may have changed. */
  look(): void {
    this.dirty = true;
    if (this.stopped) return;
    // Deferred: a driver that reports a change during a step is not yet in its new state.
    this.running ??= Promise.resolve()
      .then(() => this.run())
      .finally(() => {
        this.running = null;
        if (this.dirty) this.look();
      });
    // During a step its effects are still reported.
    this.report(decide(this.world()).observed);
  }

  /** Resolves when no step is in progress; none starts afterwards. */
  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer) clearTimeout(this.timer);
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.dirty && !this.stopped) {
      this.dirty = false;
      if (this.timer) clearTimeout(this.timer);
      const { steps, observed, wait_ms } = decide(this.world());
      this.report(observed);
      if (wait_ms !== null) this.timer = setTimeout(() => this.look(), Math.ceil(wait_ms)).unref();
      for (const step of steps) if (!(await this.perform(step))) break;
      if (steps.length > 0) this.dirty = true;
    }
  }

  /** False if it failed; `failure` then says when it may be retried. */
  private async perform(step: Step): Promise<boolean> {
    const { spec } = this;
    try {
      if (step.kind === 'start-engine') await this.drivers.engine.start();
      else await this.driverOf(step.driver).realize(step.change);
      return true;
    } catch (error) {
      // The engine driver has its own back-off and state.
      if (step.kind === 'start-engine' || spec !== this.spec || !spec) return false;
      this.attempts++;
      const { message } = error as Error;
      const instance_id = error instanceof DriverError ? error.instanceId : null;
      const permanent = error instanceof DriverError && error.permanent;
      const wait_ms = permanent ? RETRY.most_ms : backoffMs(RETRY, this.attempts, Math.random());
      this.failure = { generation: spec.generation, message, instance_id, not_before_ms: monotonicMs() + wait_ms };
      if (this.attempts === 1)
        this.emit('node.apply-failed', this.node, message, { generation: spec.generation, instance_id });
      return false;
    }
  }

  /** The driver for a kind of instance. */
  driverOf(kind: InstanceSpec['driver']): NfDriver {
    const { engine, board, hosted } = this.drivers;
    const found = [engine, board, ...hosted].find((driver) => driver.kind === kind);
    if (!found) throw new DriverError(`no driver ${kind} here`, null, true);
    return found;
  }

  private get drifts(): readonly Drift[] {
    const { engine, board, interfaces } = this.drivers;
    return [engine, board, interfaces].flatMap(({ drifts }) => drifts);
  }

  private world(): World {
    const { engine, board, hosted } = this.drivers;
    return {
      spec: this.spec,
      engine: engine.view,
      hosted: hosted.map((driver) => ({
        kind: driver.kind,
        instances: driver.instances.observe(),
        digest: (instance) => driver.digest(instance),
      })),
      boards: {
        kind: 'board',
        nfs: board.nfs,
        instances: board.observe(),
        observed: board.observed,
        unclaimed: board.unclaimed,
      },
      failure: this.failure,
      troubles: [
        ...this.drifts.map(({ part, difference }) => `${part}: ${difference}`),
        ...this.drivers.interfaces.troubles,
      ],
      element: (instance) => {
        const { elements } = this.driverOf(instance.driver);
        return elements ? elementOf(instance, elements.switched(instance.id), this.cpuFeatures) : null;
      },
      converged: this.converged,
      now_ms: monotonicMs(),
    };
  }

  private report(observed: Observed): void {
    this.ledger.update(this.drifts, monotonicMs());
    const text = JSON.stringify(observed);
    if (text === this.lastText) return;
    this.lastText = text;
    const before = this.last;
    this.last = observed;
    if (observed.state === 'converged' && this.spec) {
      this.failure = null;
      this.attempts = 0;
      this.converged = observed.generation;
      if (before.state !== 'converged' || before.generation !== observed.generation)
        this.emit('node.converged', this.node, `Generation ${observed.generation} is running`, {
          generation: observed.generation,
          instances: observed.instances.length,
        });
    }
    this.onObserved(observed);
  }
}
