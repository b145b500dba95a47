import type { ChainDefinition, Plan } from '@orrery/contract';
import { quantityText } from '../format/quantity.js';

type Judged = Pick<Plan, 'chains'>;

/** What a plan changes about chains besides their packet paths: objectives, offered rates, or only their version. */
export function changesWithoutPath(plan: Judged, base: Judged | null, titleOf: (id: string) => string): string[] {
  return plan.chains.flatMap(({ chain_id, version, definition }) => {
    const before = base?.chains.find((each) => each.chain_id === chain_id);
    if (!before) return [];
    const parts = [...objectives(before.definition, definition), ...offeredRate(before.definition, definition)];
    if (parts.length > 0) return [`${titleOf(chain_id)}: ${parts.join('; ')}`];
    const isSame = version === before.version || JSON.stringify(definition) === JSON.stringify(before.definition);
    return isSame ? [] : [`${titleOf(chain_id)}: only what describes it changes`];
  });
}

function objectives(before: ChainDefinition, after: ChainDefinition): string[] {
  const text = ({ slos, class_slos }: ChainDefinition) =>
    new Map([...slos, ...class_slos].map((slo) => [slo.id as string, JSON.stringify(slo)]));
  const [was, is] = [text(before), text(after)];
  const changed = [...new Set([...was.keys(), ...is.keys()])].filter((id) => was.get(id) !== is.get(id));
  const what = (id: string) => (!was.has(id) ? `${id} is new` : !is.has(id) ? `${id} goes` : id);
  return changed.length > 0 ? [`objectives change: ${changed.map(what).join(', ')}`] : [];
}

function offeredRate({ traffic_class: was }: ChainDefinition, { traffic_class: is }: ChainDefinition): string[] {
  if (was.rate_bps === is.rate_bps) return [];
  return [`the offered rate changes from ${quantityText('bps', was.rate_bps)} to ${quantityText('bps', is.rate_bps)}`];
}
