import type { FabricRule, Infrastructure, SwitchAbilities } from '@orrery/contract';
import { sameContent, switchesWith } from '@orrery/planner';
import type { RuleChange } from '../../ports/fabric-driver.js';

/** Switches with entries, before or after, of a chain whose rules change. */
export function carriersOf(
  infrastructure: Infrastructure,
  abilities: ReadonlyMap<string, SwitchAbilities>,
  { before, after }: RuleChange,
): ReadonlySet<string> {
  const chains = changedChains(before, after);
  const carriers = [before, after].flatMap((rules) => {
    const ofChains = rules.filter(({ chain_id }) => chains.has(chain_id));
    return [...switchesWith(infrastructure, abilities, ofChains)];
  });
  return new Set(carriers);
}

function changedChains(before: readonly FabricRule[], after: readonly FabricRule[]): Set<string | null> {
  const [old, next] = [byId(before), byId(after)];
  const isSame = ({ id }: FabricRule) => sameContent(old.get(id), next.get(id));
  return new Set([...before, ...after].flatMap((rule) => (isSame(rule) ? [] : rule.chain_id)));
}

function byId(rules: readonly FabricRule[]): ReadonlyMap<string, FabricRule> {
  return new Map(rules.map((rule) => [rule.id, rule]));
}
