/**
 * Gives each of `waiting`, first come first served, one of what it can use, where needed by giving those before it another
 * one: as many as possible are served, and nobody before is left out for somebody behind. `taken` are kept as served.
 */
export function match(
  waiting: readonly string[],
  options: (id: string) => readonly string[],
  taken: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const holderOf = new Map([...taken].map(([id, accelerator]) => [accelerator, id]));
  const serve = (id: string, tried: Set<string>): boolean => {
    const can = options(id);
    const open = can.find((accelerator) => !holderOf.has(accelerator));
    if (open !== undefined) {
      holderOf.set(open, id);
      return true;
    }
    for (const accelerator of can) {
      if (tried.has(accelerator)) continue;
      tried.add(accelerator);
      if (!serve(holderOf.get(accelerator)!, tried)) continue;
      holderOf.set(accelerator, id);
      return true;
    }
    return false;
  };
  for (const id of waiting) if (!taken.has(id)) serve(id, new Set());
  return new Map([...holderOf].map(([accelerator, id]) => [id, accelerator]));
}
