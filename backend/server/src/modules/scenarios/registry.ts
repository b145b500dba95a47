import type { ScenarioScript } from './scenario.js';
import { SWAP } from './swap/swap.js';

/** Every scenario; a new one is its folder and a line here. */
export const SCRIPTS: readonly ScenarioScript[] = [SWAP];
