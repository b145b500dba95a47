import { z } from 'zod';
import type { P4Flood } from './p4-program.js';

const Value = z.looseObject({ type: z.string(), value: z.unknown() });
const Action = z.looseObject({
  name: z.string(),
  runtime_data: z.array(z.looseObject({ name: z.string() })),
  primitives: z.array(z.looseObject({ op: z.string(), parameters: z.array(Value) })),
});
const Actions = z.looseObject({ actions: z.array(z.unknown()) });

/**
 * Actions that copy a packet to a multicast group, by BMv2 JSON: the group is the value of a parameter, or a number. What an action
 * computes is left out, as is what cannot be read.
 */
export function floodsIn(bmv2_json: string): P4Flood[] {
  const program = Actions.safeParse(json(bmv2_json));
  if (!program.success) return [];
  const found = new Map<string, P4Flood>();
  for (const one of program.data.actions) {
    const action = Action.safeParse(one);
    if (!action.success) continue;
    const flood = floodOf(action.data);
    if (flood) found.set(flood.action, flood);
  }
  return [...found.values()];
}

function floodOf({ name, runtime_data, primitives }: z.infer<typeof Action>): P4Flood | null {
  const sets = primitives.findLast(
    ({ op, parameters: [to] }) => op === 'assign' && to?.type === 'field' && isGroup(to.value),
  );
  const from = sets?.parameters[1];
  if (from?.type === 'runtime_data') {
    const param = runtime_data[Number(from.value)]?.name;
    return param === undefined ? null : { action: name, param };
  }
  const group = from?.type === 'hexstr' ? Number(from.value) : 0;
  return Number.isInteger(group) && group > 0 ? { action: name, group } : null;
}

const isGroup = (field: unknown) =>
  Array.isArray(field) && field[0] === 'standard_metadata' && field[1] === 'mcast_grp';

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
