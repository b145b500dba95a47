import type { TrafficStatus } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { trafficOutcome, trafficRate, trafficSettings } from './traffic-text.js';

const probe: TrafficStatus = {
  id: 'traffic-1',
  request: { kind: 'probe', from: 'client-1', to: 'web-1', port: 9000, rate_per_s: 50, duration_s: 5 },
  state: 'completed',
  started_ms: 0,
  ended_ms: 5000,
  sent: 250,
  received: 250,
  errors: 0,
  bits_per_second: 0,
  latency_us: null,
  detail: null,
};

describe('trafficOutcome', () => {
  it('does not call a run completed of which everything failed', () => {
    expect(trafficOutcome(probe)).toEqual({ state: 'completed' });
    expect(trafficOutcome({ ...probe, errors: 250, received: 0 })).toEqual({ state: 'failed', label: 'all failed' });
    expect(trafficOutcome({ ...probe, sent: 0, received: 0 })).toEqual({ state: 'completed' });
  });
});

describe('trafficRate', () => {
  it('is what runs now, or a mean that was measured', () => {
    expect(trafficRate(probe)).toBeNull();
    expect(trafficRate({ ...probe, state: 'running' })).toBe(0);
    expect(trafficRate({ ...probe, bits_per_second: 5000 })).toBe(5000);
  });
});

describe('trafficSettings', () => {
  it('names the file of a replay', () => {
    const request = { kind: 'pcap', from: 'a', pcap_id: 'pc-1', rate_pps: 10, loops: 1, duration_s: 0 } as const;
    expect(trafficSettings({ ...probe, request }, () => 'web.pcap')).toBe('web.pcap, 10 pkt/s, once');
  });
});
