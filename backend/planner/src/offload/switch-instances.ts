import { type Plan, type SwitchInstance, switchInstanceId } from '@orrery/contract';
import { type AbilitiesOf, lowerFabric } from '../lower/switch/lower-fabric.js';
import type { LoweredDraft } from '../plan/draft.js';

/** What switches run in the plan, with the entries that they hold for it; none: absent in the plan. */
export function switchInstances({ onSwitches, input, fabric }: LoweredDraft): Pick<Plan, 'on_switches'> {
  const { taken } = onSwitches;
  if (taken.length === 0) return {};
  const abilities: AbilitiesOf = input.switches ?? new Map();
  const { switches } = lowerFabric(input.infrastructure, abilities, fabric.rules, input.budget);
  const entries = new Map<string, number>();
  for (const { entries: held } of switches.values())
    for (const { nf } of held) if (nf) entries.set(nf.instance_id, (entries.get(nf.instance_id) ?? 0) + 1);
  return {
    on_switches: taken.flatMap((one): SwitchInstance[] =>
      one.switches.map((id) => {
        const instance = switchInstanceId(one.pgraph_node, id);
        return {
          id: instance,
          chain_id: one.chain_id,
          pgraph_node: one.pgraph_node,
          node_id: one.node_id,
          nf: one.nf,
          driver: 'switch',
          switch: id,
          entries: entries.get(instance) ?? 0,
          load_bps: one.load_bps,
          frees_core_share: one.cores,
          saves_bps: one.load_bps,
        };
      }),
    ),
  };
}
