import type { SwitchNode } from '@orrery/contract';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import { formerDriver, type SwitchFleet } from '../../ports/switch-fleet.js';
import type { TwinView } from '../../ports/twin-view.js';

/**
 * An agent that has said nothing new since the twin was done is that of before, where the twin had nothing to change; or it
 * has just ended, which is seen by then.
 */
const SETTLED_MS = 500;

interface Rebuild {
  /** Of the infrastructure that gave the switch its driver. */
  readonly revision: number;
  readonly sinceMs: number;
  /** When the twin had built it. */
  builtMs: number | null;
  isDone: boolean;
}

/**
 * Switches of the twin whose driver has changed. Until the twin has built the infrastructure that says so, and the agent has
 * said hello since, what an agent reports is about the switch of before: also where its driver is the wanted one, because the
 * change was taken back while the twin was about it.
 */
export class RebuiltSwitches {
  private drivers: ReadonlyMap<string, string> = new Map();
  private readonly rebuilds = new Map<string, Rebuild>();

  constructor(
    private readonly fleet: Pick<SwitchFleet, 'connectedSinceMs' | 'switchDescription'>,
    private readonly infrastructure: Pick<InfrastructureStore, 'current'>,
    private readonly twin: Pick<TwinView, 'builtRevision'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Call at the start, and when the infrastructure has changed. */
  follow(): void {
    const now = this.driversNow();
    for (const [id, driver] of now) {
      const before = this.drivers.get(id);
      if (before !== undefined && before !== driver) this.begin(id);
    }
    for (const id of this.rebuilds.keys()) if (!now.has(id)) this.rebuilds.delete(id);
    this.drivers = now;
  }

  /** Call for switches whose driver is being changed: the change may have begun before this server started. */
  resume(ids: readonly string[]): void {
    const isBuilt = this.twin.builtRevision === this.infrastructure.current.revision;
    for (const id of ids) if (!isBuilt && this.drivers.has(id) && !this.rebuilds.has(id)) this.begin(id);
  }

  /** Whether any has not been called done. */
  get isAny(): boolean {
    return [...this.rebuilds.values()].some(({ isDone }) => !isDone);
  }

  /** Since its driver changed, it has not had its entries yet. */
  isUnderWay({ id }: Pick<SwitchNode, 'id'>): boolean {
    return this.rebuilds.get(id)?.isDone === false;
  }

  /** So it is, and has been for less than the time. */
  isWithin({ id }: Pick<SwitchNode, 'id'>, limitMs: number): boolean {
    const rebuild = this.rebuilds.get(id);
    return rebuild !== undefined && !rebuild.isDone && this.nowMs() - rebuild.sinceMs < limitMs;
  }

  /** It has its entries by the new driver. */
  done({ id }: Pick<SwitchNode, 'id'>): void {
    const rebuild = this.rebuilds.get(id);
    if (rebuild) rebuild.isDone = true;
  }

  /** Why what the agent reports is not about the switch as it is to be; null: it is. */
  lack(node: SwitchNode): string | null {
    const former = formerDriver(this.fleet, node);
    if (former !== null) return `still runs the driver ${former}, not ${node.driver}`;
    const rebuild = this.rebuilds.get(node.id);
    if (!rebuild || rebuild.isDone) return null;
    const builtMs = this.builtMs(rebuild);
    if (builtMs === null) return `the twin is still changing its driver to ${node.driver}`;
    const connectedMs = this.fleet.connectedSinceMs(node.id);
    const isHeard = connectedMs !== null && (connectedMs > rebuild.sinceMs || this.nowMs() - builtMs >= SETTLED_MS);
    return isHeard ? null : `waits for its agent to say that it runs ${node.driver}`;
  }

  private builtMs(rebuild: Rebuild): number | null {
    if (rebuild.builtMs === null && (this.twin.builtRevision ?? -1) >= rebuild.revision) rebuild.builtMs = this.nowMs();
    return rebuild.builtMs;
  }

  private begin(id: string): void {
    const { revision } = this.infrastructure.current;
    this.rebuilds.set(id, { revision, sinceMs: this.nowMs(), builtMs: null, isDone: false });
  }

  private driversNow(): ReadonlyMap<string, string> {
    const { switches } = this.infrastructure.current.infrastructure;
    return new Map(switches.flatMap(({ id, origin, driver }) => (origin === 'twin' ? [[id, driver] as const] : [])));
  }
}
