import { Inject, Injectable } from '@nestjs/common';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { DesiredStore } from './desired-store.js';

/** Whether servers follow the desired state, as their agents report. */
@Injectable()
export class Convergence {
  constructor(
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
  ) {}

  /** Servers of the phase that have not reached their generation. */
  waiting(): string[] {
    return this.state.desired.waiting_for.filter((node) => this.exists(node) && !this.hasReached(node));
  }

  isAway(node: string): boolean {
    return !this.fleet.isConnected(node);
  }

  /** Whether nothing waits for the server or switch any more: it is connected, no longer exists, or is done without. */
  isBack(node: string): boolean {
    return !this.exists(node) || this.fleet.isConnected(node) || this.exclusions.lost_servers.includes(node);
  }

  failureOf(node: string): string | null {
    const observed = this.fleet.observed(node);
    return this.fleet.isConnected(node) && observed?.state === 'failed'
      ? `${node}: ${observed.error ?? 'failed'}`
      : null;
  }

  lag(node: string): string {
    if (this.isAway(node)) return `${node}: its agent is not connected`;
    const observed = this.fleet.observed(node);
    const troubled = observed?.instances.find(({ state, detail }) => state !== 'running' && detail !== null);
    if (troubled) return `${node}: ${troubled.id} is ${troubled.state}: ${troubled.detail}`;
    return `${node}: is at generation ${observed?.generation ?? 0} of ${this.state.desired.nodes[node]?.generation}`;
  }

  /** Progress of a bitstream load, which takes seconds; progress extends the time-out. */
  loadedBytes(node: string): number {
    if (this.isAway(node)) return 0;
    const slots = this.fleet.observed(node)?.boards.flatMap((board) => board.slots) ?? [];
    return slots.reduce((sum, { load }) => sum + (load?.bytes ?? 0), 0);
  }

  /** Emulated nodes do not exist while the twin is off. */
  private exists(node: string): boolean {
    if (!this.fleet.status(node)) return false;
    return this.twin.enabled || this.fleet.originOf(node) !== 'twin';
  }

  private hasReached(node: string): boolean {
    const observed = this.fleet.observed(node);
    const wanted = this.state.desired.nodes[node]?.generation;
    return this.fleet.isConnected(node) && observed?.generation === wanted && observed?.state === 'converged';
  }
}
