import { type Infrastructure, linkDownTrouble, type OutOfService, type ServerNode } from '@orrery/contract';
import type { NodeFleet } from '../../ports/node-fleet.js';
import type { TwinView } from '../../ports/twin-view.js';

/** A part that is lost again within this time after it was back must be well for twice as long. */
const FLAPPING_MS = 600_000;
/** Times that the time doubles. */
const MOST_DOUBLINGS = 6;

/** Parts of the twin are left out while it is off, builds or has failed to. `revision`: of the infrastructure. */
export function isThere(
  { origin }: Pick<OutOfService, 'origin'>,
  { enabled, builtRevision }: Pick<TwinView, 'enabled' | 'builtRevision'>,
  revision: number,
): boolean {
  return origin !== 'twin' || (enabled && builtRevision === revision);
}

/** Why a server runs nothing; null: it is well. */
export function troubleOf({ id, nics }: ServerNode, fleet: NodeFleet): string | null {
  if (!fleet.isConnected(id)) return 'its agent is not connected';
  const observed = fleet.observed(id);
  if (!observed) return 'its agent has not reported yet';
  if (observed.engine !== 'running') return `its engine is ${observed.engine}`;
  const link = linkDownTrouble(nics[0]!.name);
  return observed.troubles.includes(link) ? link : null;
}

/** For how long servers have been well or not, by a monotonic clock. */
export class Wellbeing {
  private readonly since = new Map<string, { readonly why: string | null; readonly atMs: number }>();
  private readonly flaps = new Map<string, { readonly count: number; readonly atMs: number }>();

  /** Looks at all servers; false: none is well, so that more likely something else is wrong, and nothing is judged. */
  follow({ servers }: Pick<Infrastructure, 'servers'>, fleet: NodeFleet, nowMs: number): boolean {
    const troubles = new Map(servers.map((server) => [server.id, troubleOf(server, fleet)]));
    for (const id of this.since.keys()) if (!troubles.has(id)) this.since.delete(id);
    for (const [id, why] of troubles) {
      const before = this.since.get(id);
      if (!before || (before.why === null) !== (why === null)) this.since.set(id, { why, atMs: nowMs });
      else this.since.set(id, { ...before, why });
    }
    return [...troubles.values()].some((why) => why === null);
  }

  /** Time is not counted while nothing is judged. */
  reset(): void {
    this.since.clear();
  }

  /** Why it is not well, and how much of the time is left; null: it is well. */
  ill(id: string, limitMs: number, nowMs: number): { readonly why: string; readonly leftMs: number } | null {
    const state = this.since.get(id);
    return state?.why == null ? null : { why: state.why, leftMs: Math.max(0, state.atMs + limitMs - nowMs) };
  }

  /** Time until it has been well for long enough; null: it is not well. */
  wellIn(id: string, limitMs: number, nowMs: number): number | null {
    const state = this.since.get(id);
    if (!state || state.why !== null) return null;
    return Math.max(0, state.atMs + limitMs * 2 ** (this.flaps.get(id)?.count ?? 0) - nowMs);
  }

  lost(id: string, nowMs: number): void {
    const before = this.flaps.get(id);
    const isAgain = before !== undefined && nowMs - before.atMs < FLAPPING_MS;
    this.flaps.set(id, { count: isAgain ? Math.min(before.count + 1, MOST_DOUBLINGS) : 0, atMs: nowMs });
  }

  back(id: string, nowMs: number): void {
    const before = this.flaps.get(id);
    if (before) this.flaps.set(id, { ...before, atMs: nowMs });
  }
}
