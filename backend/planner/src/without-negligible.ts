/**
 * Figures above 0 and below this are taken for 0: in each unit of the contract (bit/s, us, cycles per byte, what a slot has)
 * far less than can be measured, and what is divided by one of them is far beyond what a plan can reckon with.
 */
const NEGLIGIBLE = 1e-9;

/** What an NF reads, to which the planner gives no meaning. */
const OF_NFS: ReadonlySet<string> = new Set(['config', 'config_schema', 'default_config']);

/** The value, or a copy of it with 0 for what is negligible. */
export function withoutNegligible<T>(value: T): T;
export function withoutNegligible(value: unknown): unknown {
  if (typeof value === 'number') return Math.abs(value) < NEGLIGIBLE ? 0 : value;
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutNegligible<unknown>(item));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(
    ([key, field]) => [key, field, OF_NFS.has(key) ? field : withoutNegligible<unknown>(field)] as const,
  );
  const isChanged = fields.some(([, before, after]) => before !== after);
  return isChanged ? Object.fromEntries(fields.map(([key, , after]) => [key, after])) : value;
}
