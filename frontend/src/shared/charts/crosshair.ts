import { createStore, useStore } from 'zustand';

interface Crosshair {
  /** Seconds since the Unix epoch; null while the pointer is elsewhere. */
  readonly t_s: number | null;
  /** Charts share a crosshair; other time displays join it here. */
  readonly from: 'chart' | 'lanes';
}

/** The time under the pointer, on any time display. */
export const crosshair = createStore<Crosshair>(() => ({ t_s: null, from: 'chart' }));

export function pointAt(t_s: number | null, from: Crosshair['from']): void {
  const before = crosshair.getState();
  if (before.t_s !== t_s || before.from !== from) crosshair.setState({ t_s, from });
}

export function useCrosshair(): number | null {
  return useStore(crosshair, ({ t_s }) => t_s);
}
