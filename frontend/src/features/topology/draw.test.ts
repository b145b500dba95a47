import type { Infrastructure, NfInstance } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Palette } from '../../shared/theme/palette.js';
import { BOARD_HEADER_H } from './boards.js';
import { drawFrame } from './draw.js';
import type { Frame } from './frame.js';
import { fitted, READABLE_SCALE } from './labels.js';
import { autoLayout } from './layout.js';
import { buildScene } from './model.js';
import { NO_TROUBLES, type Troubles } from './troubles.js';

interface Drawn {
  readonly text: string;
  /** On the screen. */
  readonly px: number;
  readonly width: number;
  /** Of its middle, in the scene. */
  readonly y: number;
}

const TRIANGLE = '△';

/** The texts of a frame at a scale, and its triangles. A character is as wide as 0.6 of its size. */
function textsAt(k: number, troubles: Troubles = NO_TROUBLES, boards: readonly object[] = []): Drawn[] {
  const drawn: Drawn[] = [];
  const sizeOf = (font: string) => Number(/([\d.]+)px/.exec(font)![1]);
  const state = { font: '10px sans-serif' };
  const widthOf = (text: string) => text.length * 0.6 * sizeOf(state.font);
  const methods: Record<string, unknown> = {
    measureText: (text: string) => ({ width: widthOf(text) }),
    closePath: () => drawn.push({ text: TRIANGLE, px: 0, width: 0, y: 0 }),
    fillText: (text: string, _x: number, y: number) =>
      drawn.push({ text, px: sizeOf(state.font) * k, width: widthOf(text) * k, y }),
  };
  const context = new Proxy(state, {
    get: (target, name: string) => Reflect.get(target, name) ?? methods[name] ?? (() => undefined),
  });
  const scene = buildScene(
    {
      name: 'lab',
      servers: [{ id: 's1', title: 'Server 1', cores: 4, origin: 'live', addresses: [] }],
      switches: [{ id: 'leaf', title: 'Leaf 1', driver: 'ovs', origin: 'live' }],
      hosts: [{ id: 'c1', title: 'Client 1', addresses: [{ address: '10.0.1.1' }], role: 'client', origin: 'live' }],
      boards,
      links: [],
    } as unknown as Infrastructure,
    [{ id: 'web.fw.0', server: 's1', core: 0, chain_id: 'c', state: 'running', origin: 'live' } as NfInstance],
  );
  const frame = {
    scene,
    places: autoLayout(scene),
    lines: new Map(),
    troubles,
    overlay: null,
    chainColor: () => '#000',
    hover: null,
    selected: null,
    palette: {} as Palette,
    live: { link: () => null, value: () => null, agent: () => null, connected: () => true },
    transform: { k, x: 2000, y: 2000 },
    width: 4000,
    height: 4000,
  } satisfies Frame;
  drawFrame(context as unknown as CanvasRenderingContext2D, frame, 1);
  return drawn.filter(({ text }) => text !== '');
}

it('cuts names in front of what tells instances from each other', () => {
  const context = { font: '10px sans-serif', measureText: (text: string) => ({ width: text.length }) };
  const cut = (name: string, width: number, tail: string) =>
    fitted(context as unknown as CanvasRenderingContext2D, name, width, tail);
  expect(cut('sfw.container-0', 20, '-0')).toBe('sfw.container-0');
  expect(cut('sfw.container-0', 9, '-0')).toBe('sfw.co…-0');
  expect(cut('sfw.container-12', 9, '-12')).toBe('sfw.c…-12');
  expect(cut('firewall', 5, '')).toBe('fire…');
  expect(cut('firewall', 0, '')).toBe('…');
});

const NAMES = ['Server 1', 'Leaf 1', 'Client 1', 'fw.0'];

it('shows names, figures and addresses where there is room', () => {
  const texts = textsAt(1).map(({ text }) => text);
  expect(texts).toEqual(expect.arrayContaining([...NAMES, '4 cores', 'Open vSwitch', '10.0.1.1', 'core 0']));
});

it.each([0.7, 0.5, 0.43])('shows the names of all elements large enough to read at a scale of %d', (k) => {
  const drawn = textsAt(k);
  expect(drawn.map(({ text }) => text)).toEqual(expect.arrayContaining(NAMES));
  for (const { px } of drawn) expect(px).toBeGreaterThanOrEqual(11);
  for (const { text, width } of drawn) if (NAMES.includes(text)) expect(width).toBeLessThanOrEqual(236 * k);
});

it('keeps the names of nodes where those of their NFs no longer fit, and at last only the shapes', () => {
  expect(textsAt(0.35).map(({ text }) => text)).toEqual(expect.arrayContaining(['Server 1', 'Leaf 1']));
  expect(textsAt(0.35).map(({ text }) => text)).not.toContain('fw.0');
  // Half of a name tells nothing.
  expect(textsAt(0.28).map(({ text }) => text)).toEqual(['Leaf 1']);
  expect(textsAt(0.2)).toEqual([]);
});

it('marks what is out of service, in trouble, or has a link that is down, by shape and word', () => {
  const troubles: Troubles = new Map([
    ['s1', { word: 'maintenance', text: 'in maintenance: new fan', status: 'degraded' }],
    ['c1', { word: 'link down', text: 'link c1-leaf is down', status: 'failed' }],
    ['leaf', { word: 'agent away', text: 'its agent is away', status: 'failed' }],
  ]);
  const texts = textsAt(1, troubles).map(({ text }) => text);
  expect(texts).toEqual(expect.arrayContaining([...NAMES, 'maintenance', 'link down', 'agent away']));
  for (const usual of ['4 cores', 'Open vSwitch', '10.0.1.1']) expect(texts).not.toContain(usual);
  for (const k of [1, 0.2]) expect(textsAt(k, troubles).filter(({ text }) => text === TRIANGLE)).toHaveLength(3);
});

it.each([1, READABLE_SCALE])('keeps the rows of a board apart at a scale of %d', (k) => {
  const board = { id: 'b1', title: 'Board 1', server: 's1', attached: 'engine', device: 'DE5-Net', slots: 2 };
  const drawn = textsAt(k, NO_TROUBLES, [board]);
  const rows = [drawn.find(({ text }) => text === 'Board 1'), ...drawn.filter(({ text }) => text === 'unknown')];
  // The state of the board, at its right, is in the row of its name.
  const ys = [...new Set(rows.map((row) => row!.y))].toSorted((a, b) => a - b);
  expect(ys).toHaveLength(3);
  const gaps = ys.slice(1).map((y, i) => y - ys[i]!);
  const size = rows[0]!.px / k;
  // Ascenders and descenders of two lines, and the border of the box.
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(size * 1.1);
  expect(size / 2).toBeLessThanOrEqual(BOARD_HEADER_H / 2);
});
