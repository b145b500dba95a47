/** What the store has left. Null: unknown, or without a limit. */
export interface StoreRoom {
  readonly free_disk_bytes: number | null;
  readonly used_memory_bytes: number | null;
  readonly max_memory_bytes: number | null;
}

export interface Pressure {
  readonly what: 'disk' | 'memory';
  readonly detail: string;
}

const LOW_DISK_BYTES = 512 * 1024 ** 2;
const HIGH_MEMORY_SHARE = 0.8;

/** What is about to run out, before the store stops taking changes. */
export function pressuresOf({ free_disk_bytes, used_memory_bytes, max_memory_bytes }: StoreRoom): Pressure[] {
  const found: Pressure[] = [];
  if (free_disk_bytes !== null && free_disk_bytes < LOW_DISK_BYTES)
    found.push({ what: 'disk', detail: `the disk of the store has ${mb(free_disk_bytes)} left` });
  if (used_memory_bytes !== null && max_memory_bytes && used_memory_bytes > HIGH_MEMORY_SHARE * max_memory_bytes)
    found.push({
      what: 'memory',
      detail: `the store uses ${mb(used_memory_bytes)} of ${mb(max_memory_bytes)} of memory`,
    });
  return found;
}

const mb = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MB`;
