import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SlotTotals } from './slot-totals.js';

const counters = (frames: number, dropped: number) => ({
  frames_in: frames,
  frames_out: frames,
  bytes_in: 60 * frames,
  bytes_out: 60 * frames,
  dropped,
  bypassed: 0,
  no_hop: 0,
  held: 0,
});

it('adds up over any number of power failures and never goes back', () => {
  const reading = fc.record({ frames: fc.nat(1000), dropped: fc.nat(1000), lost: fc.nat(1000), fails: fc.boolean() });
  fc.assert(
    fc.property(fc.array(reading, { maxLength: 30 }), (readings) => {
      const totals = new SlotTotals();
      let [frames, dropped, want, wantLost] = [0, 0, 0, 0];
      for (const next of readings) {
        if (next.fails) {
          // The board restarts at zero; since then it has counted these, of which it lost `lost` in all.
          [frames, dropped] = [next.frames, next.dropped];
          want += next.frames;
          wantLost += Math.max(next.lost, next.dropped);
          totals.restart([{ slot: 3, counters: counters(frames, dropped) }], [0, 0, 0, next.lost]);
        } else {
          frames += next.frames;
          dropped += next.dropped;
          want += next.frames;
          wantLost += next.dropped;
          totals.read([{ slot: 3, counters: counters(frames, dropped) }]);
        }
        expect(totals.of(3)).toMatchObject({ frames_in: want, bytes_out: 60 * want, dropped: wantLost });
      }
    }),
  );
});
