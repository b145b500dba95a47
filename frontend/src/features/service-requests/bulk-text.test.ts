import { expect, it } from 'vitest';
import { exampleOf, parseRequests } from './bulk-text.js';

const nfs = ['firewall', 'monitor'].map((nf) => ({ nf, config: {}, count: 1, rate_bps: 1e8 }));
const EXAMPLE = exampleOf({
  id: 'pool',
  definition: { name: 'pool', title: 'Shared', hosts: ['client-1'], nfs, packet_bytes: 800, deploys: true },
});

it('reads a table and a list of JSON alike', () => {
  const table = parseRequests(EXAMPLE);
  if (!table.ok) throw new Error(table.problem);
  expect(table.requests[1]).toEqual({
    pool: 'pool',
    from: ['client-1'],
    match: [
      { attribute: 'ip.dst', op: 'is', value: '10.0.2.1' },
      { attribute: 'port.dst', op: 'is', value: '443' },
    ],
    functions: ['monitor'],
    latency_us: 300,
    throughput_bps: 2_000_000,
  });
  expect(parseRequests(JSON.stringify(table.requests))).toEqual(table);
  expect(parseRequests(JSON.stringify({ requests: table.requests }))).toEqual(table);
});

it('says which request is wrong, and where', () => {
  const wrong = parseRequests(EXAMPLE.replace('300,2000000', 'fast,2000000'));
  expect(wrong).toMatchObject({ ok: false, problem: expect.stringContaining('Request 2, latency_us') });
  expect(parseRequests('pool,from\na,b')).toMatchObject({
    ok: false,
    problem: expect.stringContaining('match is missing'),
  });
  expect(parseRequests('[{')).toMatchObject({ ok: false, problem: expect.stringContaining('no JSON') });
});
