import { createHash } from 'node:crypto';

/** A value by a name that only equal ones have; without the value where the thread has it already. */
export interface Shared<T> {
  readonly name: string;
  readonly value?: T;
}

/** Values of each kind that a thread keeps: those that were used last. */
const MOST_KEPT = 2;

/** The last used of each kind. */
class Recent<T> {
  private readonly kinds = new Map<string, Map<string, T>>();

  get(kind: string, name: string): T | undefined {
    const known = this.kinds.get(kind)?.get(name);
    if (known !== undefined) this.set(kind, name, known);
    return known;
  }

  set(kind: string, name: string, value: T): void {
    const own = this.kinds.get(kind) ?? new Map<string, T>();
    this.kinds.set(kind, own);
    own.delete(name);
    own.set(name, value);
    for (const old of [...own.keys()].slice(0, -MOST_KEPT)) own.delete(old);
  }

  clear(): void {
    this.kinds.clear();
  }
}

/**
 * The sender's side: what jobs have in common goes to the thread once, not with every job. Precondition: values are not
 * changed after they were shared, and jobs reach the thread in the order in which their values are shared.
 */
export class SharedValues {
  private readonly names = new WeakMap<object, string>();
  private readonly sent = new Recent<true>();

  /** `name`: if it is known, nothing is computed of the content. */
  share<T extends object>(kind: string, value: T, name = this.nameOf(value)): Shared<T> {
    if (this.sent.get(kind, name)) return { name };
    this.sent.set(kind, name, true);
    return { name, value };
  }

  /** The thread has made the value itself, and keeps it. */
  isKept(kind: string, name: string): void {
    this.sent.set(kind, name, true);
  }

  /** From here on everything is sent again: the thread is another one. */
  forget(): void {
    this.sent.clear();
  }

  private nameOf(value: object): string {
    const known = this.names.get(value);
    if (known !== undefined) return known;
    const content = JSON.stringify(value instanceof Map ? [...value] : value);
    const name = createHash('sha256').update(content).digest('base64');
    this.names.set(value, name);
    return name;
  }
}

/** Thrown in a thread that was not told the value of a name. */
export class NotKept extends Error {}

/** The thread's side. */
export class KeptValues {
  private readonly kept = new Recent<object>();

  keep(kind: string, name: string, value: object): void {
    this.kept.set(kind, name, value);
  }

  /** The very object that came with the name. Throws `NotKept`. */
  take<T extends object>(kind: string, { name, value }: Shared<T>): T {
    const known = this.kept.get(kind, name) as T | undefined;
    if (known !== undefined) return known;
    if (value === undefined) throw new NotKept(`${kind} ${name}`);
    this.kept.set(kind, name, value);
    return value;
  }
}
