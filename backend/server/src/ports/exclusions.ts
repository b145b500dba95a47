export const EXCLUSIONS = Symbol('Exclusions');

/** What no plan uses, whatever it was asked for. */
export interface Excluded {
  /** In maintenance. */
  readonly servers: readonly string[];
  readonly boards: readonly string[];
  /** Away for longer than the grace time: nothing waits for them, and what they held is gone. */
  readonly lost_servers: readonly string[];
}

export interface Exclusions extends Excluded {
  /** May be called although they are as before. */
  onChange(listener: () => void): void;
}
