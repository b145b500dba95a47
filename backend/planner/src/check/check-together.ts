import type { ChainDefinition, ChainProblem, NfDescriptor, PlannedChain } from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import { grouped } from '../grouped.js';
import { configuredAddresses } from '../lower/addresses.js';
import { indexDescriptors } from './attributes.js';
import { earlierThatMayOverlap } from './class-pairs.js';
import { describePacket } from './describe-packet.js';
import { allPackets, type Box, intersectBoxes } from './packet-space.js';
import { overlap } from './reach.js';
import { filterBox } from './resolve-filter.js';

type LocatedProblem = ChainProblem & { chain_id: string };

/**
 * What prevents individually valid chains from running together.
 * Errors: `OutOfTime` when the time is over before all are compared.
 */
export function checkTogether(
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
  time: Pick<Budget, 'expired'> = {},
): LocatedProblem[] {
  const catalogue = indexDescriptors(descriptors);
  const problems: LocatedProblem[] = [];
  const owners = new Map<string, string>();
  const classes = chains.flatMap(({ definition }, i) => classesOf(definition).map((it) => ({ ...it, chain: i })));
  const boxes = classes.map(({ match }) => filterBox(match, nothingDerived, NO_DOMAINS));
  const mayOverlap = earlierThatMayOverlap(boxes);
  const classesAt = grouped([...classes.keys()], (k) => String(classes[k]!.chain));
  const named = new Map<string, number[]>();
  chains.forEach(({ chain_id, definition }, i) => {
    requireTime(time);
    const error = (code: ChainProblem['code'], pointer: string, message: string, node?: string) =>
      problems.push({
        chain_id,
        code,
        severity: 'error',
        message,
        pointer,
        ...(node === undefined ? {} : { node }),
      });
    const { name } = definition;
    const namesakes = named.get(name) ?? [];
    if (namesakes.length > 0) error('duplicate-id', '/name', `another chain is called "${name}"`);
    for (const k of classesAt.get(String(i)) ?? []) {
      for (const j of mayOverlap(k)) {
        requireTime(time);
        const [own, other] = [classes[k]!, classes[j]!];
        const from = new Set(other.from);
        const host = own.from.find((id) => from.has(id));
        if (host === undefined) continue;
        const common = commonPacket(boxes[k]!, boxes[j]!);
        if (common === null) continue;
        const owner = chains[other.chain]!.definition.name;
        const message = `packets from "${host}" belong to "${owner}" too, for example ${common}`;
        error('class-conflict', own.pointer, message);
      }
    }
    named.set(name, [...namesakes, i]);
    definition.nodes.forEach((node, k) => {
      const descriptor = node.kind === 'nf' ? catalogue.get(node.nf) : undefined;
      if (node.kind !== 'nf' || !descriptor?.return_traffic) return;
      configuredAddresses(node.config).forEach((address, a) => {
        const owner = owners.get(address);
        const pointer = `/nodes/${k}/config/external_addresses/${a}`;
        if (owner === undefined) owners.set(address, name);
        else if (owner !== name) error('bad-config', pointer, `${address} already belongs to "${owner}"`, node.id);
      });
    });
  });
  return problems;
}

/** The classes whose packets a chain takes: those of its ways, or its own. */
function classesOf({ nodes, traffic_class: { from, match } }: ChainDefinition) {
  const at = nodes.findIndex((node) => node.kind === 'ingress' && node.ways !== undefined);
  const ingress = nodes[at];
  if (ingress?.kind !== 'ingress') return [{ from, match, pointer: '/traffic_class' }];
  return (ingress.ways ?? []).flatMap(({ classes }, w) =>
    classes.map((it, c) => ({
      from: it.from,
      match: [...match, ...it.match],
      pointer: `/nodes/${at}/ways/${w}/classes/${c}`,
    })),
  );
}

const nothingDerived = () => null;
const NO_DOMAINS: ReadonlyMap<string, number> = new Map();

/** A packet of both classes in words; `null` when there is none. */
function commonPacket(a: Box | null, b: Box | null): string | null {
  const both = a && b ? intersectBoxes(a, b) : null;
  const box = both ? overlap(allPackets(NO_DOMAINS), both)[0] : undefined;
  return box ? describePacket(box, nothingDerived) : null;
}
