import type { LabSwitch } from '../lab-switch.js';

export const SWITCH = 'scenario-p4';
export const PROGRAM = 'scenario-router';

/** The hosts at the switch, each in a network of its own. */
export const HOSTS = [
  { id: 'scenario-left', port: 'p1', address: '10.77.1.1', network: '10.77.1.0/24', mac: '02:00:0a:4d:01:01' },
  { id: 'scenario-right', port: 'p2', address: '10.77.2.1', network: '10.77.2.0/24', mac: '02:00:0a:4d:02:01' },
] as const;

export const ROUTES = HOSTS.map(({ network, mac, port }) => ({
  table: 'Router.routes',
  match: { dst_addr: network },
  action: 'Router.forward',
  params: { next_hop: mac, port },
}));

export function labSwitch(): LabSwitch {
  const title = 'Scenario: P4 switch';
  return {
    node: {
      id: SWITCH,
      title,
      origin: 'twin',
      driver: 'p4',
      program: PROGRAM,
      ports: 4,
      table_entries: 1024,
      actions: ['forward'],
    },
    hosts: HOSTS.map(({ id, address, mac }) => ({ id, origin: 'twin', role: 'client', addresses: [{ address }], mac })),
    links: HOSTS.map(({ id, port }) => ({
      id: `${id}-link`,
      a: { node: id, port: 'eth0' },
      b: { node: SWITCH, port },
      bandwidth_bps: 100_000_000,
      delay_us: 0,
      jitter_us: 0,
      loss: 0,
    })),
  };
}
