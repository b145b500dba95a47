import { useSyncExternalStore } from 'react';

const NAMES = [
  'canvas',
  'surface',
  'surface-raised',
  'surface-sunken',
  'selected',
  'border',
  'border-strong',
  'text',
  'text-muted',
  'accent',
  'healthy',
  'degraded',
  'failed',
  'stale',
  'emulated',
  'series-1',
  'series-2',
  'series-3',
  'series-4',
  'series-5',
  'series-6',
  'util-0',
  'util-1',
  'util-2',
  'util-3',
] as const;
export type PaletteName = (typeof NAMES)[number];
export type Palette = Readonly<Record<PaletteName, string>>;

let cached: { scheme: string | null; palette: Palette } | null = null;

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ['data-mantine-color-scheme'] });
  return () => observer.disconnect();
}

function read(): Palette {
  const scheme = document.documentElement.getAttribute('data-mantine-color-scheme');
  if (cached?.scheme !== scheme) {
    const style = getComputedStyle(document.documentElement);
    const colors = NAMES.map((name) => [name, style.getPropertyValue(`--o-${name}`).trim()]);
    cached = { scheme, palette: Object.fromEntries(colors) as Palette };
  }
  return cached!.palette;
}

/** Theme colours as values, for canvases, which cannot read CSS variables. */
export function usePalette(): Palette {
  return useSyncExternalStore(subscribe, read);
}

/** Colour of the nth series; they repeat after six, so a chart should have no more. */
export function seriesColor(palette: Palette, index: number): string {
  return palette[`series-${(index % 6) + 1}` as PaletteName];
}
