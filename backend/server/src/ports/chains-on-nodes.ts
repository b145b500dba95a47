export const CHAINS_ON_NODES = Symbol('ChainsOnNodes');

/** Who runs where now, for what is told of a server: by then its chains may have moved away. */
export interface ChainsOnNodes {
  /** Of what is to run on the server, at most 64. */
  of(node: string): string[];
}
