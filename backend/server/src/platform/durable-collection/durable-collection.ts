import type { Log } from '../log.js';
import type { Pace } from '../pace.js';
import { changedSince, conflict, notFound } from '../problem.js';
import type { Store, Transaction } from '../redis.js';
import type { CollectionChange, CollectionDefinition } from './definition.js';
import { decodeEntry, type Entry, encodeEntry } from './entry.js';

/** In-memory copy of the entries in Redis, changed only by `Collections.commit`. */
export class DurableCollection<T extends object> {
  private entries = new Map<string, Entry<T>>();
  private sorted: readonly T[] | null = null;
  /** Number of the last transaction that numbered something. */
  private last = 0;
  private loading: Promise<void> | null = null;
  private readonly listeners = new Set<(change: CollectionChange<T>) => void>();
  /** Entries in Redis that this server cannot read, when the collection was last read. */
  unreadable = 0;

  constructor(
    readonly definition: CollectionDefinition<T>,
    private readonly store: Store,
    private readonly log: Log,
  ) {}

  /** Reads the collection if that has not been done, or if a transaction on it got no reply. */
  load(): Promise<void> {
    this.loading ??= this.read().catch((error: unknown) => {
      this.loading = null;
      throw error;
    });
    return this.loading;
  }

  all(): readonly T[] {
    this.sorted ??= [...this.entries.values()].map(({ value }) => value).sort(orderOf(this.definition, this.entries));
    return this.sorted;
  }

  get size(): number {
    return this.entries.size;
  }

  find(id: string): T | undefined {
    return this.entries.get(id)?.value;
  }

  /** Throws 404. */
  get(id: string): T {
    return this.entryOf(id).value;
  }

  /** Value of `ETag`, compared with `If-Match`. Throws 404. */
  revisionOf(id: string): number {
    return this.entryOf(id).revision;
  }

  /** In a collection that is numbered, the number of the transaction that added it; 0: an earlier server did. Throws 404. */
  addedBy(id: string): number {
    return this.entryOf(id).added ?? 0;
  }

  /** Called after each change, including one that is found on re-reading the collection. */
  onChange(listener: (change: CollectionChange<T>) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** For `Collections` only. */
  draft(): CollectionDraft<T> {
    return new CollectionDraft(this.definition, this.entries, () => this.all(), this.last + 1);
  }

  /** For `Collections` alone: the draft is stored. Gives the way to tell the listeners. */
  take(draft: CollectionDraft<T>): () => void {
    const change = draft.change();
    this.entries = draft.entries();
    this.last = lastNumber(
      change.put.map((value) => this.entries.get(this.definition.idOf(value))!),
      this.last,
    );
    const compare = orderOf(this.definition, this.entries);
    if (this.sorted) this.sorted = afterChange(this.sorted, change, compare, this.definition);
    return () => this.tell(change);
  }

  /** For `Collections` only: Redis may be ahead of memory. */
  doubt(): void {
    this.loading = null;
  }

  private entryOf(id: string): Entry<T> {
    const entry = this.entries.get(id);
    if (!entry) throw notFound(this.definition.noun, id);
    return entry;
  }

  private async read(): Promise<void> {
    const stored = await this.store.redis.hgetall(this.definition.key);
    const before = this.entries;
    this.entries = new Map();
    for (const [id, text] of Object.entries(stored)) {
      const entry = this.decode(id, text);
      if (entry) this.entries.set(id, entry);
    }
    this.unreadable = Object.keys(stored).length - this.entries.size;
    this.last = lastNumber(this.entries.values(), this.last);
    this.sorted = null;
    this.tell(differenceOf(before, this.entries));
  }

  /** Null if unreadable. The entry stays in Redis for a server that can read it. */
  private decode(id: string, text: string): Entry<T> | null {
    try {
      return decodeEntry(this.definition, id, text);
    } catch (error) {
      this.log.error({ error: (error as Error).message, key: this.definition.key, id }, 'an entry cannot be read');
      return null;
    }
  }

  private tell(change: CollectionChange<T>): void {
    if (change.put.length === 0 && change.removed.length === 0) return;
    for (const listener of this.listeners) {
      try {
        listener(change);
      } catch (error) {
        this.log.error({ error, key: this.definition.key }, 'a listener of a collection failed');
      }
    }
  }
}

/** Changes of one collection that are not stored yet. */
export class CollectionDraft<T extends object> {
  private readonly after: Map<string, Entry<T>>;
  private readonly touched = new Set<string>();
  private readonly texts = new Map<string, string>();

  /** `sorted`: the values before, in order; `number`: of this transaction. */
  constructor(
    private readonly definition: CollectionDefinition<T>,
    private readonly before: ReadonlyMap<string, Entry<T>>,
    private readonly sorted: () => readonly T[],
    private readonly number: number,
  ) {
    this.after = new Map(before);
  }

  put(value: T, ifMatch: string | null): void {
    const id = this.definition.idOf(value);
    const known = this.after.get(id);
    this.requireMatch(known, id, ifMatch);
    const { bound, noun, numbered } = this.definition;
    if (!known && bound.policy === 'refuse' && this.after.size >= bound.most)
      throw conflict(`The limit of ${bound.most} entries of the kind "${noun}" is reached; delete some first.`);
    const before = this.before.get(id);
    const added = before ? before.added : this.number;
    const isFreed = before && this.isKept(before.value) && !this.isKept(value);
    const freed = isFreed ? this.number : before?.freed;
    const revision = (before?.revision ?? 0) + 1;
    this.after.set(id, { value, revision, added: numbered && added, freed: numbered && freed });
    this.touched.add(id);
  }

  /** False if there is none. */
  remove(id: string, ifMatch: string | null): boolean {
    this.requireMatch(this.after.get(id), id, ifMatch);
    if (!this.after.delete(id)) return false;
    this.touched.add(id);
    return true;
  }

  /** Adds the removals that the bound requires. */
  trim(): void {
    const { bound, idOf, numbered } = this.definition;
    if (bound.policy !== 'drop-last') return;
    const excess = this.after.size - bound.most;
    if (excess <= 0) return;
    const compare = orderOf(this.definition, this.after);
    const inOrder = afterChange(this.sorted(), this.change(), compare, this.definition);
    const droppable = inOrder.filter((value) => !this.isKept(value));
    if (numbered !== 'oldest-first') droppable.reverse();
    const dropped = numbered ? ofLeast(droppable, excess, (value) => this.numberOf(value)) : droppable.slice(0, excess);
    for (const value of dropped) this.remove(idOf(value), null);
  }

  /** Precedes `writeIn`; a batch may have thousands of entries. */
  async encode(pace: Pace): Promise<void> {
    for (const id of this.touched) {
      const entry = this.after.get(id);
      if (entry) this.texts.set(id, encodeEntry(this.definition, entry));
      await pace.breathe();
    }
  }

  /** By one command for all entries: each costs the client and Redis more than its text does. */
  writeIn(transaction: Transaction): void {
    const gone = [...this.touched].filter((id) => !this.after.has(id) && this.before.has(id));
    if (this.texts.size > 0) transaction.hset(this.definition.key, this.texts);
    if (gone.length > 0) transaction.hdel(this.definition.key, ...gone);
  }

  get isEmpty(): boolean {
    return [...this.touched].every((id) => !this.after.has(id) && !this.before.has(id));
  }

  entries(): Map<string, Entry<T>> {
    return this.after;
  }

  change(): CollectionChange<T> {
    const put: T[] = [];
    const removed: T[] = [];
    for (const id of this.touched) {
      const [was, now] = [this.before.get(id), this.after.get(id)];
      if (now) put.push(now.value);
      else if (was) removed.push(was.value);
    }
    return { put, removed };
  }

  private isKept(value: T): boolean {
    const { bound } = this.definition;
    return bound.policy === 'drop-last' && bound.keeps?.(value) === true;
  }

  /** Since when it may be dropped. */
  private numberOf(value: T): number {
    const { added = 0, freed = added } = this.after.get(this.definition.idOf(value))!;
    return freed;
  }

  private requireMatch(known: Entry<T> | undefined, id: string, ifMatch: string | null): void {
    if (ifMatch === null) return;
    if (!known) throw notFound(this.definition.noun, id);
    if (ifMatch !== String(known.revision)) throw changedSince(`${this.definition.noun} "${id}"`, known.revision);
  }
}

type Compare<T> = (a: T, b: T) => number;

function orderOf<T extends object>(
  { order, idOf, numbered }: CollectionDefinition<T>,
  entries: ReadonlyMap<string, Entry<T>>,
): Compare<T> {
  const byId = (a: T, b: T) => (idOf(a) < idOf(b) ? -1 : 1);
  const ordered: Compare<T> = order ? (a, b) => order(a, b) || byId(a, b) : byId;
  if (!numbered || numbered === 'in-order') return ordered;
  const addedBy = (value: T) => entries.get(idOf(value))?.added ?? 0;
  const sign = numbered === 'newest-first' ? -1 : 1;
  return (a, b) => sign * (addedBy(a) - addedBy(b)) || ordered(a, b);
}

/** The `count` values of the least numbers; of equal ones, the first. All are looked at once: there may be tens of thousands. */
function ofLeast<T>(values: readonly T[], count: number, numberOf: (value: T) => number): readonly T[] {
  if (values.length <= count) return values;
  const numbers = Float64Array.from(values, numberOf);
  const most = numbers.toSorted()[count - 1]!;
  let equal = count - numbers.filter((number) => number < most).length;
  return values.filter((_, at) => numbers[at]! < most || (numbers[at] === most && equal-- > 0));
}

function lastNumber(entries: Iterable<Entry<object>>, before: number): number {
  let last = before;
  for (const { added = 0, freed = 0 } of entries) last = Math.max(last, added, freed);
  return last;
}

/** The values in order once they are changed: without a look at more than each of them once. */
function afterChange<T extends object>(
  sorted: readonly T[],
  { put, removed }: CollectionChange<T>,
  compare: Compare<T>,
  { idOf }: CollectionDefinition<T>,
): T[] {
  const changed = new Set([...put, ...removed].map(idOf));
  const added = put.toSorted(compare);
  const values: T[] = [];
  let next = 0;
  for (const value of sorted) {
    if (changed.has(idOf(value))) continue;
    while (next < added.length && compare(added[next]!, value) < 0) values.push(added[next++]!);
    values.push(value);
  }
  for (const value of added.slice(next)) values.push(value);
  return values;
}

function differenceOf<T>(
  before: ReadonlyMap<string, Entry<T>>,
  after: ReadonlyMap<string, Entry<T>>,
): CollectionChange<T> {
  const put = [...after].filter(([id, entry]) => before.get(id)?.revision !== entry.revision);
  const removed = [...before].filter(([id]) => !after.has(id));
  return { put: put.map(([, { value }]) => value), removed: removed.map(([, { value }]) => value) };
}
