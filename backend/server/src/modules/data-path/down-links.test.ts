import type { Infrastructure, PlannedChain } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { downLinks } from '../../ports/link-states.js';
import { causeOf, cutOffReceivers, cutOffSenders, lostOn } from './down-links.js';

const link = (id: string, a: string, b: string) => ({
  id,
  a: { node: a, port: `to-${b}` },
  b: { node: b, port: `to-${a}` },
  bandwidth_bps: 1e9,
  delay_us: 0,
  jitter_us: 0,
  loss: 0,
});
const SERVER_1 = link('s-1', 'server-1', 'leaf-1');
const SERVER_2 = link('s-2', 'server-2', 'leaf-2');
const TRUNK = link('t', 'leaf-1', 'leaf-2');
const CLIENT = link('c', 'client-1', 'leaf-1');
const SPARE = link('c-2', 'client-1', 'leaf-2');
/** Two leaves below one spine, and a second spine that no shortest path needs. */
const UP_1 = link('u-1', 'leaf-1', 'spine-1');
const UP_2 = link('u-2', 'leaf-2', 'spine-1');
const SPARE_UP = link('u-3', 'leaf-2', 'spine-2');
const FABRIC = {
  boards: [],
  switches: ['leaf-1', 'leaf-2', 'spine-1', 'spine-2'].map((id) => ({ id })),
  servers: ['server-1', 'server-2'].map((id) => ({ id, nics: [{ name: `to-leaf-${id.at(-1)}` }], addresses: [] })),
  hosts: [],
  links: [SERVER_1, SERVER_2, UP_1, UP_2, SPARE_UP, CLIENT],
} as unknown as Infrastructure;
const none = () => null;

describe('the links that are down', () => {
  it('are those that the twin reports, or a switch at an end', () => {
    const links = [SERVER_1, SERVER_2, TRUNK, CLIENT];
    const emulated = new Map([
      ['s-1', { up: false }],
      ['s-2', { up: true }],
    ]);
    const port = (up: boolean, number: number | null = 1) => ({ ports: [{ name: 'to-client-1', number, up }] });
    const at = (ports: ReturnType<typeof port>) => (id: string) => (id === 'leaf-1' ? ports : null);
    const found = (...given: Parameters<typeof downLinks>) => downLinks(...given).map(({ id }) => id);
    expect(found({ links }, emulated, none)).toEqual(['s-1']);
    expect(found({ links }, emulated, at(port(false)))).toEqual(['s-1', 'c']);
    expect(found({ links }, new Map(), at(port(true)))).toEqual([]);
    expect(found({ links }, new Map(), at(port(false, null)))).toEqual([]);
  });

  it('explain a section at whose end they are, or else on whose way', () => {
    const section = { servers: ['server-1'], way: { from: ['client-1'], to: ['server-1'] } };
    expect(causeOf(section, [TRUNK, SERVER_1], FABRIC)).toBe(SERVER_1);
    expect(causeOf(section, [SERVER_2, CLIENT], FABRIC)).toBeNull();
    const across = { servers: ['server-1', 'server-2'], way: { from: ['server-1'], to: ['server-2'] } };
    expect(causeOf(across, [UP_2], FABRIC)).toBe(UP_2);
  });

  it('do not explain a section whose packets take another way', () => {
    const local = { servers: ['server-1'], way: { from: ['client-1'], to: ['server-1'] } };
    expect(causeOf(local, [UP_1, UP_2, TRUNK, SPARE_UP], FABRIC)).toBeNull();
    const across = { servers: [], way: { from: ['client-1'], to: ['server-2'] } };
    expect(causeOf(across, [SPARE_UP], FABRIC)).toBeNull();
  });

  it('and switches that pass nothing explain what takes them, and nothing else', () => {
    const across = { way: { from: ['server-1'], to: ['server-2'] } };
    expect(lostOn(across, new Set(['spine-1']), FABRIC)).toBe('spine-1');
    expect(lostOn(across, new Set(['spine-2']), FABRIC)).toBeNull();
    expect(lostOn({ way: { from: ['client-1'], to: ['server-1'] } }, new Set(['spine-1']), FABRIC)).toBeNull();
  });

  describe('that cut hosts off', () => {
    const WEB = link('w', 'web-1', 'leaf-1');
    const hosts = [
      { id: 'client-1', addresses: [{ address: '10.0.1.1' }] },
      { id: 'client-2', addresses: [{ address: '10.0.1.2' }] },
      { id: 'web-1', addresses: [{ address: 'fd00::10' }, { address: '10.0.2.10' }] },
      { id: 'web-2', addresses: [{ address: '10.0.2.11' }] },
    ] as unknown as Infrastructure['hosts'];
    const links = [CLIENT, WEB, link('w-2', 'web-2', 'leaf-1'), link('c-2', 'client-2', 'leaf-1')];
    const chain = (from: string[], ...match: { attribute: string; op: string; value: unknown }[]) =>
      ({ definition: { traffic_class: { from, match } } }) as unknown as PlannedChain;
    const to = (value: string, op = 'is') => ({ attribute: 'ip.dst', op, value });
    const told = (of: PlannedChain, down: (typeof CLIENT)[], all = links) => [
      ...cutOffSenders(of, { links: all }, down),
      ...cutOffReceivers(of, { hosts, links: all }, down),
    ];

    it('are told if the host has no other, and lose everything if no other host sends', () => {
      const what = 'link client-1 - leaf-1 is down: nothing from client-1 enters this chain';
      expect(told(chain(['client-1']), [CLIENT])).toEqual([{ what, isTotal: true, link: CLIENT }]);
      expect(told(chain(['client-1', 'client-2']), [CLIENT])).toEqual([{ what, isTotal: false, link: CLIENT }]);
      expect(told(chain(['client-1']), [CLIENT], [...links, SPARE])).toEqual([]);
      expect(told(chain(['client-1']), [SERVER_1])).toEqual([]);
    });

    it('are told of the hosts behind the exit, where nothing counts what arrives', () => {
      const what = 'link web-1 - leaf-1 is down: nothing that leaves this chain reaches web-1';
      const port = { attribute: 'port.dst', op: 'is', value: 80 };
      expect(told(chain(['client-1'], to('10.0.2.10'), port), [WEB])).toEqual([{ what, isTotal: true, link: WEB }]);
      expect(told(chain(['client-1'], to('10.0.2.10/31')), [WEB])).toEqual([{ what, isTotal: false, link: WEB }]);
      expect(told(chain(['client-1'], to('10.0.2.0/24'), to('10.0.2.10', 'is-not')), [WEB])).toEqual([]);
      expect(told(chain(['client-1'], to('10.0.2.11')), [WEB])).toEqual([]);
      expect(told(chain(['client-1'], port), [WEB])).toEqual([]);
    });
  });
});
