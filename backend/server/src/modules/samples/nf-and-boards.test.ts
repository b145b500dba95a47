import type { BoardSample } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { BoardRates } from './board-rates.js';
import { NfMeter } from './nf-meter.js';

describe('the figures of an NF', () => {
  it('are the sum of its recent instance figures, on servers and boards', () => {
    const meter = new NfMeter();
    meter.take(
      'server-2',
      [
        ['instance/web.sqli.0/bps', 10],
        ['instance/web.sqli.0/queue', 7],
      ],
      'twin',
      1000,
    );
    meter.take(
      'server-1',
      [
        ['instance/web.sqli.board-1-0/bps', 5],
        ['node/server-1/cpu', 1],
      ],
      'twin',
      1200,
    );
    const bps = () => meter.now(now).find(({ key }) => key === 'nf/web.sqli/bps')?.value;
    let now = 1300;
    expect(bps()).toBe(15);
    now = 2600;
    expect(bps()).toBe(5);
    now = 3000;
    expect(meter.now(now)).toEqual([]);
    meter.take('server-1', [['instance/web.sqli.0/bps', 10]], 'twin', 3000);
    meter.take('server-1', [['instance/web.sqli.board-1-0/bps', 4]], 'twin', 3200);
    expect(bps()).toBe(4);
  });
});

describe('the rates of slots', () => {
  const board = (frames: number): BoardSample => ({
    board: 'board-1',
    cycles: 0,
    slowdown: 9,
    cpu_share: null,
    slots: [
      {
        slot: 1,
        frames_in: frames,
        frames_out: 0,
        bytes_in: 100 * frames,
        bytes_out: 0,
        lost: 2,
        bypassed: 0,
        no_hop: frames / 10,
      },
    ],
  });

  it('follow from two samples, and restart after the board loses power', () => {
    const rates = new BoardRates();
    const at = (clock_ms: number, frames: number) =>
      Object.fromEntries(rates.take({ clock_ms, boards: [board(frames)] }));
    expect(at(0, 100)).toEqual({ 'board/board-1/slowdown': 9 });
    expect(at(500, 150)).toMatchObject({
      'slot/board-1.1/pps': 100,
      'slot/board-1.1/bps': 80_000,
      'slot/board-1.1/lost_pps': 0,
      'slot/board-1.1/no_hop_pps': 10,
    });
    expect(at(1000, 10)).toEqual({ 'board/board-1/slowdown': 9 });
  });
});
