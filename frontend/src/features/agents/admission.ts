import type { NodeStatus } from '@orrery/contract';

/** Why agents of the node cannot be admitted or revoked by hand; null: they can. */
export function whyNot({ origin }: Pick<NodeStatus, 'origin'>, may: boolean): string | null {
  if (!may) return 'Needs the role admin';
  return origin === 'twin' ? 'Emulated: the twin gives its agents their credentials' : null;
}

/** What revoking does, for the confirmation. */
export function revokeText({ id, kind }: Pick<NodeStatus, 'id' | 'kind'>): string {
  const traffic =
    kind === 'server'
      ? 'Its engine forwards packets as before'
      : 'The switch forwards packets with the entries that it has';
  return `The agent of ${id} is disconnected and refused until it gets a new join token. ${traffic}, but changes no longer reach it, and its chains are degraded.`;
}
