import { FABRIC_GATEWAY_MAC, type Infrastructure, type P4Entries, primaryAddress } from '@orrery/contract';

/** A host at a port of the switch. */
interface Attached {
  readonly port: string;
  readonly address: string;
  readonly mac: string;
}

/** By name of the example: entries with which hosts at the switch reach each other. */
const ENTRIES: Readonly<Record<string, (hosts: readonly Attached[]) => P4Entries>> = {
  'ipv4-router': (hosts) => ({
    entries: hosts.map(({ port, address, mac }) => ({
      table: 'Router.routes',
      match: { dst_addr: `${address}/32` },
      action: 'Router.forward',
      params: { next_hop: mac, port },
    })),
    default_actions: [],
    groups: [],
  }),
  'l2-switch': (hosts) => ({
    entries: [
      {
        table: 'Forward.dmac',
        match: { dst: FABRIC_GATEWAY_MAC },
        action: 'Forward.flood',
        params: { group: '1' },
      },
      ...hosts.map(({ port, mac }) => ({
        table: 'Departure.last_hop',
        match: { port },
        action: 'Departure.rewrite',
        params: { dst: mac },
      })),
    ],
    default_actions: [],
    groups: hosts.length > 0 ? [{ id: 1, ports: hosts.map(({ port }) => port) }] : [],
  }),
  // A path of its own for each host, on which there is no function yet.
  'nsh-forwarder': (hosts) => ({
    entries: hosts.flatMap(({ port, address, mac }, i): P4Entries['entries'] => [
      {
        table: 'Forwarder.classify',
        match: { dst_addr: `${address}/32` },
        action: 'Forwarder.enter',
        params: { spi: String(i + 1), si: '255' },
      },
      {
        table: 'Forwarder.paths',
        match: { spi: String(i + 1), si: '255' },
        action: 'Forwarder.leave',
        params: { next_hop: mac, port },
      },
    ]),
    default_actions: [],
    groups: [],
  }),
  'flow-counter': (hosts) => ({
    entries: [
      ...hosts.map(({ port, address, mac }) => ({
        table: 'Measure.hosts',
        match: { dst_addr: address },
        action: 'Measure.forward',
        params: { next_hop: mac, port },
      })),
      ...(
        [
          ['1', { protocol: '1' }],
          ['2', { protocol: '6', dst_port: '80' }],
          ['3', { protocol: '6' }],
          ['4', { protocol: '17' }],
        ] as const
      ).map(([kind, match], i) => ({
        table: 'Measure.watch',
        match: { ...match },
        priority: 100 - i,
        action: 'Measure.count_as',
        params: { class: kind },
      })),
    ],
    default_actions: [],
    groups: [],
  }),
};

/** Null: the program is no example. */
export function exampleEntries(name: string, id: string, infrastructure: Infrastructure): P4Entries | null {
  return ENTRIES[name]?.(attachedTo(id, infrastructure)) ?? null;
}

function attachedTo(id: string, { links, hosts }: Infrastructure): Attached[] {
  return links.flatMap(({ a, b }) =>
    [
      [a, b],
      [b, a],
    ].flatMap(([near, far]) => {
      const host = hosts.find((one) => one.id === far!.node);
      if (near!.node !== id || !host) return [];
      const address = primaryAddress(host);
      return address.includes(':') ? [] : [{ port: near!.port, address, mac: host.mac }];
    }),
  );
}
