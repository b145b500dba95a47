import { expect, it } from 'vitest';
import { LOOK_ASIDE } from '../engine-costs.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { board, withBoard } from '../testing/boards.js';
import { descriptor } from '../testing/descriptors.js';
import { boardCostText } from './board-cost-text.js';
import { forwardedRateBps } from './slot-rate.js';

const offer = {
  name: 'board-1 slot 0',
  board: board('board-1', 'server-1'),
  packet_bytes: 1000,
  hosts: new Map([['server-1', { hz: 10e9, link_bps: 1e9 }]]),
  software_meets: true,
  taken: true,
  first: false,
};
const FORWARDS = Math.round(cyclesPerPacket(LOOK_ASIDE, offer.packet_bytes));
const FIGURES = `board-1 slot 0: 1.0 Gbit/s with packets of 1000 bytes; the engine spends ${FORWARDS} cycles per packet to forward to it; `;
const of = (cycles: number, more: Partial<typeof offer> = {}) =>
  boardCostText(withBoard(descriptor('nf', { cycles }), 100), { ...offer, ...more });

it('compares forwarding to the slot with software, and says when software is better', () => {
  expect(of(25)).toBe(
    `${FIGURES}software needs 25. Software is the better choice here: it meets every requirement and costs the core less.`,
  );
});

it('says what one core of the server forwards where that is less', () => {
  const hosts = new Map([['server-1', { hz: 0.5e9, link_bps: 1e9 }]]);
  const forwarded = forwardedRateBps(0.5e9, offer.packet_bytes);
  expect(forwarded).toBeLessThan(1e9);
  expect(of(25, { hosts })).toContain(`${(forwarded / 1e9).toPrecision(2)} Gbit/s with packets of 1000 bytes`);
});

it('does not advise software that costs more, misses a requirement or is chosen already', () => {
  expect(of(50_000)).toBe(`${FIGURES}software needs 50000.`);
  expect(of(25, { software_meets: false })).toBe(`${FIGURES}software needs 25.`);
  expect(of(25, { taken: false })).toBe(`${FIGURES}software needs 25.`);
});

it('says of a slot at a switch that no core forwards to it, what that costs instead, and what is not measured', () => {
  const hung = { ...offer, board: board('board-1', 'server-1', { attached: 'switch' }), hosts: new Map() };
  const nf = withBoard(descriptor('nf', { cycles: 25 }), 100);
  const figures =
    'board-1 slot 0: 10 Gbit/s with packets of 1000 bytes; it hangs on the switch, so no core forwards to it, where software needs 25 cycles per packet, but packets cross the fabric once more, over its two links.';
  expect(boardCostText(nf, hung)).toBe(figures);
  expect(boardCostText(nf, { ...hung, first: true })).toBe(
    `${figures} It comes before the first engine, where the measured latency begins: its own time is not in it.`,
  );
});
