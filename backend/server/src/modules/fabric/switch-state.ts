import {
  type FabricRule,
  SWITCH_TABLES,
  type SwitchDescription,
  type SwitchEntryState,
  type SwitchNode,
  type SwitchRuleState,
  type SwitchSamples,
  type SwitchSpec,
  type SwitchState,
} from '@orrery/contract';
import { availableEntries } from '@orrery/planner';

export function plannedOf(
  spec: SwitchSpec,
  node: SwitchNode,
  description: SwitchDescription | null,
): NonNullable<SwitchState['planned']> {
  const { generation, entries, groups, program } = spec;
  const abilities = description?.abilities;
  const used = new Map<string, number>();
  for (const { table } of entries) used.set(table, (used.get(table) ?? 0) + 1);
  return {
    generation,
    entries: program ? program.entries.length : entries.length,
    available: availableEntries(node.table_entries, abilities?.entries ?? null),
    groups: program ? program.groups.length : groups.length,
    tables: SWITCH_TABLES.map((table) => ({
      table,
      entries: used.get(table) ?? 0,
      available: abilities?.table_entries[table] ?? null,
    })),
  };
}

/** Counters are valid only for the generation for which they were read. */
export function entryStates(
  spec: SwitchSpec,
  rules: readonly FabricRule[],
  samples: SwitchSamples | null,
): SwitchEntryState[] {
  const ownerOf = owners(rules);
  const valid = samples?.generation === spec.generation;
  const counted = new Map(valid ? samples.entries.map(([index, packets, bytes]) => [index, { packets, bytes }]) : []);
  const none = valid ? { packets: 0, bytes: 0 } : { packets: null, bytes: null };
  return spec.entries.map((entry, index) => ({
    index,
    ...entry,
    ...ownerOf(entry.rule_id),
    ...(counted.get(index) ?? none),
  }));
}

/** As `entryStates`. */
export function ruleStates(
  spec: SwitchSpec,
  rules: readonly FabricRule[],
  samples: SwitchSamples | null,
): SwitchRuleState[] {
  const ownerOf = owners(rules);
  const valid = samples?.generation === spec.generation;
  const counted = new Map((valid ? samples.rules : []).map(({ rule_id, ...figures }) => [rule_id, figures]));
  const entries = new Map<string, number>();
  for (const { rule_id } of spec.entries) if (rule_id !== null) entries.set(rule_id, (entries.get(rule_id) ?? 0) + 1);
  return [...entries].map(([rule_id, count]) => ({
    rule_id,
    ...ownerOf(rule_id),
    entries: count,
    ...(counted.get(rule_id) ?? { packets: null, bytes: null }),
  }));
}

function owners(rules: readonly FabricRule[]) {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  return (ruleId: string | null): Pick<SwitchRuleState, 'chain_id' | 'kind'> => {
    const rule = ruleId === null ? undefined : byId.get(ruleId);
    return { chain_id: rule?.chain_id ?? null, kind: rule?.kind ?? null };
  };
}
