/** Order of two Redis Stream ids (`<ms>-<sequence>`): negative when `a` is older. */
export function compareEventIds(a: string, b: string): number {
  const [aMs = '', aSeq = ''] = a.split('-');
  const [bMs = '', bSeq = ''] = b.split('-');
  return Number(aMs) - Number(bMs) || Number(aSeq) - Number(bSeq);
}
