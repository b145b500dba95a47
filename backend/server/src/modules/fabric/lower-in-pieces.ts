import type { FabricRule, Infrastructure } from '@orrery/contract';
import { type AbilitiesOf, FabricLowering, type HeldRoom, type LoweredFabric } from '@orrery/planner';
import type { Pace } from '../../platform/pace.js';

/** As `lowerFabric`; in between others have the thread, since pools of service requests have thousands of rules. */
export async function lowerInPieces(
  infrastructure: Infrastructure,
  abilities: AbilitiesOf,
  rules: readonly FabricRule[],
  pace: Pace,
  held?: HeldRoom,
): Promise<LoweredFabric> {
  const lowering = new FabricLowering(infrastructure, abilities);
  for (const rule of rules) {
    lowering.add(rule);
    await pace.breathe();
  }
  return lowering.lowered(held);
}
