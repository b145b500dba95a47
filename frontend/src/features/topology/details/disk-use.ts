import { countText } from '../../../shared/format/number.js';
import { quantityText } from '../../../shared/format/quantity.js';

/** What a program has on disk, as the agent tells it in the state of its NF. */
export interface DiskUse {
  /** Null: not known. */
  readonly used_bytes: number | null;
  /** Why not all that it has could be read; null: all could be, or nothing was looked at yet. */
  readonly unread: string | null;
  readonly limit_bytes: number;
  /** How often it had as much as its limit, or more. */
  readonly excesses: number;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** In the state of an instance; null: it tells of no disk, as an NF that is no program. */
export function diskIn(state: unknown): DiskUse | null {
  const disk = typeof state === 'object' && state !== null && 'disk' in state ? state.disk : null;
  if (typeof disk !== 'object' || disk === null) return null;
  const { used_bytes, unread, limit_bytes, excesses } = disk as Partial<Record<keyof DiskUse, unknown>>;
  if (!isNumber(limit_bytes)) return null;
  return {
    used_bytes: isNumber(used_bytes) ? used_bytes : null,
    unread: typeof unread === 'string' && unread !== '' ? unread : null,
    limit_bytes,
    excesses: isNumber(excesses) ? excesses : 0,
  };
}

/** What it uses of its limit, and how often it reached that if it did. */
export function diskFacts({ used_bytes, unread, limit_bytes, excesses }: DiskUse): (readonly [string, string])[] {
  const limit = quantityText('bytes', limit_bytes);
  const used =
    used_bytes === null ? `not known, its limit is ${limit}` : `${quantityText('bytes', used_bytes)} of ${limit}`;
  const why = unread === null ? '' : `; not all could be read: ${unread}`;
  const times = excesses === 1 ? 'once' : `${countText(excesses)} times`;
  return [
    ['Used of disk', `${used}${why}`],
    ...(excesses > 0 ? ([['Disk limit reached', `${times}; it began anew with an empty folder`]] as const) : []),
  ];
}
