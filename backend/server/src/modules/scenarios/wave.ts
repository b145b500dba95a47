/** A load that is low, rises, is high, falls and is low again, in bit/s and seconds. */
export interface Wave {
  readonly low: number;
  readonly high: number;
  readonly low_s: number;
  readonly rise_s: number;
  readonly high_s: number;
  readonly fall_s: number;
}

/** Points of the load, linear in between, `from_s` after its start; it stays at the last one. */
export function pointsOf({ low, high, low_s, rise_s, high_s, fall_s }: Wave, from_s = 0) {
  const risen_s = from_s + low_s + rise_s;
  return [
    { at_s: from_s, rate_bps: low },
    { at_s: from_s + low_s, rate_bps: low },
    { at_s: risen_s, rate_bps: high },
    { at_s: risen_s + high_s, rate_bps: high },
    { at_s: risen_s + high_s + fall_s, rate_bps: low },
  ];
}

/** With the low time behind the fall, s. */
export const lengthOf = ({ low_s, rise_s, high_s, fall_s }: Wave) => low_s + rise_s + high_s + fall_s + low_s;
