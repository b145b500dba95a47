import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { AlertLimiter } from './alerts.js';
import { readBoards } from './board-config.js';

const simulated = {
  id: 'b1',
  backend: 'simulated',
  control: 'b1.ctl',
  events: 'b1.evt',
  images: 'bits',
  slots: [{ near: 'b1n', far: 'b1f' }],
};
const pcie = {
  id: 'b2',
  backend: 'pcie',
  images: 'bits',
  profile: 'de5',
  device: '5SGXEA7N',
  clock_mhz: 100,
  csr: '/dev/xdma0_user',
  shell_csr: 0,
  slots: [{ near: 'b2n', far: 'b2f', csr: 65536 }],
  loader: { partial: ['openFPGALoader', '--bitstream', '{image}'] },
};

function read(boards: unknown) {
  const directory = scratchDirectory();
  const file = join(directory, 'boards.json');
  writeFileSync(file, typeof boards === 'string' ? boards : JSON.stringify(boards));
  return { directory, file, boards: readBoards(file) };
}

describe('readBoards', () => {
  it('reads boards of every kind; paths are relative to the file', () => {
    const manager = {
      ...pcie,
      id: 'b3',
      backend: 'fpga-manager',
      loader: undefined,
      slots: [{ near: 'c', far: 'd', csr: 0 }],
    };
    const { boards, directory } = read([simulated, pcie, manager]);
    expect(boards[0]).toMatchObject({ control: join(directory, 'b1.ctl'), images: join(directory, 'bits') });
    expect(boards[1]).toMatchObject({ csr: '/dev/xdma0_user', loader_timeout_s: 120 });
    expect(boards[2]).toMatchObject({ manager: '/sys/class/fpga_manager/fpga0', firmware: '/lib/firmware' });
  });

  it.each<[string, unknown, string]>([
    ['no JSON', '{', 'boards.json: '],
    ['another kind', [{ ...simulated, backend: 'asic' }], '/0/backend'],
    ['an unknown field', [{ ...simulated, colour: 1 }], 'colour'],
    ['no slots', [{ ...simulated, slots: [] }], '/0/slots'],
    [
      'an interface name that is too long',
      [{ ...simulated, slots: [{ near: 'x'.repeat(16), far: 'f' }] }],
      '/0/slots/0/near',
    ],
    ['a board twice', [simulated, { ...simulated, slots: [{ near: 'x', far: 'y' }] }], '/1/id: b1 appears twice'],
    ['an interface twice', [simulated, { ...simulated, id: 'b9' }], '/1/slots/0/near: b1n appears twice'],
    ['registers at a misaligned offset', [{ ...pcie, shell_csr: 6 }], '/0/shell_csr: must be a multiple of 4'],
    ['a loader without an image', [{ ...pcie, loader: { full: ['x'] } }], '/0/loader/full: must contain {image}'],
  ])('refuses %s', (_, boards, why) => {
    expect(() => read(boards)).toThrow(why);
  });
});

describe('AlertLimiter', () => {
  it('lets a burst and then a rate through, and reports how many it suppressed', () => {
    let now = 0;
    const seen: number[] = [];
    const limiter = new AlertLimiter({ burst: 2, per_s: 1 }, () => now);
    const raise = () => limiter.pass((suppressed) => seen.push(suppressed));
    for (let n = 0; n < 5; n++) raise();
    expect([seen, limiter.suppressed]).toEqual([[0, 0], 3]);
    now = 1000;
    raise();
    raise();
    expect([seen, limiter.suppressed]).toEqual([[0, 0, 3], 1]);
  });
});
