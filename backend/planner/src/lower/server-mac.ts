/** A server's own address on the fabric: locally administered, the same in every plan, from its id alone. */
export function serverMac(serverId: string): string {
  const hash = fnv1a(serverId);
  const folded = (hash ^ (hash >>> 16)) & 0xffff;
  return `02:0f:00:00:${hex(folded >> 8)}:${hex(folded & 0xff)}`;
}

/** Address of an interface of a host or server other than its first. The twin gives it the same. */
export function furtherMac(nodeId: string, port: string): string {
  const hash = fnv1a(`${nodeId} ${port}`);
  return `02:0d:${[24, 16, 8, 0].map((shift) => hex((hash >>> shift) & 0xff)).join(':')}`;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}

const hex = (byte: number) => byte.toString(16).padStart(2, '0');
