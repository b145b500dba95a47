/**
 * Results of pure functions by what they were made from, so that a plan that differs little from an earlier one takes
 * over what did not change. Holds at most twice `most` results: when so many are new, those not asked for since the last
 * time are forgotten. Results are shared between plans: nobody changes them.
 */
export class Memo {
  private recent = new Map<string, unknown>();
  private older = new Map<string, unknown>();
  private readonly names = new WeakMap<object, string>();
  private named = 0;

  constructor(private readonly most: number) {}

  /** `keep` says afterwards whether the result depends on `key` alone. */
  get<T>(key: string, make: () => T, keep: () => boolean = () => true): T {
    const recent = this.recent.get(key);
    if (recent !== undefined || this.recent.has(key)) return recent as T;
    const known = this.older.has(key);
    const result = known ? (this.older.get(key) as T) : make();
    if (known || keep()) this.add(key, result);
    this.name(result);
    if (isPlain(result)) for (const field in result) this.name(result[field]);
    return result;
  }

  /**
   * A short name for a long part of keys; never the name of another. A result of `get` and its fields are told from all
   * others by their identity, anything else by its content as JSON, of which no more is read once it has a name.
   */
  nameOf(value: object): string {
    const known = this.names.get(value);
    if (known !== undefined) return known;
    const name = this.get(`name ${JSON.stringify(value)}`, () => this.newName());
    this.names.set(value, name);
    return name;
  }

  private name(result: unknown): void {
    if (typeof result !== 'object' || result === null || this.names.has(result)) return;
    this.names.set(result, this.newName());
  }

  private newName(): string {
    return `${this.named++}`;
  }

  private add(key: string, result: unknown): void {
    if (this.recent.size >= this.most) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, result);
  }
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
