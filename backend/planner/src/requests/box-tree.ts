/** Closed bounds of a box, by dimension: `lo` and `hi` have the same length. */
export interface Bounds {
  readonly lo: readonly number[];
  readonly hi: readonly number[];
}

interface Leaf<T> {
  readonly bounds: Bounds;
  readonly value: T;
  holder: Holder<T> | null;
}

interface Holder<T> {
  readonly bounds: { readonly lo: number[]; readonly hi: number[] };
  readonly isLowest: boolean;
  readonly parts: (Leaf<T> | Holder<T>)[];
  holder: Holder<T> | null;
}

const MOST_PARTS = 8;

/** Boxes that are found by what they meet without a look at the rest (R-tree, Guttman 1984). */
export class BoxTree<T> {
  private root: Holder<T>;
  private readonly leaves = new Map<T, Leaf<T>>();

  /** `extent`: of the whole space, by dimension. */
  constructor(private readonly extent: readonly number[]) {
    this.root = this.holderOf([], true);
  }

  get size(): number {
    return this.leaves.size;
  }

  /** Precondition: the value is not in the tree. */
  add(bounds: Bounds, value: T): void {
    let holder = this.root;
    while (!holder.isLowest) holder = this.nearest(holder.parts as Holder<T>[], bounds);
    const leaf: Leaf<T> = { bounds, value, holder };
    this.leaves.set(value, leaf);
    holder.parts.push(leaf);
    for (let it: Holder<T> | null = holder; it; it = it.holder) widen(it.bounds, bounds);
    for (let it: Holder<T> | null = holder; it && it.parts.length > MOST_PARTS; it = it.holder) this.split(it);
  }

  /** Bounds of what held it stay as they are. */
  remove(value: T): void {
    let part: Leaf<T> | Holder<T> | undefined = this.leaves.get(value);
    this.leaves.delete(value);
    while (part?.holder) {
      const { holder }: { readonly holder: Holder<T> } = part as Leaf<T> & { readonly holder: Holder<T> };
      holder.parts.splice(holder.parts.indexOf(part), 1);
      if (holder.parts.length > 0) return;
      part = holder;
    }
    if (part) this.root = this.holderOf([], true);
  }

  /** The first that meets the bounds and is accepted. */
  find(bounds: Bounds, isIt: (value: T) => boolean): T | undefined {
    const open: Holder<T>[] = [this.root];
    for (let holder = open.pop(); holder; holder = open.pop())
      for (const part of holder.parts) {
        if (!meets(part.bounds, bounds)) continue;
        if ('parts' in part) open.push(part);
        else if (isIt(part.value)) return part.value;
      }
    return undefined;
  }

  private nearest(parts: readonly Holder<T>[], bounds: Bounds): Holder<T> {
    let [best, least] = [parts[0]!, Number.POSITIVE_INFINITY];
    for (const part of parts) {
      const growth = this.growth(part.bounds, bounds);
      if (growth < least) [best, least] = [part, growth];
    }
    return best;
  }

  /** By how much the sides become longer, as shares of the space. */
  private growth({ lo, hi }: Bounds, by: Bounds): number {
    let sum = 0;
    for (let d = 0; d < lo.length; d++)
      sum += (Math.max(0, lo[d]! - by.lo[d]!) + Math.max(0, by.hi[d]! - hi[d]!)) / this.extent[d]!;
    return sum;
  }

  /** Halves a holder in the dimension in which its parts lie apart most, compared with how long they are. */
  private split(holder: Holder<T>): void {
    const { parts } = holder;
    const middle = ({ bounds: { lo, hi } }: { readonly bounds: Bounds }, d: number) => lo[d]! + hi[d]!;
    let [dimension, most] = [0, -1];
    for (let d = 0; d < this.extent.length; d++) {
      const middles = parts.map((part) => middle(part, d));
      const longest = Math.max(...parts.map(({ bounds: { lo, hi } }) => hi[d]! - lo[d]! + 1));
      const apart = (Math.max(...middles) - Math.min(...middles)) / longest;
      if (apart > most) [dimension, most] = [d, apart];
    }
    const sorted = [...parts].sort((a, b) => middle(a, dimension) - middle(b, dimension));
    const halves = [sorted.slice(0, sorted.length / 2), sorted.slice(sorted.length / 2)];
    const [one, other] = halves.map((half) => this.holderOf(half, holder.isLowest)) as [Holder<T>, Holder<T>];
    const above = holder.holder;
    if (above) above.parts.splice(above.parts.indexOf(holder), 1, one, other);
    else this.root = this.holderOf([one, other], false);
    one.holder = above ?? this.root;
    other.holder = above ?? this.root;
  }

  private holderOf(parts: (Leaf<T> | Holder<T>)[], isLowest: boolean): Holder<T> {
    const bounds = {
      lo: this.extent.map(() => Number.POSITIVE_INFINITY),
      hi: this.extent.map(() => Number.NEGATIVE_INFINITY),
    };
    const holder: Holder<T> = { bounds, isLowest, parts, holder: null };
    for (const part of parts) {
      part.holder = holder;
      widen(bounds, part.bounds);
    }
    return holder;
  }
}

function widen({ lo, hi }: Holder<unknown>['bounds'], by: Bounds): void {
  for (let d = 0; d < lo.length; d++) {
    lo[d] = Math.min(lo[d]!, by.lo[d]!);
    hi[d] = Math.max(hi[d]!, by.hi[d]!);
  }
}

function meets(a: Bounds, b: Bounds): boolean {
  for (let d = 0; d < a.lo.length; d++) if (a.lo[d]! > b.hi[d]! || b.lo[d]! > a.hi[d]!) return false;
  return true;
}
