import { join } from 'node:path';
import type { AgentCapabilities, InstanceSpec, LegacyProgram } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { tail } from '../../platform/file-tail.js';
import { HEARTBEAT, type HeartbeatTiming } from '../../platform/heartbeat.js';
import { recordOf } from '../hosted-instance.js';
import { HostedInstances } from '../hosted-instances.js';
import { processDigest } from '../instance-digest.js';
import { type Change, DriverError, type HostedDriver } from '../nf-driver.js';
import { isInstalled } from './namespace-commands.js';
import type { ProcessInstance } from './process-instance.js';
import { ProcessRunner } from './process-runner.js';
import { listFiles } from './program-files.js';
import type { InstalledNf } from './registry.js';

const LOG_LINES = 20;
const MOST_FILES = 20;

/** Runs NFs that are unmodified programs between two interfaces ("legacy" in E2 3.6), and keeps them running. */
export class ProcessDriver implements HostedDriver {
  readonly kind = 'process';
  readonly nfs: readonly string[];
  readonly instances: HostedInstances<ProcessInstance>;
  private readonly runner: ProcessRunner;

  constructor(
    installed: readonly InstalledNf[],
    private readonly options: { run_dir: string; runs_any: boolean },
    emit: Emit,
    onChange: () => void,
    heartbeat: HeartbeatTiming = HEARTBEAT,
  ) {
    const registry = new Map(installed.map((nf) => [nf.nf, nf]));
    const usable = installed.filter(({ program }) => programsOf(program).every(isInstalled));
    this.nfs = usable.map(({ nf }) => nf);
    const folder = join(options.run_dir, 'nf');
    this.runner = new ProcessRunner(registry, options.runs_any, folder, heartbeat);
    this.instances = new HostedInstances(this.runner, folder, emit, onChange);
    this.lacking = installed.flatMap((nf) => (usable.includes(nf) ? [] : [nf]));
  }

  private readonly lacking: readonly InstalledNf[];

  /** What it can run, for the server. */
  get offer(): NonNullable<AgentCapabilities['legacy_nfs']> {
    const { runs_any: enabled } = this.options;
    const rights = enabled ? 'runs programs of users' : 'runs only what came with the agent (--legacy-nfs off)';
    const missing = this.lacking.map(({ nf, program }) => `${nf} needs ${program.packages.join(', ')}`);
    return { enabled, nfs: [...this.nfs], detail: [rights, ...missing].join('; ').slice(0, 1000) };
  }

  /** Adopts the processes of an earlier agent and restarts those that ended in the meantime. */
  adopt(): Promise<void> {
    return this.instances.adopt();
  }

  digest(instance: InstanceSpec): string {
    return processDigest(instance);
  }

  async realize(change: Change): Promise<void> {
    this.instances.realize(change, (instance) => recordOf(instance, processDigest(instance)));
  }

  async getInstanceState(instanceId: string): Promise<Record<string, unknown>> {
    const { record, running, restarts, observed } = this.instances.get(instanceId);
    const program = this.runner.programOf(record);
    return {
      nf: record.nf,
      config: record.config,
      state: observed.state,
      restarts,
      pid: running?.pid ?? null,
      forwarding: program?.forwarding ?? null,
      preserves: program?.preserves ?? [],
      ...(program?.report ? { report: running?.figures ?? {} } : {}),
      limits: program?.command && running ? this.runner.limitsOf(instanceId, running) : {},
      files: listFiles(this.runner.directory(instanceId), MOST_FILES),
      log: tail(this.runner.logFile(instanceId)).split('\n').slice(-LOG_LINES).join('\n'),
    };
  }

  async exportState(instanceId: string): Promise<Record<string, unknown>> {
    throw new DriverError(`${instanceId}: a process NF cannot export flow state`, instanceId, true);
  }

  async importState(instanceId: string): Promise<null> {
    throw new DriverError(`${instanceId}: a process NF cannot import flow state`, instanceId, true);
  }

  /** Leaves the processes running for the next agent, or stops them and removes their interfaces. */
  close(keep: boolean): Promise<void> {
    return this.instances.close(keep);
  }
}

/** The programs that it starts, where these do not depend on the configuration. */
function programsOf({ setup, command, report }: LegacyProgram): string[] {
  return [...setup, ...(command ? [command] : []), ...(report ? [report] : [])]
    .map(([program]) => program!)
    .filter((it) => !it.includes('{{'));
}
