export const CHAINS_ON_NODES = Symbol('ChainsOnNodes');

/** Who was to run where, for what is told of a server: by then its chains may have moved away. */
export interface ChainsOnNodes {
  /** Of what was to run on the server at a time of the wall clock; before the first that is known, that. */
  ranAt(node: string, atMs: number): string[];
}
