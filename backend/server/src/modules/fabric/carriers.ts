import type { FabricRule, Infrastructure, SwitchAbilities } from '@orrery/contract';
import { lowerFabric, sameContent } from '@orrery/planner';
import type { RuleChange } from '../../ports/fabric-driver.js';

/** Rules that are lowered between two looks whether every switch is found. */
const AT_ONCE = 256;

/**
 * Switches with entries, before or after, of a chain whose rules change. Whether a switch has entries of a rule does not depend
 * on others, so no more are lowered once each switch is known to have some: a chain may have thousands.
 */
export function carriersOf(
  infrastructure: Infrastructure,
  abilities: ReadonlyMap<string, SwitchAbilities>,
  { before, after }: RuleChange,
): ReadonlySet<string> {
  const chains = changedChains(before, after);
  const carriers = new Set<string>();
  for (const rules of [before, after]) {
    const changed = rules.filter(({ chain_id }) => chains.has(chain_id));
    for (let i = 0; i < changed.length; i += AT_ONCE) {
      const { switches } = lowerFabric(infrastructure, abilities, changed.slice(i, i + AT_ONCE));
      for (const [id, { entries }] of switches) if (entries.some(({ rule_id }) => rule_id !== null)) carriers.add(id);
      if (carriers.size === switches.size) return carriers;
    }
  }
  return carriers;
}

function changedChains(before: readonly FabricRule[], after: readonly FabricRule[]): Set<string | null> {
  const [old, next] = [byId(before), byId(after)];
  const isSame = ({ id }: FabricRule) => sameContent(old.get(id), next.get(id));
  return new Set([...before, ...after].flatMap((rule) => (isSame(rule) ? [] : rule.chain_id)));
}

function byId(rules: readonly FabricRule[]): ReadonlyMap<string, FabricRule> {
  return new Map(rules.map((rule) => [rule.id, rule]));
}
