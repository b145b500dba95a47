import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { TwinNodeState, TwinStatus } from '@orrery/contract';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Decision, LoopRun } from '../../platform/control-loop/definition.js';
import { unavailable } from '../../platform/problem.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import type { TwinView } from '../../ports/twin-view.js';
import { SpecSender } from './spec-sender.js';
import { TwinDemand } from './twin-demand.js';
import { TWIN_HOST, type TwinHost } from './twin-host.js';
import { TwinHung, TwinReports } from './twin-reports.js';
import { TwindClient } from './twind-client.js';

const BACKOFF = { firstMs: 250, mostMs: 10_000 };
/** For a start; a large rack takes tens of seconds. */
const DEADLINE_MS = 180_000;
const START_LIMIT_MS = 20_000;
/** For an answer of a twind that was hung, before it is replaced. A busy machine delays one for seconds. */
const HUNG_ANSWER_MS = 10_000;

/** Starts, adopts and stops twind on demand, and restarts it after a failure. */
@Injectable()
export class TwinKeeper implements TwinView, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private daemon: TwinStatus['daemon'] = 'off';
  private detail: string | null = null;
  private readonly listeners = new Set<() => void>();
  private watching: AbortController | null = null;
  private failedStarts = 0;
  /** Revision of the infrastructure at the last failed attempt. */
  private failedRevision = 0;
  private readonly closing = new AbortController();
  private wasRunning = false;
  /** Why the watch ended, until the loop has processed it. */
  private ended: string | null = null;
  private wasHung = false;
  private follower: Promise<void> = Promise.resolve();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(TwinDemand) private readonly demand: TwinDemand,
    @Inject(TWIN_HOST) private readonly host: TwinHost,
    @Inject(SpecSender) private readonly specs: SpecSender,
    @Inject(TwinReports) private readonly reports: TwinReports,
    @Inject(TwindClient) private readonly client: TwindClient,
  ) {
    this.loop = loops.add({
      id: 'twin',
      title: 'Digital twin',
      purpose:
        'Starts the twin if the infrastructure has emulated parts, sends it the infrastructure, and restarts it when it exits.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      recovered: () => !this.demand.isWanted || this.demand.revision !== this.failedRevision,
      run: (run) => this.look(run),
    });
  }

  onApplicationBootstrap(): void {
    this.reports.onState(() => this.tell());
    if (!this.enabled) return;
    this.demand.onChange(() => {
      this.loop.wake();
      if (!this.demand.isWanted) this.watching?.abort();
    });
    this.loop.wake();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closing.abort();
    this.watching?.abort();
    await this.loop.stop();
    await this.follower;
    if (this.enabled) await this.host.stop();
    await this.client.close();
  }

  get enabled(): boolean {
    return this.demand.enabled;
  }

  /** Also while it is too busy to report, and `status` shows it as lost. */
  get isRunning(): boolean {
    return this.daemon === 'running';
  }

  status(): TwinStatus {
    const { hang } = this.reports;
    // What it told last is no longer known to be true.
    if (this.isRunning && hang) return { enabled: this.enabled, daemon: 'lost', detail: hang, state: null };
    return { enabled: this.enabled, daemon: this.daemon, detail: this.detail, state: this.reports.state };
  }

  get builtRevision(): number | null {
    const { state } = this.reports;
    return this.isRunning && state?.phase === 'up' ? state.generation : null;
  }

  nodeState(node: string): TwinNodeState | null {
    return this.reports.state?.nodes.find(({ id }) => id === node) ?? null;
  }

  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** True once the twin runs; false if an attempt to start it fails or takes too long. */
  async comesUp(): Promise<boolean> {
    const deadline = performance.now() + START_LIMIT_MS;
    const failed = this.failedStarts;
    while (!this.isRunning) {
      if (performance.now() > deadline || this.closing.signal.aborted || this.failedStarts > failed) return false;
      await this.nextChange(500);
    }
    return true;
  }

  private async look(run: LoopRun): Promise<undefined> {
    const reason = this.ended;
    this.ended = null;
    if (!this.demand.isWanted) return this.turnOff(run);
    if (reason !== null) throw this.lose(run, reason);
    if (this.watching) return this.specs.isCurrent ? undefined : this.sendNewSpec(run);
    this.become(this.wasRunning ? 'lost' : 'starting', this.detail);
    try {
      await this.bringUp(run);
    } catch (error) {
      throw run.signal.aborted && this.closing.signal.aborted ? error : this.lose(run, (error as Error).message);
    }
    this.follower = this.watch().then((why) => {
      this.ended = why;
      this.loop.wake();
    });
  }

  private async turnOff(run: LoopRun): Promise<undefined> {
    await this.host.stop();
    if (!this.host.isOurs) await this.emptyTwin(run);
    if (this.daemon !== 'off')
      run.decide({
        subject: 'twin',
        what: 'Stop',
        why: 'the infrastructure has no emulated part',
        inputs: this.inputs(),
      });
    this.become('off', null);
    this.wasRunning = false;
  }

  /** Takes down what an external twin emulates. One that does not answer has nothing, or will have when it is back. */
  private async emptyTwin(run: LoopRun): Promise<void> {
    await run.step(this.specs.send(run.signal)).catch((error: unknown) => {
      if (this.closing.signal.aborted) throw error;
    });
  }

  private async bringUp(run: LoopRun): Promise<void> {
    const limitMs = this.wasHung ? HUNG_ANSWER_MS : undefined;
    const started = await this.host.ensure(() => this.client.answers(limitMs), run.signal);
    this.wasHung = false;
    await run.step(this.specs.send(run.signal));
    this.become('running', null);
    this.wasRunning = true;
    const why = started ? 'the infrastructure has emulated parts' : 'it was already running';
    run.decide({ subject: 'twin', what: started ? 'Start' : 'Adopt', why, inputs: this.inputs() });
  }

  /** Reports that the twin has not reached its desired state; returns the error that makes the loop back off. */
  private lose(run: LoopRun, message: string): Error {
    this.failedStarts++;
    this.failedRevision = this.demand.revision;
    if (this.daemon === 'running' || this.detail !== message)
      this.events.append({
        type: this.daemon === 'running' ? 'twin.lost' : 'twin.failed',
        subject: 'twin',
        message,
        data: {},
      });
    run.decide({ subject: 'twin', what: 'Restart', why: message, inputs: this.inputs() });
    this.become('lost', message);
    return unavailable(message);
  }

  private inputs(): Decision['inputs'] {
    return { infrastructure_revision: this.demand.revision, daemon: this.daemon, failed_starts: this.failedStarts };
  }

  private become(daemon: TwinStatus['daemon'], detail: string | null): void {
    this.daemon = daemon;
    this.detail = detail;
    if (daemon !== 'running') this.reports.state = null;
    this.tell();
  }

  /** Rejects if twind did not answer, so that the loop sends it again. */
  private async sendNewSpec(run: LoopRun): Promise<undefined> {
    try {
      await run.step(this.specs.send(run.signal));
      this.detail = null;
    } catch (error) {
      if (this.closing.signal.aborted) throw error;
      const { message } = error as Error;
      if (this.detail !== message) this.events.append({ type: 'twin.refused', subject: 'twin', message, data: {} });
      this.detail = message;
      if (this.specs.isCurrent) return;
      this.failedRevision = this.demand.revision;
      throw error;
    } finally {
      this.tell();
    }
  }

  /** Follows twind's reports until it exits; returns the reason. */
  private async watch(): Promise<string> {
    const ended = 'twind ended';
    if (this.closing.signal.aborted || !this.demand.isWanted) return ended;
    const watching = new AbortController();
    this.watching = watching;
    try {
      await this.reports.follow(watching.signal);
      return ended;
    } catch (error) {
      this.wasHung = error instanceof TwinHung;
      return watching.signal.aborted ? ended : (error as Error).message;
    } finally {
      this.watching = null;
    }
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private nextChange(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.listeners.delete(finish);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.listeners.add(finish);
    });
  }
}
