/** Order of two Redis Stream ids (`<ms>-<sequence>`): negative when `a` is older. */
export function compareEventIds(a: string, b: string): number {
  const [aMs = '', aSeq = ''] = a.split('-');
  const [bMs = '', bSeq = ''] = b.split('-');
  return Number(aMs) - Number(bMs) || Number(aSeq) - Number(bSeq);
}

/** A resume point just before this event, so that reading after it starts with the event itself. */
export function pointBefore(id: string): string {
  const [ms = '0', seq = '0'] = id.split('-');
  return Number(seq) > 0 ? `${ms}-${Number(seq) - 1}` : `${Math.max(0, Number(ms) - 1)}-999999999`;
}
