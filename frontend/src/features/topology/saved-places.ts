import type { Point } from './geometry.js';

const keyOf = (name: string) => `orrery.topology.${name}`;

/** User-set node positions by infrastructure name, stored in this browser. */
export function loadPlaces(name: string): Map<string, Point> {
  try {
    const stored = JSON.parse(localStorage.getItem(keyOf(name)) ?? '{}') as Record<string, Point>;
    return new Map(
      Object.entries(stored).filter(([, point]) => Number.isFinite(point?.x) && Number.isFinite(point?.y)),
    );
  } catch {
    return new Map();
  }
}

export function savePlaces(name: string, places: ReadonlyMap<string, Point>): void {
  if (places.size === 0) localStorage.removeItem(keyOf(name));
  else localStorage.setItem(keyOf(name), JSON.stringify(Object.fromEntries(places)));
}
