import { sessionStore } from '../../../shared/api/session.js';

/** A text that was typed and could not be applied, as this browser keeps it. */
export interface KeptText {
  readonly text: string;
  /** The text of the chain that it would have changed. */
  readonly of: string;
  readonly at_ms: number;
}

/** Nobody else who signs in at this browser gets it. */
const keyOf = (chainId: string) => `orrery.yaml.${sessionStore.getState().session?.name ?? ''}.${chainId}`;

/** Keeps the text until it is applied or discarded, also when the page is left. */
export function keepText(chainId: string, text: string, of: string): void {
  try {
    localStorage.setItem(keyOf(chainId), JSON.stringify({ text, of, at_ms: Date.now() } satisfies KeptText));
  } catch {
    // A browser without storage loses the text when the page is left.
  }
}

export function dropText(chainId: string): void {
  try {
    localStorage.removeItem(keyOf(chainId));
  } catch {
    // Nothing was kept.
  }
}

export function keptText(chainId: string): KeptText | null {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(chainId)) ?? 'null') as Partial<KeptText> | null;
    return typeof kept?.text === 'string' && typeof kept.of === 'string' && typeof kept.at_ms === 'number'
      ? { text: kept.text, of: kept.of, at_ms: kept.at_ms }
      : null;
  } catch {
    return null;
  }
}
