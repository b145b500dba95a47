import type { Filter, HostNode } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { sampleTraffic, trafficPath } from './sample-traffic.js';

const host = (id: string, role: HostNode['role'], address: string) =>
  ({ id, role, origin: 'twin', mac: '02:00:00:00:00:01', addresses: [{ address }] }) satisfies HostNode;
const hosts = [
  host('client-1', 'client', '10.0.1.1'),
  host('www', 'server', '10.0.2.10'),
  host('dns', 'server', '10.0.3.53'),
];
const traffic = (match: Filter, from = ['client-1']) =>
  sampleTraffic({ traffic_class: { from, match, rate_bps: 1e7, packet_bytes: 800 } }, { hosts });
const is = (attribute: string, value: string | number) => ({ attribute, op: 'is', value }) as const;

describe('traffic for a chain', () => {
  it('is HTTP to the first server host where the class takes everything', () => {
    expect(traffic([])).toEqual({ kind: 'http-client', node: 'client-1', to: 'www' });
  });

  it('goes where the class wants it, with its protocol and port', () => {
    expect(traffic([is('ip.dst', '10.0.3.0/24'), is('ip.proto', 'udp'), is('port.dst', '53-60')])).toEqual({
      kind: 'probe',
      node: 'client-1',
      to: 'dns',
      port: 53,
    });
    expect(traffic([is('ip.dst', '10.0.2.10/32')])?.to).toBe('www');
  });

  it('needs a host at either end', () => {
    expect(traffic([], ['nobody'])).toBeNull();
    expect(traffic([is('ip.dst', '192.0.2.0/24')])).toBeNull();
  });

  it('is the form of the twin lab, filled in', () => {
    expect(trafficPath(traffic([is('port.dst', 8080)])!)).toBe('/twin?add=http-client&node=client-1&to=www&port=8080');
  });
});
