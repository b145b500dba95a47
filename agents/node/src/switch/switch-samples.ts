import type { SwitchSamples, SwitchSpec } from '@orrery/contract';
import type { SwitchReading } from '../drivers/switch-driver.js';

/** Counters per entry, and their sums per rule. */
export function switchSamples(
  { generation, entries }: SwitchSpec,
  { counts }: Pick<SwitchReading, 'counts'>,
): Pick<SwitchSamples, 'generation' | 'entries' | 'rules'> {
  const rules = new Map<string, { packets: number; bytes: number }>();
  for (const [index, entry] of entries.entries()) {
    if (entry.rule_id === null) continue;
    const sum = rules.get(entry.rule_id) ?? { packets: 0, bytes: 0 };
    const { packets, bytes } = counts.get(index) ?? { packets: 0, bytes: 0 };
    rules.set(entry.rule_id, { packets: sum.packets + packets, bytes: sum.bytes + bytes });
  }
  return {
    generation,
    entries: [...counts].map(([index, { packets, bytes }]) => [index, packets, bytes]),
    rules: [...rules].map(([rule_id, sum]) => ({ rule_id, ...sum })),
  };
}
