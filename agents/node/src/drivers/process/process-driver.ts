import { join } from 'node:path';
import type { InstanceSpec } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { HEARTBEAT, type HeartbeatTiming } from '../../platform/heartbeat.js';
import { recordOf } from '../hosted-instance.js';
import { HostedInstances } from '../hosted-instances.js';
import { processDigest } from '../instance-digest.js';
import { type Change, DriverError, type HostedDriver } from '../nf-driver.js';
import { type ProcessInstance, ProcessRunner } from './process-runner.js';
import type { ProcessNf } from './registry.js';

/** Runs NFs that are ordinary Linux processes between two interfaces ("legacy" in E2 3.6), and keeps them running. */
export class ProcessDriver implements HostedDriver {
  readonly kind = 'process';
  readonly nfs: readonly string[];
  readonly instances: HostedInstances<ProcessInstance>;

  constructor(
    nfs: readonly ProcessNf[],
    run_dir: string,
    emit: Emit,
    onChange: () => void,
    heartbeat: HeartbeatTiming = HEARTBEAT,
  ) {
    const registry = new Map(nfs.map((nf) => [nf.nf, nf]));
    this.nfs = [...registry.keys()];
    const folder = join(run_dir, 'nf');
    this.instances = new HostedInstances(new ProcessRunner(registry, folder, heartbeat), folder, emit, onChange);
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
    return { nf: record.nf, config: record.config, state: observed.state, restarts, pid: running?.pid ?? null };
  }

  async exportState(instanceId: string): Promise<Record<string, unknown>> {
    throw new DriverError(`${instanceId}: a process NF cannot export flow state`, instanceId, true);
  }

  async importState(instanceId: string): Promise<void> {
    throw new DriverError(`${instanceId}: a process NF cannot import flow state`, instanceId, true);
  }

  /** Leaves the processes running for the next agent, or stops them and removes their interfaces. */
  close(keep: boolean): Promise<void> {
    return this.instances.close(keep);
  }
}
