import type { Infrastructure, MergeNode, MirrorNode } from '@orrery/contract';

/** CPU cycles that a mirror or a merge is predicted to take for each packet; null where the clock is not known. */
export function cyclesPerPacket(
  { core_share, load_bps, server }: Pick<MirrorNode | MergeNode, 'core_share' | 'load_bps' | 'server'>,
  infrastructure: Pick<Infrastructure, 'servers'> | undefined,
  packet_bytes: number,
): number | null {
  const ghz = infrastructure?.servers.find(({ id }) => id === server)?.ghz;
  const pps = load_bps / (8 * packet_bytes);
  return ghz === undefined || pps <= 0 ? null : (core_share * ghz * 1e9) / pps;
}
