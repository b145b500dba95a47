import {
  type ImplementationChoice,
  type Infrastructure,
  isAtSwitch,
  nfInstances,
  Plan,
  type SwitchSpec,
  slotPlace,
} from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { obstacleAtSwitch } from '../accelerator/at-switch.js';
import { makePlan } from '../plan/make-plan.js';
import { arbitraryChain, arbitraryPacket } from '../testing/arbitrary.js';
import { board, withBoard, withBoardAtSwitch } from '../testing/boards.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { walkDefinition, walkPlan } from '../testing/walk.js';
import { lowerFabric } from './switch/lower-fabric.js';
import { tagMatch } from './switch/switch-program.js';

const NFS = CATALOGUE.map((nf) => withBoard(nf, 100));

/** Two switches with a trunk; servers and one host at the first, and a board of which ports hang on either. */
function twoSwitches(far: readonly string[]): Infrastructure {
  const base = rack({ servers: 4, cores: 4, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
  const trunk = { id: 'trunk', a: { node: 'switch-1', port: 't1' }, b: { node: 'switch-2', port: 't2' } };
  const joined = {
    ...base,
    switches: [...base.switches, { ...base.switches[0]!, id: 'switch-2' }],
    links: [...base.links, { ...trunk, bandwidth_bps: 1e12, delay_us: 0, jitter_us: 0, loss: 0 }],
  };
  const at = Object.fromEntries(far.map((port) => [port, 'switch-2']));
  return withBoardAtSwitch(joined, board('board-1', 'server-2', { slots: 3 }), 'switch-1', at);
}

/** Where a frame with the hop ends that comes into the port, by the entries of the switches; null: it is dropped. */
function delivered(
  specs: ReadonlyMap<string, Omit<SwitchSpec, 'generation'>>,
  { links }: Infrastructure,
  start: { node: string; port: string },
  hop: number,
): { node: string; port: string } | null {
  let here = start;
  for (let steps = 0; steps < 8; steps++) {
    const tag = tagMatch(hop) as { value: number };
    const entry = specs.get(here.node)!.entries.find(({ table, match }) => {
      const dst = match.fields['eth.dst'];
      return table === 'admit' && match.port === here.port && dst && 'value' in dst && dst.value === tag.value;
    });
    if (!entry) return null;
    const [action] = entry.actions;
    if (action?.do !== 'output') throw new Error(`${here.node} does ${action?.do} with hop ${hop}`);
    const out = { node: here.node, port: action.port };
    const same = (end: { node: string; port: string }) => end.node === out.node && end.port === out.port;
    const link = links.find(({ a, b }) => same(a) || same(b))!;
    here = same(link.a) ? link.b : link.a;
    if (!specs.has(here.node)) return here;
  }
  throw new Error(`hop ${hop} goes round between switches`);
}

it('leads every packet into slots at switches and on, by the entries of every switch, as the chain is drawn', () => {
  const seen = { slots: 0, senders: 0, packets: 0, splits: 0, refused: 0 };
  const cases = fc.record({
    definition: arbitraryChain({
      nfs: ['ids', 'monitor', 'firewall', 'monitor', 'nat'],
      maxNodes: 6,
      exact: true,
    }),
    packets: fc.array(arbitraryPacket, { minLength: 20, maxLength: 20 }),
    far: fc.subarray(['near0', 'far0', 'near1', 'far1', 'near2', 'far2']),
    wanted: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
    rate_bps: fc.constantFrom(1e6, 4e9, 8e9),
    verdictSeed: fc.nat(),
  });
  fc.assert(
    fc.property(cases, ({ packets, far, wanted, rate_bps, verdictSeed, ...drawn }) => {
      const { traffic_class } = drawn.definition;
      const definition = { ...drawn.definition, traffic_class: { ...traffic_class, from: ['client-1'], rate_bps } };
      const chain = { chain_id: 'p-1', version: 1, definition };
      const asked: ImplementationChoice[] = [];
      definition.nodes.forEach((node, i) => {
        if (node.kind !== 'nf' || !wanted[i] || asked.length === 3) return;
        if (obstacleAtSwitch(chain, node.id, NFS.find(({ id }) => id === node.nf)!) !== null) {
          seen.refused++;
          return;
        }
        const slot = { board: 'board-1', slot: asked.length };
        asked.push({ chain_id: 'p-1', node_id: node.id, on: 'board', slot, load: 'partial', policy: 'hold' });
      });
      fc.pre(asked.length > 0);
      const infrastructure = twoSwitches(far);
      const plan = makePlan({
        id: 'plan',
        created_ms: 0,
        chains: [chain],
        descriptors: NFS,
        infrastructure,
        base: null,
        container_servers: [],
        implementations: asked,
        budget: { steps: 50 },
      });
      fc.pre(plan.feasible);
      expect(() => Plan.parse(plan)).not.toThrow();
      const inSlots = nfInstances(plan.graph).filter(isAtSwitch);
      expect(inSlots.map(({ node_id }) => node_id).sort()).toEqual(asked.map(({ node_id }) => node_id).sort());
      expect(inSlots.every(({ core_share, server }) => core_share === 0 && server === 'server-2')).toBe(true);
      if (plan.graph.nodes.some(({ kind }) => kind === 'split')) seen.splits++;

      const { switches } = lowerFabric(infrastructure, new Map(), plan.fabric.rules);
      const nameOf = ({ node, port }: { node: string; port: string }) =>
        node === 'board-1' ? slotPlace({ board: node, slot: Number(/^near(\d)$/.exec(port)![1]) }) : node;
      const peerOf = (node: string, port: string) =>
        infrastructure.links.find(({ a }) => a.node === node && a.port === port)!.b;
      for (const { kind, hop, from_servers, targets } of plan.fabric.rules) {
        if (kind !== 'hop') continue;
        for (const sender of from_servers) {
          const [node, slot] = sender.split('.') as [string, string?];
          const start = peerOf(node, slot === undefined ? 'eth0' : `far${slot}`);
          const end = delivered(switches, infrastructure, start, hop!);
          expect(end && nameOf(end), `hop ${hop} from ${sender}`).toBe(targets[0]!.server);
          seen.senders++;
        }
      }
      for (const { id, board: place } of inSlots) {
        const spec = plan.nodes['server-2']!.instances.find((it) => it.id === id)!;
        for (const { targets } of spec.outputs) {
          expect(targets).toHaveLength(1);
          const { to } = targets[0]!;
          if (to.kind !== 'hop') throw new Error(`${id} leads to ${JSON.stringify(to)}`);
          const rule = plan.fabric.rules.find(({ kind, hop }) => kind === 'hop' && hop === to.hop)!;
          expect(rule.from_servers).toContain(slotPlace(place!));
        }
        seen.slots++;
      }
      packets.forEach((start, n) => {
        const verdicts = (node: string) => ((verdictSeed + n * 7 + node.charCodeAt(1)) % 3 === 0 ? 'unsafe' : 'safe');
        const nodes = walkDefinition(definition, NFS, start, verdicts);
        const walk = walkPlan(plan, 'client-1', start, verdicts);
        const passed = walk.passed.map(({ instance }) => instance.node_id);
        expect(walk.end === 'dropped' ? [...passed, null] : passed).toEqual(nodes);
        seen.packets++;
      });
    }),
    { numRuns: 100 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(10);
});
