import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { InstanceSpec } from '@orrery/contract';
import type { Emit } from '../link/agent-event.js';
import { readJsonFile, writeDurably } from '../platform/durable-file.js';
import { log } from '../platform/log.js';
import { type Body, HostedInstance, InstanceRecord, type Runner } from './hosted-instance.js';
import { type Change, DriverError, type HostedInstance as Observed } from './nf-driver.js';
import { stemOf } from './veth-names.js';

/** The instances of one driver, each with a folder that survives the agent, and kept running. */
export class HostedInstances<B extends Body> {
  private readonly instances = new Map<string, HostedInstance<B>>();

  constructor(
    private readonly runner: Runner<B>,
    private readonly folder: string,
    private readonly emit: Emit,
    private readonly onChange: () => void,
  ) {}

  get all(): readonly HostedInstance<B>[] {
    return [...this.instances.values()];
  }

  has(id: string): boolean {
    return this.instances.has(id);
  }

  get(id: string): HostedInstance<B> {
    const instance = this.instances.get(id);
    if (!instance) throw new DriverError(`${id} is not here`, id);
    return instance;
  }

  observe(): ReadonlyMap<string, Observed> {
    return new Map([...this.instances].map(([id, instance]) => [id, instance.observed]));
  }

  /** Takes over what an earlier agent left and starts again what ended meanwhile. */
  async adopt(): Promise<void> {
    const begun = listFolders(this.folder).flatMap((stem) => {
      const record = readJsonFile(join(this.folder, stem, 'record.json'), InstanceRecord, (why) => log('warning', why));
      return record ? [this.begin(record)] : [];
    });
    await Promise.all(begun.map((instance) => instance.launch((record) => this.runner.adopt(record))));
  }

  /** Resolves when every instance of the change has been tried; rejects with the first that could not be. */
  async realize(change: Change, recordOf: (instance: InstanceSpec) => InstanceRecord): Promise<void> {
    const { deploy, configure, destruct } = change;
    const made = [...deploy, ...configure].map((instance) => this.make(recordOf(instance)));
    const results = await Promise.allSettled([...made, ...destruct.map((id) => this.destruct(id))]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  private async make(record: InstanceRecord): Promise<void> {
    const there = this.instances.get(record.instance_id);
    if (there) return there.configure(record, (taken) => this.remember(taken));
    this.remember(record);
    await this.begin(record).launch();
  }

  private async destruct(id: string): Promise<void> {
    const instance = this.instances.get(id);
    if (!instance) return;
    await instance.destruct();
    rmSync(this.directory(id), { recursive: true, force: true });
    this.instances.delete(id);
    this.onChange();
  }

  /** Leaves them as they are for the next agent, or ends them and takes away what was made for them. */
  async close(keep: boolean): Promise<void> {
    if (keep) for (const instance of this.all) instance.release();
    const work = this.all.map((instance) =>
      keep ? instance.inTurn(async () => undefined) : this.destruct(instance.record.instance_id),
    );
    for (const result of await Promise.allSettled(work))
      if (result.status === 'rejected') log('warning', `left behind: ${result.reason.message}`);
  }

  directory(id: string): string {
    return join(this.folder, stemOf(id));
  }

  private begin(record: InstanceRecord): HostedInstance<B> {
    const { instance_id } = record;
    const instance = new HostedInstance(record, this.runner, this.onChange, (how) =>
      this.emit('error', 'instance.ended', instance_id, `${instance_id} does not run: ${how}`, { how }),
    );
    this.instances.set(instance_id, instance);
    return instance;
  }

  /** Before anything is made of it: an agent that comes after a crash finds and removes that. */
  private remember(record: InstanceRecord): void {
    const directory = this.directory(record.instance_id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeDurably(join(directory, 'record.json'), `${JSON.stringify(record)}\n`);
  }
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
