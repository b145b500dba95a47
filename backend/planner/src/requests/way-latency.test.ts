import fc from 'fast-check';
import { expect, it } from 'vitest';
import { wayLatencies } from './way-latency.js';

const ENTRY_US = 8;
const HOP_US = 50;
const network = {
  entry_us: () => ENTRY_US,
  transit_us: (from: string, to: string) => (from === to ? Number.NaN : HOP_US),
};
const server = fc.integer({ min: 1, max: 3 }).map((n) => `server-${n}`);
const stop = fc.record({ place: server, to: fc.option(server), latency_us: fc.integer({ min: 1, max: 99 }) });

it('a way takes what its instances take, and a hop wherever two of them are on different servers', () => {
  fc.assert(
    fc.property(fc.array(stop, { minLength: 1, maxLength: 6 }), (stops) => {
      const all = stops.map((it, i) => ({ ...it, id: `fw-${i}`, instance_id: `c.fw-${i}.0` }));
      const moved = new Map(all.flatMap(({ instance_id, to }) => (to === null ? [] : [[instance_id, to] as const])));
      const places = stops.map(({ place, to }) => to ?? place);
      const hops = places.slice(1).filter((place, i) => place !== places[i]).length;
      const inside = stops.reduce((sum, { latency_us }) => sum + latency_us, 0);
      const latencyOf = wayLatencies(all, network, moved);
      expect(latencyOf(all.map(({ id }) => id))).toBe(ENTRY_US + HOP_US * hops + inside);
      expect(latencyOf(['fw-0', 'gone'])).toBeNull();
    }),
  );
});

it('is not known of an instance that does not run', () => {
  const coming = { id: 'ids-1', instance_id: null, place: 'server-1', latency_us: 1 };
  expect(wayLatencies([coming], network, new Map())(['ids-1'])).toBeNull();
});
