import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  APPLICATION_METRICS,
  type ApplicationSpec,
  type ApplicationStatus,
  type ApplicationsSpec,
  applicationKind,
  type ObservedApplications,
} from '@orrery/contract';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN_APPLICATIONS, type TwinApplications } from '../../ports/twin-applications.js';
import { Applications } from './applications.js';
import { addressOf } from './check.js';
import type { StoredApplication } from './stored.js';

/** Key of the loop for all emulated hosts, whose supervisor is twind; the other keys are servers. */
const HOSTS = 'emulated hosts';
const BACKOFF = { firstMs: 1000, mostMs: 10_000 };
const DEADLINE_MS = 30_000;

/** The specification that was sent, and the twind incarnation that got it. */
interface Handover {
  readonly spec: ApplicationsSpec;
  readonly incarnation: number;
}

/** Sends twind and the agents the applications that each must run, and collects their reports. */
@Injectable()
export class Supervision implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private generation = 0;
  /** Specification by supervisor, as of the loop's last run. */
  private readonly specs = new Map<string, ApplicationsSpec>();
  /** Accepted by twind. */
  private taken: Handover | null = null;
  /** Rejected, or with unknown outcome. */
  private failed: Handover | null = null;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(Applications) private readonly applications: Applications,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TWIN_APPLICATIONS) private readonly twin: TwinApplications,
    @Inject(FLEET) private readonly fleet: NodeFleet,
  ) {
    this.loop = loops.add({
      id: 'applications',
      title: 'Applications',
      purpose: 'Tells the twin and the agents which applications to run.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      recovered: () => this.isFailureOver(),
      run: (run) => (run.key === HOSTS ? this.tellTwin(run) : this.tellAgent(run)),
    });
  }

  onApplicationBootstrap(): void {
    this.applications.onChange(() => this.wakeAll());
    this.infrastructure.onChange(() => this.wakeAll());
    this.twin.onIncarnation(() => this.loop.wake(HOSTS));
    this.wakeAll();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  statusOf(stored: StoredApplication): ApplicationStatus {
    const { observed, why } = this.report(stored.definition.node);
    const kind = applicationKind(stored.definition.kind);
    const own = observed?.applications.find(({ id }) => id === stored.definition.id);
    const metricsOf = (values: Readonly<Record<string, number>>) =>
      kind.metrics.map((name) => ({ name, ...APPLICATION_METRICS[name], value: values[name] ?? null }));
    // The last report of an absent supervisor is not current, except that a completed run stays completed.
    if (own?.revision === stored.run && (why === null || own.state === 'completed')) {
      const { state, since_ms, detail, restarts, pid, metrics } = own;
      return { state, since_ms, detail, restarts, pid, metrics: metricsOf(metrics) };
    }
    const state = !stored.definition.enabled ? 'stopped' : why !== null ? 'unknown' : 'starting';
    return { state, since_ms: null, detail: why, restarts: 0, pid: null, metrics: metricsOf({}) };
  }

  private report(node: string): { observed: ObservedApplications | null; why: string | null } {
    if (this.isServer(node)) {
      const observed = this.fleet.observedApplications(node);
      return { observed, why: this.fleet.isConnected(node) ? null : `the agent of ${node} is not connected` };
    }
    return { observed: this.twin.observed, why: this.twin.away };
  }

  private isServer(node: string): boolean {
    return this.infrastructure.current.infrastructure.servers.some(({ id }) => id === node);
  }

  private wakeAll(): void {
    const servers = this.infrastructure.current.infrastructure.servers.map(({ id }) => id);
    // Including those with nothing left to run.
    for (const key of new Set([HOSTS, ...this.loop.keys, ...servers])) this.loop.wake(key);
  }

  /** The agent gets it now and on every connection. */
  private async tellAgent(run: LoopRun): Promise<RunOutcome | undefined> {
    const { key } = run;
    const before = this.specs.get(key);
    const spec = this.specOf(key);
    if (spec !== before) {
      this.fleet.setApplications(key, spec);
      this.tell(run, before, spec);
    }
    if (this.isServer(key)) return undefined;
    this.specs.delete(key);
    return { again: 'done' };
  }

  /** Nothing to do while twind is away: it wakes the loop when it comes up. */
  private async tellTwin(run: LoopRun): Promise<undefined> {
    const spec = this.specOf(HOSTS);
    const { incarnation } = this.twin;
    if (incarnation === null || (this.taken?.spec === spec && this.taken.incarnation === incarnation)) return;
    const handover = { spec, incarnation };
    this.tell(run, this.taken?.spec, spec);
    this.failed = handover;
    await run.step(this.twin.put(spec, run.signal));
    this.failed = null;
    this.taken = handover;
  }

  /** Since the failure, twind has restarted or its specification has changed. */
  private isFailureOver(): boolean {
    const { failed } = this;
    return !failed || this.twin.incarnation !== failed.incarnation || this.specOf(HOSTS) !== failed.spec;
  }

  private tell({ key, decide }: LoopRun, before: ApplicationsSpec | undefined, now: ApplicationsSpec): void {
    const names = now.applications.map(({ definition }) => definition.id).join(', ');
    if (!before && names === '') return;
    const why = !before ? 'the server started' : before === now ? 'twind started' : 'the declared applications changed';
    decide({ subject: key, what: `Run ${names || 'nothing'}`, why, inputs: { generation: now.generation } });
  }

  /** Returns the same object while nothing changes; a change gets the next generation. */
  private specOf(key: string): ApplicationsSpec {
    const { infrastructure } = this.infrastructure.current;
    const applications = this.applications
      .stored()
      .filter(({ definition }) => (this.isServer(definition.node) ? definition.node : HOSTS) === key)
      .map(({ definition, run }): ApplicationSpec => {
        return { definition, revision: run, address: addressOf(definition, infrastructure) };
      });
    const before = this.specs.get(key);
    if (before && isDeepStrictEqual(before.applications, applications)) return before;
    this.generation = Math.max(Date.now(), this.generation + 1);
    const spec = { generation: this.generation, applications };
    this.specs.set(key, spec);
    return spec;
  }
}
