import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type {
  ApplicationSpec,
  ApplicationState,
  ApplicationsSpec,
  ObservedApplication,
  ObservedApplications,
} from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { log } from '../../platform/log.js';
import { ApplicationRun } from './application-run.js';
import { ApplicationJournal, isRunOf, type Journal, type Run } from './journal.js';
import { KINDS } from './registry.js';

const REPORT_MS = 1000;
/** States that raise an event. */
const TOLD: ReadonlySet<ApplicationState> = new Set(['running', 'completed', 'unresponsive', 'failed']);

/** Runs the declared applications of this node; only what changed is touched. */
export class ApplicationDriver {
  private journal: Journal;
  private readonly store: ApplicationJournal;
  private readonly running = new Map<string, { spec: ApplicationSpec; run: ApplicationRun }>();
  private readonly told = new Map<string, ApplicationState>();
  private reported: ObservedApplications | null = null;
  private timer: NodeJS.Timeout | null = null;
  /** Serializes changes, in order of arrival. */
  private changing: Promise<void> = Promise.resolve();
  private closed = false;
  private isSaved = true;

  constructor(
    private readonly node: string,
    stateDir: string,
    private readonly runDir: string,
    private readonly emit: Emit,
    private readonly onObserved: (observed: ObservedApplications) => void,
  ) {
    this.store = new ApplicationJournal(stateDir);
    this.journal = this.store.read();
  }

  /** Resumes what an earlier agent was told to run. */
  start(): void {
    this.timer = setInterval(() => this.report(), REPORT_MS).unref();
    this.change();
  }

  desire(desired: ApplicationsSpec): void {
    this.note({ ...this.journal, desired });
    this.change();
  }

  get observed(): ObservedApplications {
    const { generation, applications } = this.journal.desired;
    return { generation, applications: applications.map((spec) => this.observe(spec)) };
  }

  async close(keep: boolean): Promise<void> {
    this.closed = true;
    if (this.timer) clearInterval(this.timer);
    await this.changing;
    await Promise.all([...this.running.values()].map(({ run }) => (keep ? run.release() : run.stop())));
  }

  private change(): void {
    this.changing = this.changing
      .then(() => this.reconcile())
      .catch((error: Error) => log('error', `applications: ${error.message}`));
  }

  private async reconcile(): Promise<void> {
    if (this.closed) return;
    const { applications } = this.journal.desired;
    const wanted = new Map(applications.map((spec) => [spec.definition.id, spec]));
    const gone = [...this.running].filter(([id, { spec }]) => !isDeepStrictEqual(wanted.get(id), spec));
    for (const [id] of gone) this.running.delete(id);
    await Promise.all(gone.map(([, { run }]) => run.stop()));
    for (const id of this.told.keys()) if (!wanted.has(id)) this.told.delete(id);
    const runs = this.journal.runs.filter((run) => applications.some((spec) => isRunOf(run, spec)));
    if (runs.length < this.journal.runs.length) this.note({ ...this.journal, runs });
    for (const spec of applications) this.startIfDue(spec);
    this.report();
  }

  private startIfDue(spec: ApplicationSpec): void {
    const { id, kind, enabled, config } = spec.definition;
    const configure = KINDS.get(kind);
    if (!enabled || !configure || this.running.has(id)) return;
    let entry = this.runOf(spec);
    if (entry?.completed_ms != null) return;
    if (!entry) {
      entry = { spec, started_ms: Date.now(), completed_ms: null, metrics: {} };
      this.note({ ...this.journal, runs: [...this.journal.runs, entry] });
    }
    const { started_ms } = entry;
    const directory = join(this.runDir, 'applications', id);
    const files = { pid_file: join(directory, 'pid'), log_file: join(directory, 'log') };
    const duration_s = 'duration_s' in config ? config.duration_s : 0;
    const leftS = () => (duration_s === 0 ? null : Math.max(0, duration_s - (Date.now() - started_ms) / 1000));
    const run = new ApplicationRun(configure(config), spec, files, leftS, () => this.changed(spec, run));
    this.running.set(id, { spec, run });
  }

  private changed(spec: ApplicationSpec, run: ApplicationRun): void {
    const { id } = spec.definition;
    if (run.state === 'completed') {
      const runs = this.journal.runs.map((each) =>
        isRunOf(each, spec) ? { ...each, completed_ms: run.since_ms, metrics: { ...run.metrics } } : each,
      );
      this.note({ ...this.journal, runs });
      discard(join(this.runDir, 'applications', id));
    }
    if (this.told.get(id) !== run.state && TOLD.has(run.state)) {
      const event = `application.${run.state}` as 'application.running';
      this.emit(event, id, run.detail ?? run.state, {});
    }
    this.told.set(id, run.state);
    this.report();
  }

  private observe(spec: ApplicationSpec): ObservedApplication {
    const { id, kind, enabled } = spec.definition;
    const common = { id, revision: spec.revision };
    const run = this.running.get(id)?.run;
    const entry = this.runOf(spec);
    if (entry?.completed_ms != null)
      return { ...common, ...AT_REST, state: 'completed', since_ms: entry.completed_ms, metrics: entry.metrics };
    if (run) {
      const { state, since_ms, detail, restarts, pid, metrics } = run;
      return { ...common, state, since_ms, detail, restarts, pid, metrics: { ...metrics } };
    }
    if (!KINDS.has(kind))
      return { ...common, ...AT_REST, state: 'failed', since_ms: 0, detail: `no agent runs the kind ${kind}` };
    return { ...common, ...AT_REST, state: enabled ? 'starting' : 'stopped', since_ms: 0 };
  }

  private runOf(spec: ApplicationSpec): Run | undefined {
    return this.journal.runs.find((run) => isRunOf(run, spec));
  }

  /** Applications that cannot be saved run all the same. */
  private note(journal: Journal): void {
    this.journal = journal;
    try {
      this.store.write(journal);
      this.isSaved = true;
    } catch (error) {
      const why = `The applications cannot be saved for a restart: ${(error as Error).message}`;
      if (this.isSaved) this.emit('agent.state-not-saved', this.node, why, {});
      this.isSaved = false;
    }
  }

  private report(): void {
    if (this.closed) return;
    const { observed } = this;
    if (isDeepStrictEqual(observed, this.reported)) return;
    this.reported = observed;
    this.onObserved(observed);
  }
}

function discard(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch (error) {
    log('warning', `${directory} is left behind: ${(error as Error).message}`);
  }
}

const AT_REST = { detail: null, restarts: 0, pid: null, metrics: {} } as const;
