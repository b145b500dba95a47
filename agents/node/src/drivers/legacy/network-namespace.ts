import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Forwarding } from '@orrery/contract';
import { endMembers, membersOf } from '../../platform/cgroup.js';
import type { DetachedProcess } from '../../platform/detached-process.js';
import { readLinks } from '../../platform/links.js';
import { DriverError } from '../nf-driver.js';
import { closeLinks, linksLeadInto, makeClosedLinksInto, raiseLinksInto, removeLinks } from '../veth.js';
import type { VethLinks } from '../veth-names.js';
import { forward } from './forwarding.js';

const UNSHARED_LIMIT_MS = 5000;
const STOP_GRACE_MS = 1000;

const namespaceOf = (pid: number | 'self'): string | null => {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
};

/**
 * A network namespace with the two interfaces of a legacy NF. A process that does nothing else holds it, so that it
 * remains while the NF's program is restarted, and while there is no agent.
 */
export class NetworkNamespace {
  private constructor(
    readonly holder: DetachedProcess,
    private readonly links: VethLinks,
    /** Name of the control group of those in it, if they have one of the agent's. */
    private readonly group: string | null,
  ) {}

  get pid(): number {
    return this.holder.pid;
  }

  /** One whose holder was found running. */
  static found(holder: DetachedProcess, links: VethLinks, group: string | null = null): NetworkNamespace {
    return new NetworkNamespace(holder, links, group);
  }

  /** That of a process that has just been started to hold it, with new interfaces; the engine's ends stay down. */
  static async heldBy(
    holder: DetachedProcess,
    links: VethLinks,
    group: string | null = null,
  ): Promise<NetworkNamespace> {
    const made = new NetworkNamespace(holder, links, group);
    try {
      await made.isOwn();
      await makeClosedLinksInto(links, holder.pid);
      return made;
    } catch (error) {
      holder.kill();
      throw error;
    }
  }

  forward(mode: Forwarding): Promise<void> {
    return forward(mode, this.pid);
  }

  /** Whether packets that the engine sends come to it: a program may have renamed, moved or replaced its interfaces. */
  isWhole(): Promise<boolean> {
    return linksLeadInto(this.links, this.pid);
  }

  /** Removes both pairs, wherever their ends in it are now. */
  removeLinks(): Promise<void> {
    return removeLinks(this.links);
  }

  /** Sets all ends up: packets come. Rejects if one is missing. */
  open(): Promise<void> {
    return raiseLinksInto(this.links, this.pid);
  }

  /** Whether packets can come: the engine's ends are up. */
  async isOpen(): Promise<boolean> {
    const all = await readLinks();
    return [this.links.near, this.links.far].every(({ engine }) => all.get(engine)?.isUp);
  }

  /** Sets the engine's ends down: no packets come. */
  close(): Promise<void> {
    return closeLinks(this.links);
  }

  /** Ends every process in it, then the namespace with its interfaces. */
  async remove(): Promise<void> {
    this.killMembers();
    await this.holder.stop(STOP_GRACE_MS);
    await removeLinks(this.links);
  }

  /** Processes in it but the holder, and those that left it for another and kept its limits. */
  members(): number[] {
    const own = namespaceOf(this.pid);
    // A holder that has just started is still in the agent's namespace.
    const isShared = own === null || own === namespaceOf('self');
    const inside = isShared
      ? []
      : readdirSync('/proc')
          .map(Number)
          .filter((pid) => namespaceOf(pid) === own);
    const found = new Set([...inside, ...(this.group === null ? [] : membersOf(this.group))]);
    found.delete(this.pid);
    return [...found];
  }

  /** Ends every member: a program may have left children behind. */
  killMembers(): void {
    if (this.group !== null) endMembers(this.group);
    for (const pid of this.members()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
  }

  private async isOwn(): Promise<void> {
    for (const until = performance.now() + UNSHARED_LIMIT_MS; performance.now() < until; await sleep(5)) {
      const own = namespaceOf(this.pid);
      if (own !== null && own !== namespaceOf('self')) return;
      if (!this.holder.alive || !existsSync(`/proc/${this.pid}`)) break;
    }
    throw new DriverError('no network namespace could be made');
  }
}
