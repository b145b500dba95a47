import { type CostProfile, type Implementation, NfDescriptor } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { board } from '../testing/boards.js';
import { forwardedRateBps, moduleRateBps, offeredRateBps, slotRateBps } from './slot-rate.js';

/** One byte per cycle, as the SQL injection detector. */
const BYTEWISE = moduleOf({ cycles_per_packet: 1, cycles_per_byte: 0.9719, base_latency_us: 2, memory_bytes: 0 });

const hostWith = (link_bps: number, hz = 1e12) => new Map([['server-1', { hz, link_bps }]]);

function moduleOf(cost: CostProfile): Implementation {
  return NfDescriptor.shape.implementations.element.parse({ kind: 'board', driver: 'board', cost });
}

it('is the rate of the module, not that of the port', () => {
  const de5 = board('board-1', 'server-1', { clock_mhz: 100, bandwidth_bps: 1e9 });
  expect(slotRateBps(BYTEWISE, 1514, de5, hostWith(1e10))).toBeCloseTo(0.822e9, -7);
});

it('is no more than module, ports or the NIC of the server carry, at any packet length', () => {
  const rate = fc.double({ min: 1e6, max: 1e11, noNaN: true });
  const bytes = fc.integer({ min: 60, max: 1514 });
  fc.assert(
    fc.property(rate, rate, bytes, fc.integer({ min: 50, max: 500 }), (ports, nic, length, clock_mhz) => {
      const it = board('board-1', 'server-1', { clock_mhz, bandwidth_bps: ports });
      const most = slotRateBps(BYTEWISE, length, it, hostWith(nic));
      expect(most).toBe(Math.min(moduleRateBps(BYTEWISE, length, clock_mhz), ports, nic));
    }),
  );
});

it('is offered as far as one core forwards to it: at 2.5 GHz about half a million packets per second', () => {
  const de5 = board('board-1', 'server-1', { clock_mhz: 1000, bandwidth_bps: 1e12 });
  const forwarded = forwardedRateBps(2.5e9, 60);
  expect(offeredRateBps(BYTEWISE, 60, de5, hostWith(1e12, 2.5e9))).toBe(forwarded);
  expect(offeredRateBps(BYTEWISE, 60, de5, hostWith(1e12, 2.5e15))).toBe(
    slotRateBps(BYTEWISE, 60, de5, hostWith(1e12, 2.5e15)),
  );
  const pps = forwarded / (8 * 60);
  expect(pps).toBeGreaterThan(0.2e6);
  expect(pps).toBeLessThan(0.8e6);
});
