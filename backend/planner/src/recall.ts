/** Takes over a part of a plan from an earlier one in which it was made from the same. */
export interface Recall {
  /**
   * `from`: all that the part is made from, beside options, descriptors, infrastructure and the servers that offer
   * containers. The result is shared with other plans: nobody changes it.
   */
  of<T>(part: string, from: unknown, make: () => T): T;
  /** Stands for a value in what others are made from; told at once for what was taken over or named before. */
  nameOf(value: object): string;
}

/** Makes everything anew. */
export const NOTHING_KNOWN: Recall = { of: (_part, _from, make) => make(), nameOf: () => '' };
