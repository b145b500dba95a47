import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Forwarding } from '@orrery/contract';
import type { DetachedProcess } from '../../platform/detached-process.js';
import { DriverError } from '../nf-driver.js';
import { closeLinks, makeClosedLinksInto, raiseLinksInto, removeLinks } from '../veth.js';
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
  ) {}

  get pid(): number {
    return this.holder.pid;
  }

  /** One whose holder was found running. */
  static found(holder: DetachedProcess, links: VethLinks): NetworkNamespace {
    return new NetworkNamespace(holder, links);
  }

  /** That of a process that has just been started to hold it, with new interfaces; the engine's ends stay down. */
  static async heldBy(holder: DetachedProcess, links: VethLinks): Promise<NetworkNamespace> {
    const made = new NetworkNamespace(holder, links);
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

  /** Sets all ends up: packets come. Rejects if one is missing. */
  open(): Promise<void> {
    return raiseLinksInto(this.links, this.pid);
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

  /** Ends every process in it but the holder: a program may have left children behind. */
  killMembers(): void {
    const own = namespaceOf(this.pid);
    // A holder that has just started is still in the agent's namespace.
    if (own === null || own === namespaceOf('self')) return;
    for (const entry of readdirSync('/proc')) {
      const pid = Number(entry);
      if (!Number.isInteger(pid) || pid === this.pid || namespaceOf(pid) !== own) continue;
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
