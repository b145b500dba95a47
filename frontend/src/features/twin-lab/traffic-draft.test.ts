import { TrafficRequest } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, missingFields, requestOf, type TrafficKind } from './traffic-draft.js';

describe('requestOf', () => {
  it.each<TrafficKind>(['http', 'iperf3', 'probe', 'pcap'])(
    'makes a request of kind %s that the contract takes',
    (kind) => {
      const request = requestOf({ ...EMPTY_DRAFT, kind, from: 'client-1', to: 'web-1', pcap_id: 'pc-1' });
      expect(TrafficRequest.parse(request)).toEqual(request);
    },
  );

  it('sends Mbit/s as bits a second', () => {
    expect(requestOf({ ...EMPTY_DRAFT, kind: 'iperf3', from: 'a', to: 'b', rate_mbps: 2.5 })).toMatchObject({
      rate_bps: 2_500_000,
    });
  });
});

describe('missingFields', () => {
  it('asks for what the kind needs', () => {
    expect(missingFields(EMPTY_DRAFT)).toEqual(['from', 'to']);
    expect(missingFields({ ...EMPTY_DRAFT, kind: 'pcap', from: 'a' })).toEqual(['pcap_id']);
  });
});
