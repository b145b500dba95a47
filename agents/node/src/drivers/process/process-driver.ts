import { join } from 'node:path';
import {
  type AgentCapabilities,
  type InstanceLog,
  type InstanceSpec,
  type LegacyProgram,
  LOG_LINE_CHARS,
  type LogRequest,
} from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { HEARTBEAT, type HeartbeatTiming } from '../../platform/heartbeat.js';
import { readable } from '../../platform/readable.js';
import { cpuOfSessions } from '../../platform/session-cpu.js';
import { recordOf } from '../hosted-instance.js';
import { HostedInstances } from '../hosted-instances.js';
import { processDigest } from '../instance-digest.js';
import { isInstalled } from '../legacy/namespace-commands.js';
import type { ProgramInstance } from '../legacy/program-instance.js';
import { ProgramRunner } from '../legacy/program-runner.js';
import { ProgramUsage } from '../legacy/program-usage.js';
import type { Programs } from '../legacy/programs.js';
import type { InstalledNf } from '../legacy/registry.js';
import { type Change, DriverError, type HostedDriver, type HostedFigure } from '../nf-driver.js';
import { HostHousing } from './host-housing.js';

/** Runs NFs that are unmodified programs between two interfaces ("legacy" in E2 3.6), and keeps them running. */
export class ProcessDriver implements HostedDriver {
  readonly kind = 'process';
  readonly nfs: readonly string[];
  readonly instances: HostedInstances<ProgramInstance>;
  private readonly runner: ProgramRunner;
  /** By session, whose first process is that of the program. */
  private sessions: ReadonlyMap<number, number> | null = null;
  private readonly usage = new ProgramUsage({
    usage: async (pid) => {
      this.sessions ??= cpuOfSessions();
      const cpu_ns = this.sessions.get(Number(pid));
      if (cpu_ns === undefined) throw new Error('the program has ended');
      return { cpu_ns };
    },
  });

  constructor(
    private readonly programs: Programs,
    run_dir: string,
    emit: Emit,
    onChange: () => void,
    heartbeat: HeartbeatTiming = HEARTBEAT,
  ) {
    const { installed } = programs;
    const usable = installed.filter(({ program }) => programsOf(program).every((it) => isInstalled(it)));
    this.nfs = usable.map(({ nf }) => nf);
    const folder = join(run_dir, 'nf');
    this.runner = new ProgramRunner(programs, new HostHousing(folder), heartbeat);
    this.instances = new HostedInstances(this.runner, folder, emit, onChange);
    this.lacking = installed.flatMap((nf) => (usable.includes(nf) ? [] : [nf]));
  }

  private readonly lacking: readonly InstalledNf[];

  /** What it can run, for the server. */
  get offer(): NonNullable<AgentCapabilities['legacy_nfs']> {
    const { runsAny: enabled } = this.programs;
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
    const instance = this.instances.get(instanceId);
    return this.runner.stateOf(instance, instance.running);
  }

  /** Its file has no times. */
  async readLog(instanceId: string, { lines: most }: LogRequest): Promise<InstanceLog> {
    const all = this.runner.log(this.instances.get(instanceId).record.instance_id, most + 1);
    const lines = (await all).split('\n').filter((line) => line !== '');
    const told = lines.slice(-most).map((line) => ({ t_ms: null, text: readable(line, LOG_LINE_CHARS) }));
    return { lines: told, next: null, missed: lines.length > most };
  }

  async exportState(instanceId: string): Promise<Record<string, unknown>> {
    throw new DriverError(`${instanceId}: a process NF cannot export flow state`, instanceId, true);
  }

  async importState(instanceId: string): Promise<null> {
    throw new DriverError(`${instanceId}: a process NF cannot import flow state`, instanceId, true);
  }

  /** Reads what programs use. */
  async refresh(): Promise<void> {
    this.sessions = null;
    await this.usage.refresh(this.instances.all.flatMap(({ running }) => running?.programPid?.toString() ?? []));
  }

  figures(instanceId: string): HostedFigure | null {
    if (!this.instances.has(instanceId)) return null;
    const pid = this.instances.get(instanceId).running?.programPid;
    return { drops: {}, cpu_share: pid ? this.usage.shareOf(String(pid)) : null };
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
