const NAME_LENGTH = 40;

/** The preferred name if it is unused, otherwise with `-2`, `-3`, ...; always a valid contract `Name`. */
export function freshName(preferred: string, taken: ReadonlySet<string>): string {
  const stem = asName(preferred);
  if (!taken.has(stem)) return stem;
  for (let ordinal = 2; ; ordinal++) {
    const suffix = `-${ordinal}`;
    const name = stem.slice(0, NAME_LENGTH - suffix.length) + suffix;
    if (!taken.has(name)) return name;
  }
}

/** The first free of `e1`, `e2`, ... */
export function freshEdgeId(taken: ReadonlySet<string>): string {
  for (let ordinal = 1; ; ordinal++) {
    const id = `e${ordinal}`;
    if (!taken.has(id)) return id;
  }
}

/** Turns what an operator typed into a valid contract `Name`: "HTTP guard (v2)" becomes `http-guard-v2`. */
export function asName(text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, NAME_LENGTH)
    .replace(/-+$/, '');
  return words || 'chain';
}
