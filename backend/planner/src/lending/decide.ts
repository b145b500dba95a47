import { match } from './match.js';
import type { Accelerator, LendingState, Loan, Vnf } from './state.js';
import { LENDING_STRATEGIES, type LendingSettings, type Strategy } from './strategies.js';

export type WhyReleased = 'idle' | 'slice-over' | 'gone' | 'failed';

/** One accelerator changes hands: `from` gives it up first, then `to` gets it. */
export interface Handover {
  readonly accelerator: string;
  readonly from: { readonly vnf: string; readonly why: WhyReleased } | null;
  readonly to: string | null;
}

/**
 * What is due at a tick (SSM II.B, Algorithm 1): who gives up, who gets what. An accelerator that becomes free is lent in the
 * same tick. A slice that is over ends only if another VNF qualifies.
 */
export function decideLending(
  state: LendingState,
  vnfs: readonly Vnf[],
  accelerators: readonly Accelerator[],
  settings: LendingSettings,
): Handover[] {
  const strategy = LENDING_STRATEGIES[settings.strategy];
  const byId = new Map(vnfs.map((vnf) => [vnf.id, vnf]));
  const working = accelerators.filter(({ works }) => works).map(({ id }) => id);
  const leaving = new Map<string, NonNullable<Handover['from']>>();
  for (const { accelerator, vnf, settled } of state.loans) {
    const why = settled ? whyLeft(byId.get(vnf), working.includes(accelerator), strategy, settings) : null;
    if (why) leaving.set(accelerator, { vnf, why });
  }
  const kept = state.loans.filter(({ accelerator }) => !leaving.has(accelerator));
  const free = new Set(working.filter((id) => !kept.some(({ accelerator }) => accelerator === id)));
  const expired = kept.filter((loan) => hasExpired(loan, strategy, settings));
  const needsIt = ({ vnf }: Loan) => Number(strategy.wants(byId.get(vnf)!, settings));
  expired.sort(
    (a, b) =>
      needsIt(a) - needsIt(b) || timeOf(state, b) - timeOf(state, a) || (a.accelerator < b.accelerator ? -1 : 1),
  );

  const holding = new Set(kept.map(({ vnf }) => vnf));
  const waiting = waitingIn(state, vnfs, strategy, settings).filter((id) => !holding.has(id));
  const canUse = (id: string) => byId.get(id)!.can;
  const ofFree = (id: string) => [...free].filter((it) => canUse(id).includes(it));
  const ofExpired = (id: string) =>
    expired.map(({ accelerator }) => accelerator).filter((it) => canUse(id).includes(it));
  const served = match(waiting, (id) => [...ofFree(id), ...ofExpired(id)], match(waiting, ofFree));

  // Of all ways to serve these, the one that takes from whom it costs least, which matching the other way round finds.
  const those = waiting.filter((id) => served.has(id));
  const inOrder = [...free, ...expired.map(({ accelerator }) => accelerator)];
  const next = match(inOrder, (accelerator) => those.filter((id) => canUse(id).includes(accelerator)));
  for (const { accelerator, vnf } of expired)
    if (next.has(accelerator)) leaving.set(accelerator, { vnf, why: 'slice-over' });
  return [...new Set([...leaving.keys(), ...next.keys()])].map((accelerator) => ({
    accelerator,
    from: leaving.get(accelerator) ?? null,
    to: next.get(accelerator) ?? null,
  }));
}

function whyLeft(
  vnf: Vnf | undefined,
  works: boolean,
  { leaves }: Strategy,
  settings: LendingSettings,
): WhyReleased | null {
  if (!works) return 'failed';
  if (!vnf) return 'gone';
  return leaves(vnf, settings) ? 'idle' : null;
}

function hasExpired({ held_ms, settled }: Loan, { takesTurns }: Strategy, { slice_ms }: LendingSettings): boolean {
  return settled && takesTurns && held_ms >= slice_ms;
}

function timeOf({ accounts }: LendingState, { vnf }: Loan): number {
  return accounts[vnf]?.time_ms ?? 0;
}

const NO_ACCOUNT = { time_ms: 0, held_ms: 0, waited_ms: 0, turn: 0, here: false };

function waitingIn(
  { accounts }: LendingState,
  vnfs: readonly Vnf[],
  { wants, order }: Strategy,
  settings: LendingSettings,
): string[] {
  return vnfs
    .filter((vnf) => wants(vnf, settings))
    .map(({ id }) => ({ id, account: accounts[id] ?? NO_ACCOUNT }))
    .sort(order)
    .map(({ id }) => id);
}
