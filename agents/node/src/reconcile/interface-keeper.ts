import { linkDownTrouble } from '@orrery/contract';
import type { Drift, InstanceInterface } from '../drivers/nf-driver.js';
import type { Link, Links } from '../platform/links.js';

/** An interface of the node that the data plane uses. */
export interface NodeInterface {
  name: string;
  /** Null: any. */
  mac: string | null;
  /** The port, as the infrastructure calls it; absent: as the interface. */
  port?: string;
}

export interface InterfaceHost {
  /** What the data plane uses now. */
  readonly node: readonly NodeInterface[];
  readonly instances: readonly InstanceInterface[];
  /** Whether the agent may change the interfaces of its node, as in the twin. */
  readonly ownsNode: boolean;
  read(): Promise<Links>;
  /** Sets an interface of the node up. */
  set(name: string, settings: { mac?: string; mtu?: number }): Promise<void>;
  /** Sets all interfaces of an instance up. */
  relink(instanceId: string): Promise<void>;
  /** Restarts an instance with new interfaces. */
  recreate(instanceId: string, why: string): void;
  changed(): void;
}

const PERIOD_MS = 2000;
/** Without tags; a smaller one would drop full frames. */
const FRAME_MTU = 1500;

/** Compares the interfaces of the data plane with the desired ones every two seconds, and repairs what it may. */
export class InterfaceKeeper {
  drifts: readonly Drift[] = [];
  troubles: readonly string[] = [];
  /** Interfaces of the node whose other end is gone or down. */
  private unlinked: ReadonlySet<string> = new Set();
  private timer: NodeJS.Timeout | null = null;
  private stopped = false;
  /** Interfaces that disappeared under a running instance, until they are there again. */
  private readonly gone = new Set<string>();

  constructor(
    private readonly host: InterfaceHost,
    private readonly period_ms = PERIOD_MS,
  ) {}

  /** Whether nothing gets through the interface, which is there and set up. */
  isLinkDown(name: string): boolean {
    return this.unlinked.has(name);
  }

  start(): void {
    this.timer = setTimeout(() => void this.round(), this.period_ms).unref();
  }

  stop(): void {
    this.stopped = true;
    if (this.timer) clearTimeout(this.timer);
  }

  /** One comparison; after a repair a second one, which shows its result. */
  async check(): Promise<void> {
    const found = await this.compare();
    if (found.some(({ blocked }) => blocked === null)) await this.compare();
  }

  private async round(): Promise<void> {
    // Interfaces that cannot be listed now are compared the next time.
    await this.check().catch(() => undefined);
    if (!this.stopped) this.start();
  }

  private async compare(): Promise<readonly Drift[]> {
    // The interfaces of what runs now are there before they are listed.
    const { node, instances } = this.host;
    const links = await this.host.read();
    const names = new Set(instances.map(({ name }) => name));
    for (const name of this.gone) if (!names.has(name)) this.gone.delete(name);
    const drifts = [
      ...(await Promise.all(node.map((one) => this.nodeDrift(one, links.get(one.name))))),
      ...(await Promise.all(instances.map((one) => this.instanceDrift(one, links.get(one.name))))),
    ].flat();
    if (this.stopped) return [];
    const before = JSON.stringify([this.drifts, this.troubles]);
    this.drifts = drifts;
    const unlinked = node.filter(({ name }) => {
      const link = links.get(name);
      return link?.isUp && !link.hasCarrier;
    });
    this.troubles = unlinked.map(({ name, port = name }) => linkDownTrouble(port));
    this.unlinked = new Set(unlinked.map(({ name }) => name));
    if (JSON.stringify([this.drifts, this.troubles]) !== before) this.host.changed();
    return drifts;
  }

  private async nodeDrift({ name, mac }: NodeInterface, link: Link | undefined): Promise<Drift[]> {
    if (!link)
      return [{ part: name, difference: 'there is no such interface', blocked: 'the agent does not create it' }];
    const wrongMac = mac !== null && link.mac !== mac;
    const difference = [
      ...(link.isUp ? [] : ['it is administratively down']),
      ...(wrongMac ? [`its MAC address is ${link.mac} instead of ${mac}`] : []),
      ...(link.mtu < FRAME_MTU ? [`its MTU is ${link.mtu} instead of ${FRAME_MTU}`] : []),
    ].join(', ');
    if (difference === '') return [];
    if (!this.host.ownsNode) return [{ part: name, difference, blocked: 'the operator of the server configures it' }];
    const settings = { ...(wrongMac ? { mac } : {}), ...(link.mtu < FRAME_MTU ? { mtu: FRAME_MTU } : {}) };
    return [{ part: name, difference, blocked: await outcomeOf(this.host.set(name, settings)) }];
  }

  private async instanceDrift(one: InstanceInterface, link: Link | undefined): Promise<Drift[]> {
    const { name, instance_id, isRunning } = one;
    if (link) this.gone.delete(name);
    else {
      const difference = `an interface of ${instance_id} is gone`;
      const isNew = isRunning && !this.gone.has(name);
      if (isRunning) this.gone.add(name);
      if (isNew) this.host.recreate(instance_id, `its interface ${name} is gone`);
      return this.gone.has(name) ? [{ part: name, difference, blocked: null }] : [];
    }
    // An instance that starts sets its interfaces up itself.
    if (!isRunning || (link.isUp && link.hasCarrier && link.mtu >= FRAME_MTU)) return [];
    const what = link.isUp ? (link.hasCarrier ? `its MTU is ${link.mtu}` : 'its other end is down') : 'it is down';
    const blocked = await outcomeOf(this.host.relink(instance_id));
    return [{ part: name, difference: `an interface of ${instance_id}: ${what}`, blocked }];
  }
}

/** Why a repair failed; null: it did not. */
const outcomeOf = (repair: Promise<void>): Promise<string | null> =>
  repair.then(
    () => null,
    (error: Error) => error.message,
  );
