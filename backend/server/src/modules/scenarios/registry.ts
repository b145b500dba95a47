import { CHAIN_LATENCY } from './chain-latency/chain-latency.js';
import type { ScenarioKind } from './scenario.js';
import { SWAP } from './swap/swap.js';

/** Every scenario; a new one is a folder and one line here. */
export const SCENARIOS: readonly ScenarioKind[] = [SWAP, CHAIN_LATENCY];
