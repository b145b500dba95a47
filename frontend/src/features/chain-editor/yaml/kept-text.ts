/** A text that was typed and could not be applied, as this browser keeps it. */
export interface KeptText {
  readonly text: string;
  readonly at_ms: number;
}

const keyOf = (chainId: string) => `orrery.yaml.${chainId}`;

/** Keeps the text until it is applied or discarded, also when the page is left. */
export function keepText(chainId: string, text: string): void {
  try {
    localStorage.setItem(keyOf(chainId), JSON.stringify({ text, at_ms: Date.now() } satisfies KeptText));
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
    return typeof kept?.text === 'string' && typeof kept.at_ms === 'number'
      ? { text: kept.text, at_ms: kept.at_ms }
      : null;
  } catch {
    return null;
  }
}
