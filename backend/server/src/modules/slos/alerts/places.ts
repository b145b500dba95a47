import type { SloPlace } from '@orrery/contract';

/** A figure of an NF, or of the chain: its mean before a violation and since; null: unknown. */
export interface Growth {
  readonly before: number | null;
  readonly since: number | null;
}

export interface NfGrowth extends Growth {
  readonly nf: string;
}

/** Growth below this is no growth, us. */
const LEAST_US = 1;
/** The NFs explain a growth of the chain's latency where they grew by this share of it. */
const EXPLAINED = 0.5;

/** Where the latency of a chain grew most: in an NF, or between NFs, where these do not explain it. Null: unknown. */
export function whereSlower(chain: Growth, nfs: readonly NfGrowth[]): SloPlace | null {
  const known = nfs.flatMap(({ nf, before, since }) =>
    before === null || since === null ? [] : [{ nf, before, since, grew: since - before }],
  );
  const most = known.reduce<(typeof known)[number] | null>((a, b) => (a && a.grew >= b.grew ? a : b), null);
  const ofChain = chain.before === null || chain.since === null ? null : chain.since - chain.before;
  const inNfs = known.reduce((sum, { grew }) => sum + Math.max(0, grew), 0);
  if (ofChain !== null && ofChain >= LEAST_US && known.length === nfs.length && inNfs < EXPLAINED * ofChain)
    return { nf: null, what: `Between NFs: the chain takes ${us(ofChain)} longer, its NFs ${us(inNfs)}` };
  if (!most || most.grew < LEAST_US) return null;
  return { nf: most.nf, what: `${most.nf}: ${us(most.since)}, ${us(most.before)} before` };
}

/** Where more packets find no room than before. Null: nowhere. */
export function whereFuller(nfs: readonly NfGrowth[]): (SloPlace & { readonly lost_pps: number }) | null {
  const grown = nfs.flatMap(({ nf, before, since }) =>
    since !== null && since > (before ?? 0) && since >= 1 ? [{ nf, since, grew: since - (before ?? 0) }] : [],
  );
  const most = grown.reduce<(typeof grown)[number] | null>((a, b) => (a && a.grew >= b.grew ? a : b), null);
  if (!most) return null;
  return {
    nf: most.nf,
    lost_pps: most.since,
    what: `${most.nf}: its queue has no room for ${most.since.toFixed(0)} packets/s`,
  };
}

function us(value: number): string {
  return value >= 1000 ? `${(value / 1000).toPrecision(3)} ms` : `${value.toPrecision(3)} µs`;
}
