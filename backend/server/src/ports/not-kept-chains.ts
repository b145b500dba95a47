export const NOT_KEPT_CHAINS = Symbol('NotKeptChains');

/** A chain that a plan has left out. */
export interface LeftOutChain {
  readonly chain_id: string;
  readonly because: string;
  /** That ran; null: it is not known before the plan is accounted for. */
  readonly version: number | null;
}

/** Chains that plans have left out for want of room. */
export interface NotKeptChains {
  /** Also those of operations under way, and of plans that are not accounted for. */
  leftOut(): readonly LeftOutChain[];
  /** Whether the chain waits until there is room for it again. */
  isNotKept(chainId: string): boolean;
  /** As `ChainKeeper.ownerOf`; null: the chain is of no other loop. */
  ownerOf(chainId: string): string | null;
  /** Leaves chains to another loop, which deploys them again itself. Called before the server has started. */
  leaveTo(keeper: ChainKeeper): void;
}

/** A loop that deploys chains of its own. */
export interface ChainKeeper {
  /** What users know the chain to belong to, as in "belongs to …"; null: it is not one of the loop's own. */
  ownerOf(chainId: string): string | null;
  /** Has the chain not deployed again. Throws 409 while it is being deployed. */
  giveUp(chainId: string, by: string): Promise<void>;
}
