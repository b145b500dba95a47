import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InstanceSpec } from '@orrery/contract';
import type { Emit } from '../link/agent-event.js';
import { readJsonFile, writeDurably } from '../platform/durable-file.js';
import { log } from '../platform/log.js';
import { removeTree } from '../platform/remove-tree.js';
import { HostedInstance, InstanceRecord, type Runner, type RunningInstance } from './hosted-instance.js';
import { type Change, DriverError, type HostedView, type InstanceHost, type InstanceInterface } from './nf-driver.js';
import { stemOf } from './veth-names.js';

const RECORD = 'record.json';
/** In the names of folders that are being removed. */
export const GONE = '.gone.';
/** A program may have left very many files: the next agent removes the rest. */
const REMOVAL_LIMIT_MS = 5000;

const isOn = (running: RunningInstance | null): boolean => running !== null && !running.isOver;

/** The instances of one driver, kept running, each with a folder that outlives the agent. */
export class HostedInstances<I extends RunningInstance> implements InstanceHost {
  private readonly instances = new Map<string, HostedInstance<I>>();
  /** Of folders, one after the other. */
  private removal: Promise<void> = Promise.resolve();

  constructor(
    private readonly runner: Runner<I>,
    private readonly folder: string,
    private readonly emit: Emit,
    private readonly onChange: () => void,
  ) {}

  get all(): readonly HostedInstance<I>[] {
    return [...this.instances.values()];
  }

  has(id: string): boolean {
    return this.instances.has(id);
  }

  get(id: string): HostedInstance<I> {
    const instance = this.instances.get(id);
    if (!instance) throw new DriverError(`${id} is not here`, id);
    return instance;
  }

  observe(): ReadonlyMap<string, HostedView> {
    return new Map([...this.instances].map(([id, instance]) => [id, instance.observed]));
  }

  get interfaces(): readonly InstanceInterface[] {
    return [...this.instances].flatMap(([instance_id, { running, observed }]) =>
      observed.state === 'stopping'
        ? []
        : this.runner.interfaces(instance_id).map((name) => ({ name, instance_id, isRunning: isOn(running) })),
    );
  }

  /** What has ended has closed its interfaces: nothing may pass without it. */
  relink(id: string): Promise<void> {
    const instance = this.get(id);
    return instance.inTurn(async () => {
      if (isOn(instance.running)) await this.runner.relink(id);
    });
  }

  recreate(id: string, why: string): void {
    void this.instances.get(id)?.recreate(why);
  }

  /** Adopts what an earlier agent left running, and starts what ended in the meantime. */
  async adopt(): Promise<void> {
    const begun = listFolders(this.folder).flatMap((stem) => {
      if (stem.includes(GONE)) return this.removeLater(join(this.folder, stem));
      const record = readJsonFile(join(this.folder, stem, RECORD), InstanceRecord, (why) => log('warning', why));
      return record ? [this.begin(record)] : [];
    });
    await Promise.all(begun.map((instance) => instance.adopt()));
    for (const instance of begun) void instance.launch();
  }

  /** Sets the desired state of each instance and returns; `observe` reports their progress. */
  realize({ deploy, configure, destruct }: Change, recordOf: (instance: InstanceSpec) => InstanceRecord): void {
    for (const instance of [...deploy, ...configure]) this.make(recordOf(instance));
    // An instance that could not be removed shows this in its state, and its removal is retried.
    for (const id of destruct)
      this.instances
        .get(id)
        ?.destruct()
        .catch(() => undefined);
  }

  private make(record: InstanceRecord): void {
    const there = this.instances.get(record.instance_id);
    if (there) {
      void there.configure(record);
      return;
    }
    this.remember(record);
    void this.begin(record).launch();
  }

  /** Leaves them unchanged for the next agent, or stops them and removes what was created for them. */
  async close(keep: boolean): Promise<void> {
    if (keep) for (const instance of this.all) instance.release();
    const work = this.all.map((instance) => (keep ? instance.inTurn(async () => undefined) : instance.destruct()));
    for (const result of await Promise.allSettled(work))
      if (result.status === 'rejected') log('warning', `left behind: ${result.reason.message}`);
    await Promise.race([this.removal, sleep(REMOVAL_LIMIT_MS, undefined, { ref: false })]);
  }

  directory(id: string): string {
    return join(this.folder, stemOf(id));
  }

  private begin(record: InstanceRecord): HostedInstance<I> {
    const { instance_id: id } = record;
    const instance = new HostedInstance(record, this.runner, {
      changed: this.onChange,
      silent: (trouble) => this.emit('instance.unresponsive', id, `${id}: ${trouble ?? 'it does not answer'}`, {}),
      answers: (silent_ms) =>
        this.emit('instance.answers', id, `${id} answers again after ${(silent_ms / 1000).toFixed(1)} s`, {
          silent_ms,
        }),
      ended: (how) => this.emit('instance.ended', id, `${id} does not run: ${how}`, { how }),
      refused: (why) => this.emit('instance.refused', id, `${id} keeps running unchanged: ${why}`, { why }),
      taken: (taken) => this.remember(taken),
      gone: () => this.forget(id),
    });
    this.instances.set(id, instance);
    return instance;
  }

  private forget(id: string): void {
    const directory = this.directory(id);
    // First of all: the next agent would begin it again.
    rmSync(join(directory, RECORD), { force: true });
    const gone = `${directory}${GONE}${randomUUID()}`;
    try {
      // Another instance of this name may begin before all of it is removed.
      renameSync(directory, gone);
      this.removeLater(gone);
    } catch (error) {
      log('warning', `${directory} is left behind: ${(error as Error).message}`);
    }
    this.instances.delete(id);
    this.onChange();
  }

  private removeLater(path: string): [] {
    this.removal = this.removal
      .then(() => removeTree(path))
      .catch((error) => log('warning', `${path} is left behind: ${error.message}`));
    return [];
  }

  /** Written before anything is created: after a crash, the next agent finds and removes it. */
  private remember(record: InstanceRecord): void {
    const directory = this.directory(record.instance_id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeDurably(join(directory, RECORD), `${JSON.stringify(record)}\n`);
  }
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
