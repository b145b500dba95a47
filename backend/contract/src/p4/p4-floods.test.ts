import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { floodsIn } from './p4-floods.js';

const L2 = readFileSync(new URL('../../../../twin/p4/examples/l2-switch.json', import.meta.url), 'utf8');

it('names the parameter of an action that is its multicast group, or the number', () => {
  expect(floodsIn(L2)).toEqual([{ action: 'Forward.flood', param: 'group' }]);
  const program = JSON.parse(L2) as { actions: { name: string; primitives: { parameters: { value: unknown }[] }[] }[] };
  const flood = program.actions.find(({ name }) => name === 'Forward.flood')!;
  const set = (value: object) => {
    flood.primitives[0]!.parameters[1] = value as { value: unknown };
    return floodsIn(JSON.stringify(program));
  };
  expect(set({ type: 'hexstr', value: '0x0007' })).toEqual([{ action: 'Forward.flood', group: 7 }]);
  expect(set({ type: 'hexstr', value: '0x0000' })).toEqual([]);
  expect(set({ type: 'field', value: ['scalars', 'group'] })).toEqual([]);
});

it('tells nothing of what cannot be read', () => {
  expect(floodsIn('{')).toEqual([]);
  expect(floodsIn('{"actions": [1]}')).toEqual([]);
});
