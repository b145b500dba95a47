import type { Infrastructure } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Break } from './breaks.js';
import { type Findings, troublesOf } from './troubles.js';

const LINK = { id: 's', a: { node: 'server-1', port: 'p' }, b: { node: 'leaf-1', port: 'p' } };
const SITE = { switches: [], servers: [], hosts: [], links: [LINK] } as unknown as Infrastructure;
const section = (from: string, to: string, isWhole = false): Break => ({
  section: {
    chain_id: 'c',
    isWhole,
    mayRefuse: false,
    servers: ['server-1'],
    way: { from: [], to: [] },
    from: { label: from, passes: [] },
    to: { label: to, receives: [], servers: [] },
  },
  packets: 3,
  sinceMs: 0,
});
const HOP = section('the switch', 'a.nf.0');
const WHOLE = section('the switch', 'the exit', true);
const found = (findings: Partial<Findings>, links: Infrastructure['links'] = []) =>
  troublesOf({ breaks: [], cutOff: [], loss: null, delivers: false, stuck: [], ...findings }, links, SITE, 10_000);

it('names the place where packets are lost rather than the whole chain', () => {
  expect(found({ breaks: [HOP, WHOLE] })).toEqual([
    { kind: 'break', what: 'no packet from the switch arrives at a.nf.0', isTotal: true, link: null },
  ]);
});

it('names the NF that passes nothing on where every hop carries packets', () => {
  expect(found({ breaks: [WHOLE], stuck: ['a.nf.0'] })).toMatchObject([
    { what: 'no packet leaves a.nf.0', isTotal: true },
  ]);
  expect(found({ breaks: [WHOLE] })).toMatchObject([
    { what: 'packets enter this chain and none leaves it', isTotal: true },
  ]);
});

it('says of a chain that still delivers that it loses part of its packets', () => {
  const links = SITE.links;
  expect(found({ breaks: [HOP], delivers: true })).toMatchObject([{ isTotal: false }]);
  expect(found({ breaks: [HOP], delivers: true }, links)).toMatchObject([
    { what: 'link server-1 - leaf-1 is down: this chain loses part of its packets', isTotal: false, link: LINK },
  ]);
  expect(found({ breaks: [HOP] }, links)).toMatchObject([
    { what: 'link server-1 - leaf-1 is down: this chain loses everything', isTotal: true, link: LINK },
  ]);
});

it('tells the share that is lost once that has lasted, unless the place is known', () => {
  const loss = { sinceMs: 5000, share: 0.404 };
  expect(found({ loss, delivers: true })).toEqual([
    { kind: 'loss', what: '40 % of the packets that enter are lost', isTotal: false, link: null },
  ]);
  expect(found({ loss: { ...loss, sinceMs: 5001 }, delivers: true })).toEqual([]);
  expect(found({ loss, delivers: true, breaks: [HOP] })).toHaveLength(1);
});
