import type { InstanceRecord, Runner } from '../hosted-instance.js';
import type { ProgramInstance } from '../legacy/program-instance.js';
import type { ProgramRunner } from '../legacy/program-runner.js';
import type { Programs } from '../legacy/programs.js';
import type { ContainerInstance } from './container-instance.js';
import type { ContainerRunner } from './container-runner.js';

/** An NF of the engine, or an unmodified program. */
export type Contained = ContainerInstance | ProgramInstance;

export const isNf = (running: Contained): running is ContainerInstance => 'control' in running;

/** Leaves each instance to the runner for what it is. */
export class ContainerRunners implements Runner<Contained> {
  /** Whether an instance was a program when something was last made for it. */
  private readonly arePrograms = new Map<string, boolean>();

  constructor(
    private readonly nfs: ContainerRunner,
    private readonly runner: ProgramRunner,
    private readonly programs: Programs,
  ) {}

  adopt(record: InstanceRecord): Promise<Contained | null> {
    this.arePrograms.set(record.instance_id, this.isProgram(record));
    return this.of(record.instance_id).adopt(record);
  }

  /** What was made for the other kind is removed. */
  async start(record: InstanceRecord): Promise<Contained> {
    const { instance_id: id } = record;
    const isProgram = this.isProgram(record);
    if (this.arePrograms.get(id) === !isProgram) await this.clear(id);
    this.arePrograms.set(id, isProgram);
    return this.of(id).start(record);
  }

  provide(record: InstanceRecord): Promise<void> | null {
    return this.isProgram(record) ? this.runner.provide(record) : null;
  }

  async configure(running: Contained, record: InstanceRecord): Promise<boolean> {
    if (isNf(running)) return !this.isProgram(record) && this.nfs.configure(running, record);
    return this.isProgram(record) && this.runner.configure(running, record);
  }

  interfaces(instanceId: string): readonly string[] {
    return this.of(instanceId).interfaces(instanceId);
  }

  relink(instanceId: string): Promise<void> {
    return this.of(instanceId).relink(instanceId);
  }

  linked(instanceId: string): Promise<boolean> {
    return this.of(instanceId).linked(instanceId);
  }

  async clear(instanceId: string): Promise<void> {
    await this.of(instanceId).clear(instanceId);
    this.arePrograms.delete(instanceId);
  }

  progress(instanceId: string): string | null {
    return this.runner.progress(instanceId);
  }

  abandon(instanceId: string): void {
    this.runner.abandon(instanceId);
  }

  private isProgram(record: InstanceRecord): boolean {
    return this.programs.of(record) !== undefined;
  }

  private of(instanceId: string): ContainerRunner | ProgramRunner {
    return this.arePrograms.get(instanceId) ? this.runner : this.nfs;
  }
}
