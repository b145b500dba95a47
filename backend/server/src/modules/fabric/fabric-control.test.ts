import type { SwitchSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { numbered as numberedAt } from './fabric-control.js';
import { NO_FABRIC } from './fabric-store.js';

const content = (port: string): Omit<SwitchSpec, 'generation'> => ({
  ports: [{ name: port, role: 'host', neighbour: 'h' }],
  entries: [],
  groups: [],
});

type Numbered = Parameters<typeof numberedAt>;
const numbered = (before: Numbered[0], now: Numbered[1]) => numberedAt(before, now, 0);

describe('numbered', () => {
  it('gives new and changed specs generations of their own, and keeps the others', () => {
    const one = numbered(
      NO_FABRIC,
      new Map([
        ['a', content('p1')],
        ['b', content('p1')],
      ]),
    );
    expect([one.switches.a!.generation, one.switches.b!.generation]).toEqual([1, 2]);
    const two = numbered(
      one,
      new Map([
        ['a', content('p2')],
        ['b', content('p1')],
      ]),
    );
    expect([two.switches.a!.generation, two.switches.b!.generation]).toEqual([3, 2]);
  });

  it('never repeats a generation of a switch that was removed and is added again', () => {
    const before = numbered(
      NO_FABRIC,
      new Map([
        ['a', content('p1')],
        ['b', content('p1')],
      ]),
    );
    const without = numbered(before, new Map([['a', content('p1')]]));
    const again = numbered(
      without,
      new Map([
        ['a', content('p1')],
        ['b', content('p9')],
      ]),
    );
    expect(again.switches.b!.generation).toBeGreaterThan(before.switches.b!.generation);
  });

  it('goes on from state that was stored without the last generation', () => {
    const old = { switches: { a: { generation: 7, ...content('p1') } }, last_generation: 0 };
    expect(numbered(old, new Map([['b', content('p1')]])).switches.b!.generation).toBe(8);
  });

  it('repeats nothing that it assigned after the state that it now starts from was saved', () => {
    const saved = numberedAt(NO_FABRIC, new Map([['a', content('p1')]]), 1000);
    const lost = numberedAt(saved, new Map([['a', content('p2')]]), 2000);
    const restored = numberedAt(saved, new Map([['a', content('p3')]]), 3000);
    expect(restored.switches.a!.generation).toBeGreaterThan(lost.switches.a!.generation);
  });
});
