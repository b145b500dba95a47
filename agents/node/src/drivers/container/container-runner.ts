import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HeartbeatTiming } from '../../platform/heartbeat.js';
import { monotonicMs } from '../../platform/monotonic.js';
import { isAccelerated, type Switched, switchedConfig } from '../acceleration.js';
import { Refusal, Unreachable } from '../control-client.js';
import type { InstanceRecord, Runner } from '../hosted-instance.js';
import { DriverError, unknownNf } from '../nf-driver.js';
import { linksExist, makeLinksInto, raiseLinksInto, removeLinks } from '../veth.js';
import { stemOf, vethLinks } from '../veth-names.js';
import { holderConfig, nanoCpus, nfConfig } from './container-config.js';
import { endedContainer, howItEnded } from './container-end.js';
import { ContainerInstance } from './container-instance.js';
import { type ContainerNames, containerNames } from './container-names.js';
import type { Container } from './docker-client.js';
import type { DockerHost } from './docker-host.js';
import { ownPid } from './docker-trial.js';
import { DropTotal } from './drop-total.js';
import { CONFIGURE_LIMIT_MS, NfClient } from './nf-client.js';
import { controlSocket, layOut } from './nf-folder.js';

const START_LIMIT_MS = CONFIGURE_LIMIT_MS;
/** A dying container closes its socket first. */
const DEATH_NEWS_MS = 300;
/** Exit code of the program for a command line or an instance that it cannot use. */
const UNUSABLE = 2;
const DROPS_FILE = 'drops.json';

/** Runs an NF in a container, beside another that holds its network namespace. */
export class ContainerRunner implements Runner<ContainerInstance> {
  private readonly totals = new Map<string, DropTotal>();

  constructor(
    private readonly host: DockerHost,
    private readonly node: string,
    private readonly folder: string,
    private readonly heartbeat: HeartbeatTiming,
    /** Called with a container that no longer has an instance and could not be removed. */
    private readonly onLeft: (container: string, error: Error) => void,
  ) {}

  /** Through its control socket, so that a running one is found while Docker is down. */
  async adopt(record: InstanceRecord): Promise<ContainerInstance | null> {
    const { instance_id, nf, acceleration } = record;
    if (!(await this.linked(instance_id))) return null;
    try {
      const instance = await this.meet(instance_id, null);
      if ((await instance.control.nf()) === nf) {
        // An earlier agent may have switched it.
        if (acceleration) await instance.control.configure(record);
        instance.cpu_limit = record.cpu_limit;
        return instance;
      }
      instance.release();
    } catch {
      // It will be recreated.
    }
    return null;
  }

  async start(record: InstanceRecord): Promise<ContainerInstance> {
    const { instance_id, nf, cpu_limit } = record;
    await this.host.looked;
    const image = await this.host.provideImage();
    const { docker, nfs } = this.host;
    if (!nfs.includes(nf)) throw unknownNf('container', nf, nfs);
    const of = { image, node: this.node, instance_id, cpu_limit };
    const holder = await this.holder(of);
    const name = this.namesOf(instance_id).nf;
    await docker.remove(name);
    const directory = join(this.folder, stemOf(instance_id));
    layOut(directory, record);
    const container = await docker.create(name, nfConfig(of, holder, directory));
    await docker.start(container);
    const instance = await this.awaitAnswer(instance_id, container);
    instance.cpu_limit = cpu_limit;
    return instance;
  }

  /** An NF that does not respond is restarted with the new configuration. */
  async configure(instance: ContainerInstance, record: InstanceRecord): Promise<boolean> {
    try {
      await this.limit(instance, record);
      await instance.control.configure(asSwitched(record, instance.switched));
      return true;
    } catch (error) {
      if (error instanceof Unreachable) return false;
      throw error instanceof Refusal ? refusedBy(record.instance_id, error) : error;
    }
  }

  private async limit(instance: ContainerInstance, { instance_id, cpu_limit }: InstanceRecord): Promise<void> {
    if (instance.cpu_limit === cpu_limit) return;
    await this.host.docker.limit(this.namesOf(instance_id).nf, nanoCpus(cpu_limit));
    instance.cpu_limit = cpu_limit;
  }

  /** Changes only the setting that switches it, if it does not do so already. */
  async switchTo(instance: ContainerInstance, record: InstanceRecord, accelerated: boolean): Promise<void> {
    const { acceleration: mode, config } = record;
    if (mode && isAccelerated(config, mode, instance.switched) === accelerated) return;
    const switched = { accelerated, at_ms: Date.now() };
    try {
      await instance.control.configure(asSwitched(record, switched));
      instance.switched = switched;
    } catch (error) {
      throw error instanceof Refusal ? refusedBy(record.instance_id, error) : error;
    }
  }

  /** Drops of an instance on this node, whether its NF runs or not. */
  totalOf(instanceId: string): DropTotal {
    const known = this.totals.get(instanceId);
    const total = known ?? new DropTotal(join(this.folder, stemOf(instanceId), DROPS_FILE));
    this.totals.set(instanceId, total);
    return total;
  }

  interfaces(instanceId: string): readonly string[] {
    const { near, far } = vethLinks(instanceId);
    return [near.engine, far.engine];
  }

  async relink(instanceId: string): Promise<void> {
    const holder = await this.host.docker.inspect(this.namesOf(instanceId).holder);
    if (!holder?.running) throw new DriverError('the holder of its network namespace does not run', instanceId);
    await raiseLinksInto(vethLinks(instanceId), await ownPid(holder));
  }

  linked(instanceId: string): Promise<boolean> {
    return linksExist(vethLinks(instanceId));
  }

  /** Without its interfaces a container does nothing; one that Docker cannot remove now is removed later. */
  async clear(instanceId: string): Promise<void> {
    const names = Object.values(this.namesOf(instanceId));
    await Promise.all(names.map((name) => this.host.docker.remove(name).catch((error) => this.onLeft(name, error))));
    await removeLinks(vethLinks(instanceId));
    this.totals.delete(instanceId);
  }

  /** Compares the assumed state of a container with what Docker reports. */
  async verify(instanceId: string, instance: ContainerInstance): Promise<void> {
    const { docker } = this.host;
    instance.held = (await docker.inspect(this.namesOf(instanceId).holder))?.running === true;
    const found = await docker.inspect(this.namesOf(instanceId).nf);
    if (found?.running) instance.container = found.id;
    else instance.end(found ? await this.diagnose(found) : { how: 'its container is gone' });
  }

  /** Why a container ended. */
  async diagnose(container: Container) {
    const how = await howItEnded(this.host.docker, container);
    return { how, permanent: container.exit_code === UNUSABLE };
  }

  /** Why an NF can no longer be reached: how its container ended, once Docker says that it has, or the error. */
  async whyUnreachable(instanceId: string, error: Error) {
    const found = await endedContainer(this.host.docker, this.namesOf(instanceId).nf);
    return found ? this.diagnose(found) : { how: error.message };
  }

  private namesOf(instanceId: string): ContainerNames {
    return containerNames(this.node, instanceId);
  }

  /** Name of a running holder that has the NF's interfaces. */
  private async holder(of: Parameters<typeof holderConfig>[0]): Promise<string> {
    const { docker } = this.host;
    const { instance_id } = of;
    const { nf, holder: name } = this.namesOf(instance_id);
    const links = vethLinks(instance_id);
    const found = await docker.inspect(name);
    if (
      found?.running &&
      (await raiseLinksInto(links, await ownPid(found)).then(
        () => true,
        () => false,
      ))
    )
      return name;
    await docker.remove(nf);
    await docker.remove(name);
    await docker.start(await docker.create(name, holderConfig(of)));
    const made = await docker.inspect(name);
    if (!made?.running) throw new DriverError('the holder of the network namespace ended at once');
    await makeLinksInto(links, await ownPid(made));
    return name;
  }

  private async awaitAnswer(instanceId: string, container: string): Promise<ContainerInstance> {
    const deadline = monotonicMs() + START_LIMIT_MS;
    for (;;) {
      try {
        return await this.meet(instanceId, container);
      } catch (error) {
        const found = await this.host.docker.inspect(container);
        if (!found?.running) throw await this.startFailure(found);
        if (monotonicMs() > deadline)
          throw new DriverError(`the NF was not ready after ${START_LIMIT_MS} ms: ${(error as Error).message}`);
        await sleep(20);
      }
    }
  }

  /** What did not fit into its memory at the start will not fit the next time. */
  private async startFailure(found: Container | null): Promise<DriverError> {
    if (!found) return new DriverError('its container is gone');
    const { how, permanent } = await this.diagnose(found);
    return new DriverError(how, null, permanent || found.out_of_memory);
  }

  private async meet(instanceId: string, container: string | null): Promise<ContainerInstance> {
    const { near, far } = vethLinks(instanceId);
    let instance: ContainerInstance | null = null;
    const control = await this.connect(
      instanceId,
      (error) => instance && void this.onUnreachable(instanceId, instance, error),
    );
    const ends = { near: near.engine, far: far.engine };
    const met = new ContainerInstance(ends, control, container, true, this.totalOf(instanceId), {
      control: controlSocket(this.folder, instanceId),
      timing: this.heartbeat,
    });
    // Before its figures are read.
    await met.sample().catch((error) => {
      met.release();
      throw error;
    });
    instance = met;
    return met;
  }

  /** A connection on which the NF has responded. */
  private async connect(instanceId: string, onFailure: (error: Error) => void): Promise<NfClient> {
    let answered = false;
    const path = controlSocket(this.folder, instanceId);
    const client = await NfClient.connect(path, (error) => answered && onFailure(error));
    try {
      await client.nf();
    } catch (error) {
      client.close();
      throw error;
    }
    answered = true;
    return client;
  }

  /** Docker tells why a container died; one that is alive but unreachable is given up. */
  private async onUnreachable(instanceId: string, instance: ContainerInstance, error: Error): Promise<void> {
    await sleep(DEATH_NEWS_MS, undefined, { ref: false });
    if (!instance.alive) return;
    try {
      instance.control = await this.connect(instanceId, (next) => void this.onUnreachable(instanceId, instance, next));
    } catch {
      instance.end(await this.whyUnreachable(instanceId, error));
    }
  }
}

function asSwitched(record: InstanceRecord, switched: Switched | null): InstanceRecord {
  const { acceleration: mode, config } = record;
  return mode && switched ? { ...record, config: switchedConfig(config, mode, switched) } : record;
}

function refusedBy(instanceId: string, refusal: Refusal): DriverError {
  return new DriverError(`${instanceId}: ${refusal.message}`, instanceId, refusal.permanent);
}
