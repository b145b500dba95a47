import type { Infrastructure, SwitchPort } from '@orrery/contract';
import { linkedSlots } from '../../slot-links.js';
import { interfacesOf } from '../node-interfaces.js';

/** An interface that packets are forwarded to by address: of a host, or of a server outside its data plane. */
export interface Endpoint {
  readonly node: string;
  readonly mac: string;
  readonly addresses: readonly string[];
}

/** A switch with its place in the topology. */
export interface SwitchPlace {
  readonly id: string;
  /** Entries that it has by the infrastructure. */
  readonly table_entries: number;
  readonly ports: readonly SwitchPort[];
  /** What is at its own ports. */
  readonly attached: readonly { readonly port: string; readonly endpoint: Endpoint }[];
  /** What is reached through other switches, with the port towards it. */
  readonly distant: readonly { readonly port: string; readonly endpoint: Endpoint }[];
  /** By server, or slot at a switch: the port that leads to its data plane, or to its near port. */
  readonly towards: ReadonlyMap<string, string>;
  /** By server whose data plane is attached here: its port. */
  readonly dataPlanes: ReadonlyMap<string, string>;
  /** By server as `dataPlanes`, or slot whose far port hangs here: the port at which its tagged packets come. */
  readonly senders: ReadonlyMap<string, string>;
  /** By server or slot: the ports at which packets to it come from other switches. */
  readonly transit: ReadonlyMap<string, readonly string[]>;
}

/** Where a link ends at a switch. */
interface Attachment {
  readonly at: string;
  readonly port: string;
}

/** An infrastructure with links between switches that packets go around wherever another way leads to where they go. */
type Avoiding = Infrastructure & { readonly avoided_links?: ReadonlySet<string> };

/** Its links keep their ports. Lowering for it uses such a link only for what no other way leads to. */
export function avoiding(infrastructure: Infrastructure, links: ReadonlySet<string>): Infrastructure {
  const routed: Avoiding = { ...infrastructure, avoided_links: links };
  return routed;
}

/** Shortest paths around the links to avoid; ties are broken by the order in the infrastructure. */
export function switchPlaces(infrastructure: Infrastructure): readonly SwitchPlace[] {
  const known = KNOWN.get(infrastructure);
  if (known) return known;
  const places = foundPlaces(infrastructure);
  KNOWN.set(infrastructure, places);
  return places;
}

/** Rules are lowered several times for one infrastructure. */
const KNOWN = new WeakMap<Infrastructure, readonly SwitchPlace[]>();

function foundPlaces(infrastructure: Infrastructure): SwitchPlace[] {
  const { servers, hosts } = infrastructure;
  // One with a program of its own has none of the fabric's tables: nothing leads to it or through it.
  const switches = infrastructure.switches.filter(({ program }) => program === undefined);
  const roles = new Map<string, SwitchPort['role']>([
    ...servers.map(({ id }) => [id, 'server'] as const),
    ...hosts.map(({ id }) => [id, 'host'] as const),
    ...switches.map(({ id }) => [id, 'switch'] as const),
    ...infrastructure.boards.filter(({ attached }) => attached === 'switch').map(({ id }) => [id, 'board'] as const),
  ]);
  const ports = new Map(switches.map(({ id }) => [id, portsOf(id, infrastructure, roles)]));
  const onwards = waysBetween(ports, avoidedPorts(infrastructure));
  const leading = (from: string, { at, port }: Attachment) => (from === at ? port : onwards.get(from)!.get(at));
  const endpoints = endpointsOf(infrastructure).filter(({ at }) => ports.has(at));
  const dataPlanes = servers.flatMap((server) => {
    const found = interfacesOf(server, infrastructure).find(({ port }) => port === server.nics[0]!.name);
    return found && ports.has(found.peer.node) ? [{ id: server.id, at: found.peer.node, port: found.peer.port }] : [];
  });
  const slots = [...linkedSlots(infrastructure)];
  const entered = slots.map(([id, { near }]) => ({ id, at: near.peer.node, port: near.peer.port }));
  const left = slots.map(([id, { far }]) => ({ id, at: far.peer.node, port: far.peer.port }));
  const towards = new Map(
    switches.map(({ id }) => {
      const reached = [...dataPlanes, ...entered].flatMap(({ id: server, ...attachment }) => {
        const port = leading(id, attachment);
        return port === undefined ? [] : [[server, port] as const];
      });
      return [id, new Map(reached)] as const;
    }),
  );
  const transit = transitPorts(infrastructure, towards);
  return switches.map(({ id, table_entries }) => {
    const reached = endpoints.flatMap(({ endpoint, ...attachment }) => {
      const port = leading(id, attachment);
      return port === undefined ? [] : [{ port, endpoint, isOwn: attachment.at === id }];
    });
    const which = (own: boolean) =>
      reached.filter(({ isOwn }) => isOwn === own).map(({ port, endpoint }) => ({ port, endpoint }));
    return {
      id,
      table_entries,
      ports: ports.get(id)!,
      attached: which(true),
      distant: which(false),
      towards: towards.get(id)!,
      dataPlanes: portsAt(id, dataPlanes),
      senders: portsAt(id, [...dataPlanes, ...left]),
      transit: transit.get(id) ?? new Map(),
    };
  });
}

function portsAt(id: string, all: readonly (Attachment & { readonly id: string })[]): ReadonlyMap<string, string> {
  return new Map(all.filter(({ at }) => at === id).map((each) => [each.id, each.port]));
}

function endpointsOf(infrastructure: Infrastructure): (Attachment & { readonly endpoint: Endpoint })[] {
  const { hosts, servers } = infrastructure;
  const interfaces = [
    ...hosts.flatMap((host) => interfacesOf(host, infrastructure).map((it) => ({ node: host.id, ...it }))),
    ...servers.flatMap((server) =>
      interfacesOf(server, infrastructure)
        .filter(({ port }) => port !== server.nics[0]!.name)
        .map((it) => ({ node: server.id, ...it })),
    ),
  ];
  return interfaces.map(({ node, mac, addresses, peer }) => ({
    at: peer.node,
    port: peer.port,
    endpoint: { node, mac, addresses },
  }));
}

function portsOf(id: string, { links }: Infrastructure, roles: ReadonlyMap<string, SwitchPort['role']>): SwitchPort[] {
  return links.flatMap(({ a, b }) =>
    [
      { near: a, far: b },
      { near: b, far: a },
    ].flatMap(({ near, far }) => {
      const role = roles.get(far.node);
      return near.node === id && role ? [{ name: near.port, role, neighbour: far.node }] : [];
    }),
  );
}

/** By switch, and server or slot: the ports at which other switches hand over packets to it. */
function transitPorts(
  { links }: Infrastructure,
  towards: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Map<string, Map<string, string[]>> {
  const ways = links.flatMap(({ a, b }) => [
    { near: a, far: b },
    { near: b, far: a },
  ]);
  const result = new Map<string, Map<string, string[]>>();
  for (const { near, far } of ways) {
    for (const [server, port] of towards.get(near.node) ?? []) {
      if (port !== near.port || !towards.has(far.node)) continue;
      const arriving = result.get(far.node) ?? new Map<string, string[]>();
      arriving.set(server, [...(arriving.get(server) ?? []), far.port]);
      result.set(far.node, arriving);
    }
  }
  return result;
}

const portName = (node: string, port: string) => `${node} ${port}`;

function avoidedPorts({ links, avoided_links }: Avoiding): ReadonlySet<string> {
  const avoided = avoided_links ? links.filter(({ id }) => avoided_links.has(id)) : [];
  return new Set(avoided.flatMap(({ a, b }) => [a, b].map(({ node, port }) => portName(node, port))));
}

/**
 * By switch and other switch: the port of the first that leads to the second, breadth first from every switch, over as few
 * ports to avoid as can be. What leads to one switch is a tree, so that packets cannot circle.
 */
function waysBetween(
  ports: ReadonlyMap<string, readonly SwitchPort[]>,
  avoided: ReadonlySet<string>,
): Map<string, Map<string, string>> {
  const ways = new Map([...ports.keys()].map((id) => [id, new Map<string, string>()]));
  for (const target of ports.keys()) {
    const reached = new Set([target]);
    /** Those that are reached from `here` in one step. */
    const stepsTo = (here: string, may: (id: string, port: SwitchPort) => boolean) => {
      const found: string[] = [];
      for (const [id, own] of ports) {
        const leading = reached.has(id) ? undefined : own.find((it) => it.neighbour === here && may(id, it));
        if (!leading) continue;
        ways.get(id)!.set(target, leading.name);
        reached.add(id);
        found.push(id);
      }
      return found;
    };
    for (let waiting = [target]; waiting.length > 0; ) {
      for (const here of waiting) waiting.push(...stepsTo(here, (id, { name }) => !avoided.has(portName(id, name))));
      waiting = avoided.size > 0 ? [...reached].flatMap((here) => stepsTo(here, () => true)) : [];
    }
  }
  return ways;
}
