import { TrafficRequest } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { draftProblems, EMPTY_DRAFTS, encodedPath, requestOf, type TrafficKind } from './traffic-draft.js';

const filled = { from: 'client-1', to: 'web-1', pcap_id: 'pc-1' };

describe('requestOf', () => {
  it.each<TrafficKind>(['http', 'iperf3', 'probe', 'pcap'])(
    'makes a request of kind %s that the contract takes',
    (kind) => {
      const request = requestOf({ ...EMPTY_DRAFTS[kind], ...filled });
      expect(TrafficRequest.parse(request)).toEqual(request);
    },
  );

  it('sends Mbit/s as bits a second', () => {
    expect(requestOf({ ...EMPTY_DRAFTS.iperf3, rate_mbps: 2.5 })).toMatchObject({ rate_bps: 2_500_000 });
  });

  it('sends a probe to its own port', () => {
    expect(requestOf({ ...EMPTY_DRAFTS.probe, port: 80 })).toMatchObject({ port: 80 });
  });
});

describe('encodedPath', () => {
  it('encodes what may not stand in a request and nothing twice', () => {
    expect(encodedPath('/größe und so?q=a b')).toBe('/gr%C3%B6%C3%9Fe%20und%20so?q=a%20b');
    expect(encodedPath('/item?id=1%20union&x=[1]')).toBe('/item?id=1%20union&x=[1]');
  });
});

describe('draftProblems', () => {
  it('asks for what the kind needs', () => {
    expect(Object.keys(draftProblems(EMPTY_DRAFTS.http))).toEqual(['from', 'to']);
    expect(Object.keys(draftProblems({ ...EMPTY_DRAFTS.pcap, from: 'a' }))).toEqual(['pcap_id']);
  });

  it.each([
    ['', 'port'],
    ['-', 'port'],
    [0, 'port'],
    [80.5, 'port'],
    [2001, 'rate_per_s'],
  ])('refuses %j as %s', (entry, name) => {
    expect(Object.keys(draftProblems({ ...EMPTY_DRAFTS.http, ...filled, [name]: entry }))).toEqual([name]);
  });

  it('refuses a path that does not start with a slash', () => {
    expect(draftProblems({ ...EMPTY_DRAFTS.http, ...filled, path: 'no slash' })).toEqual({ path: 'Starts with /' });
  });
});
