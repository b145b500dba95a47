/** A server's own address on the fabric: locally administered, the same in every plan, from its id alone (FNV-1a). */
export function serverMac(serverId: string): string {
  let hash = 0x811c9dc5;
  for (const character of serverId) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  const folded = (hash ^ (hash >>> 16)) & 0xffff;
  const hex = (byte: number) => byte.toString(16).padStart(2, '0');
  return `02:0f:00:00:${hex(folded >> 8)}:${hex(folded & 0xff)}`;
}
