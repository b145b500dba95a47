import type { FabricRule, Infrastructure, ServerNode } from '@orrery/contract';
import { switchPlaces } from './topology.js';

/** A switch with a P4 program of its own that a rule would need, and for whom. */
interface OwnProgram {
  readonly id: string;
  readonly program: string;
  /** The hosts or servers that are reached through it. */
  readonly carries: string;
}

interface Attached {
  /** Programs by switch. */
  readonly own: ReadonlyMap<string, string>;
  /** Switches at which a node hangs. */
  readonly switchesOf: ReadonlyMap<string, readonly string[]>;
}

const KNOWN = new WeakMap<Infrastructure, Attached>();

/** Servers that the fabric reaches; all of them where it reaches none. */
export function serversOfFabric(infrastructure: Infrastructure): readonly ServerNode[] {
  const reached = infrastructure.servers.filter(({ id }) => ownProgramOf(id, attachedOf(infrastructure)) === null);
  return reached.length > 0 ? reached : infrastructure.servers;
}

/**
 * Switches with programs of their own at which the rule ends: its hosts or servers hang on them alone, or no other way leads
 * from the one to the other.
 */
export function ownProgramsBefore(rule: FabricRule, infrastructure: Infrastructure): readonly OwnProgram[] {
  const attached = attachedOf(infrastructure);
  const { own, switchesOf } = attached;
  if (own.size === 0) return [];
  const servers = rule.targets.map(({ server }) => server);
  const behind = [...rule.from_hosts, ...destinationsOf(rule, infrastructure), ...servers].flatMap((node) => {
    const id = ownProgramOf(node, attached);
    return id === null ? [] : [found(own, id, node)];
  });
  if (behind.length > 0) return unique(behind);
  const places = switchPlaces(infrastructure);
  const apart = [...rule.from_hosts, ...rule.from_servers].flatMap((node) => {
    const place = places.find(({ id }) => switchesOf.get(node)?.includes(id));
    const missing = place && servers.find((server) => !place.towards.has(server));
    return missing === undefined ? [] : [...own.keys()].map((id) => found(own, id, `${node} and ${missing}`));
  });
  return unique(apart);
}

/** Whether a switch of the fabric that reaches a target of the rule before no longer does so next. */
export function losesWays({ targets }: FabricRule, before: Infrastructure, next: Infrastructure): boolean {
  const now = new Map(switchPlaces(before).map((place) => [place.id, place]));
  return switchPlaces(next).some(({ id, towards }) =>
    targets.some(({ server }) => now.get(id)?.towards.has(server) && !towards.has(server)),
  );
}

/** Hosts that the rule names as the only destination. */
function destinationsOf({ kind, match }: FabricRule, { hosts }: Infrastructure): readonly string[] {
  if (kind !== 'classify') return [];
  const addresses = match.flatMap((term) =>
    term.field === 'ip.dst' && 'prefix' in term && !term.not && term.prefix.endsWith('/32')
      ? [term.prefix.slice(0, -'/32'.length)]
      : [],
  );
  const named = hosts.filter((host) => host.addresses.some(({ address }) => addresses.includes(address)));
  return named.map(({ id }) => id);
}

/** The switch with a program of its own by which alone the node is reached; null: there is none. */
function ownProgramOf(node: string, { own, switchesOf }: Attached): string | null {
  const at = switchesOf.get(node) ?? [];
  return at.length > 0 && at.every((id) => own.has(id)) ? at[0]! : null;
}

const found = (own: ReadonlyMap<string, string>, id: string, carries: string): OwnProgram => ({
  id,
  program: own.get(id)!,
  carries,
});

const unique = (all: readonly OwnProgram[]) => all.filter(({ id }, at) => all.findIndex((one) => one.id === id) === at);

function attachedOf(infrastructure: Infrastructure): Attached {
  const known = KNOWN.get(infrastructure);
  if (known) return known;
  const { switches, links } = infrastructure;
  const ids = new Set(switches.map(({ id }) => id));
  const switchesOf = new Map<string, string[]>();
  const ways = links.flatMap(({ a, b }) => [[a.node, b.node] as const, [b.node, a.node] as const]);
  for (const [near, far] of ways) if (ids.has(far)) switchesOf.set(near, [...(switchesOf.get(near) ?? []), far]);
  const own = new Map(switches.flatMap(({ id, program }) => (program === undefined ? [] : [[id, program] as const])));
  const attached = { own, switchesOf };
  KNOWN.set(infrastructure, attached);
  return attached;
}
