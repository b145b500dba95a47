import type { FabricRule, NfOnSwitch, SwitchAbilities } from '@orrery/contract';
import { expect, it } from 'vitest';
import { row, rule } from '../../testing/row-of-switches.js';
import { ASSUMED_ABILITIES } from './abilities.js';
import { lowerFabric } from './lower-fabric.js';

const ABLE: SwitchAbilities = {
  ...ASSUMED_ABILITIES,
  match: { ...ASSUMED_ABILITIES.match, nfs: { kind: 'exact', negation: false } },
};
const SWITCH = 'sw-1';
const SITE = row(1, 16_000);

/** A class of packets to a port, with a filter for one protocol. */
function classOf(port: number, proto = 6): FabricRule {
  const runs: NfOnSwitch = {
    program: 'filter',
    rules: [{ match: [{ field: 'ip.proto', value: proto, not: false }], allow: false }],
    allow: true,
  };
  return rule('classify', [{ hop: 1, server: 'server-1' }], {
    id: `classify/${port}`,
    from_hosts: ['host-1'],
    match: [{ field: 'port.dst', lo: port, hi: port, not: false }],
    nfs: [{ nf: 'c.firewall', runs }],
  } as Partial<FabricRule>);
}

/** The number by which each class enters its NFs. */
function numbersOf(rules: readonly FabricRule[]): Map<string, number> {
  const { switches, faults } = lowerFabric(SITE, new Map([[SWITCH, ABLE]]), rules);
  expect(faults).toEqual([]);
  return new Map(
    switches.get(SWITCH)!.entries.flatMap(({ rule_id, actions }) => {
      const [enter] = actions;
      return enter?.do === 'enter-nfs' && rule_id !== null ? [[rule_id, enter.nfs]] : [];
    }),
  );
}

const CLASSES = Array.from({ length: 600 }, (_, i) => classOf(i + 1));

it('NFs of a class keep their number while others come and go, and get another with another configuration', () => {
  const alone = CLASSES.slice(0, 20).map((one) => [one.id, numbersOf([one]).get(one.id)]);
  expect([...numbersOf(CLASSES.slice(0, 20))]).toEqual(alone);
  for (let port = 1; port <= 20; port++)
    expect(numbersOf([classOf(port, 17)]).get(`classify/${port}`)).not.toBe(alone[port - 1]![1]);
});

// Two contents in 65,535 have one number each: where they are in one generation, the second has the next that is free, and it
// gets its own when the first leaves. For the time of that write, milliseconds, packets of the class that leaves may pass the NFs
// of the other and go to its first hop; Open vSwitch changes both at once (a bundle). To rule it out, the planner would have to
// know what numbers a switch has had, in place of a pure function of the rules, and the number be wider than the field of the
// program; neither is worth what needs two such classes at one switch, of which one changes.
it('two classes of one number are told apart in one generation; the second has that of the first once it has left', () => {
  const byNumber = new Map<number, FabricRule>();
  const pair = CLASSES.flatMap((one) => {
    const number = numbersOf([one]).get(one.id)!;
    const first = byNumber.get(number);
    byNumber.set(number, one);
    return first ? [[first, one] as const] : [];
  })[0]!;
  const [first, second] = pair;
  const own = numbersOf([first]).get(first.id)!;
  const both = numbersOf([first, second]);
  expect(both.get(first.id)).toBe(own);
  expect(both.get(second.id)).not.toBe(own);
  expect(numbersOf([second]).get(second.id)).toBe(own);
});
