import { MOST_RATE_BPS } from '@orrery/contract';

const POWERS: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

/** Reads `20M`, `1.5 Gbit/s`, `800 kbps` or plain bits per second; null if it is not a rate. */
export function parseRate(text: string): number | null {
  const match = /^\s*(\d+(?:[.,]\d+)?)\s*([kmgt]?)(?:bit\/s|bits?|bps|b\/s)?\s*$/i.exec(text);
  if (!match) return null;
  const rate = Number(match[1]!.replace(',', '.')) * POWERS[match[2]!.toLowerCase()]!;
  return rate <= MOST_RATE_BPS ? Math.round(rate) : null;
}

/** A rate as text that `parseRate` reads back exactly: `20 Mbit/s`. */
export function rateText(bps: number): string {
  for (const [unit, power] of [
    ['T', 1e12],
    ['G', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const) {
    if (bps >= power && Number.isInteger((bps / power) * 1000)) return `${bps / power} ${unit}bit/s`;
  }
  return `${bps} bit/s`;
}
