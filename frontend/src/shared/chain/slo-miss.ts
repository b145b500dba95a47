import type { Chain, SloStatus } from '@orrery/contract';
import { quantityOfUnit, quantityText } from '../format/quantity.js';

const MISSED: Readonly<Record<SloStatus['kind'], { readonly what: string; readonly bound: string }>> = {
  latency: { what: 'latency', bound: 'at most' },
  throughput: { what: 'throughput', bound: 'at least' },
  loss: { what: 'lost packets', bound: 'at most' },
  availability: { what: 'delivered packets', bound: 'at least' },
  'cpu-ratio': { what: 'CPU time of two classes', bound: 'target' },
  'packet-ratio': { what: 'packets of two classes', bound: 'target' },
  priority: { what: 'served before a class with priority', bound: 'at most' },
};

/** `latency 3.00 ms, at most 2.00 ms` */
export function missText({ kind, unit, measured, target }: SloStatus): string {
  const text = (value: number) => quantityText(quantityOfUnit(unit), value);
  const found = measured === null ? 'nothing measured' : text(measured);
  const { what, bound } = MISSED[kind];
  return `${what} ${found}, ${bound} ${text(target)}`;
}

/** A violated objective that says that the chain loses packets; undefined: none does. */
export function lossOf(slos: readonly SloStatus[], chainId: string): SloStatus | undefined {
  return slos.find(
    ({ chain_id, kind, state, measured }) =>
      chain_id === chainId && state === 'violated' && measured !== null && (kind === 'loss' || kind === 'availability'),
  );
}

type State = Chain['deployment_state'];

/** A chain that loses packets is never called healthy, also where its objectives alone say that it does. */
export const stateWithLoss = (state: State, loss: SloStatus | undefined): State =>
  state === 'running' && loss ? 'degraded' : state;
