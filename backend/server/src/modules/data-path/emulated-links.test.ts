import type { LinkSample } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { PathTrouble } from '../../ports/data-path.js';
import { EmulatedLinks } from './emulated-links.js';

const idle = { t_ms: 0, a_to_b_bps: 0, b_to_a_bps: 0, utilization: 0, drops: 0 };
const sample = (link_id: string, up: boolean): LinkSample => ({ link_id, up, ...idle });
const told = (id: string): PathTrouble => {
  const end = { node: 'server-1', port: 'nic0' };
  const link = { id, a: end, b: end, bandwidth_bps: 1e9, delay_us: 0, jitter_us: 0, loss: 0 };
  return { what: `${id} is down`, isTotal: true, link };
};

it('while the twin is silent, links stay down that are told to be, and no others', () => {
  const links = new EmulatedLinks();
  const all = [told('cut'), told('whole')];
  const known = (nowMs: number) => [[...links.reported(nowMs).keys()], [...links.unmended(all, nowMs)]];
  expect(known(0)).toEqual([[], []]);
  links.take([sample('cut', false), sample('other', false), sample('whole', true)], 1000);
  links.take([], 4000);
  expect(known(5999)).toEqual([['cut', 'other', 'whole'], []]);
  expect(known(6000)).toEqual([[], ['cut']]);
  expect([...links.unmended([], 6000)]).toEqual([]);
  expect(known(31_000)).toEqual([[], []]);
  links.take([sample('cut', true)], 32_000);
  expect(known(38_000)).toEqual([[], []]);
});
