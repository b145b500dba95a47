import { ALPINE_SLO } from './alpine-slo/alpine-slo.js';
import { CHAIN_LATENCY } from './chain-latency/chain-latency.js';
import { E2_LOAD_WAVE } from './e2-load-wave/e2-load-wave.js';
import { E2_NATIVE } from './e2-native/e2-native.js';
import { E2_OFFLOAD } from './e2-offload/e2-offload.js';
import { E2_PLACEMENT } from './e2-placement/e2-placement.js';
import { E2_SPLIT } from './e2-split/e2-split.js';
import { FABRIC_THREE_WAYS } from './fabric-three-ways/fabric-three-ways.js';
import { HYDRANF_CHAINS } from './hydranf-chains/hydranf-chains.js';
import { HYDRANF_PLACEMENT } from './hydranf-placement/hydranf-placement.js';
import { HYPER_CHAINING } from './hyper-chaining/hyper-chaining.js';
import { OVERLOAD_HEAL } from './overload-heal/overload-heal.js';
import { P4_OWN_PROGRAM } from './p4-own-program/p4-own-program.js';
import type { ScenarioKind } from './scenario.js';
import { SSM_TABLE_1 } from './ssm/table-1.js';
import { SSM_FOUR_TUNNELS, SSM_TWO_TUNNELS } from './ssm/tunnels-in-turn.js';
import { SWAP } from './swap/swap.js';

/** Every scenario; a new one is a folder and one line here. */
export const SCENARIOS: readonly ScenarioKind[] = [
  SWAP,
  CHAIN_LATENCY,
  HYDRANF_CHAINS,
  HYDRANF_PLACEMENT,
  ALPINE_SLO,
  E2_NATIVE,
  E2_OFFLOAD,
  E2_SPLIT,
  E2_LOAD_WAVE,
  FABRIC_THREE_WAYS,
  P4_OWN_PROGRAM,
  E2_PLACEMENT,
  SSM_TABLE_1,
  SSM_TWO_TUNNELS,
  SSM_FOUR_TUNNELS,
  OVERLOAD_HEAL,
  HYPER_CHAINING,
];
