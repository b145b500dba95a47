import type { Palette } from '../../shared/theme/palette.js';
import type { Point } from './geometry.js';
import type { Scene } from './model.js';
import type { Overlay } from './overlay.js';
import type { Troubles } from './troubles.js';

export type Target =
  | { readonly kind: 'node'; readonly id: string }
  | { readonly kind: 'link'; readonly id: string }
  | { readonly kind: 'nf'; readonly id: string }
  | { readonly kind: 'board'; readonly id: string }
  | { readonly kind: 'joint'; readonly id: string };

/** Measurements, read on each frame. */
export interface LiveView {
  /** Bits per second in each direction; null if unknown. */
  link(id: string): { up: boolean; a_to_b_bps: number; b_to_a_bps: number; stale: boolean } | null;
  value(key: string): { value: number; stale: boolean } | null;
  /** State of a server's agent, as on the wire. */
  agent(server: string): string | null;
  /** Whether state updates arrive; if not, all states are stale. */
  connected(): boolean;
}

export interface Frame {
  readonly scene: Scene;
  readonly places: ReadonlyMap<string, Point>;
  readonly lines: ReadonlyMap<string, readonly Point[]>;
  readonly troubles: Troubles;
  readonly overlay: Overlay | null;
  readonly chainColor: (chainId: string) => string;
  readonly hover: Target | null;
  readonly selected: Target | null;
  readonly palette: Palette;
  readonly live: LiveView;
  readonly transform: { readonly k: number; readonly x: number; readonly y: number };
  readonly width: number;
  readonly height: number;
}

/** Opacity of what the selected chain does not use. */
export const DIM = 0.28;

export const is = (target: Target | null, kind: Target['kind'], id: string) =>
  target?.kind === kind && target.id === id;
