import type { PacketTrace, TraceStep } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { outcomeText, phased, stepText, valueText } from './trace-text.js';

it.each([
  ['eth_dst', '0x20e00070000', '02:0e:00:07:00:00'],
  ['hdr.ethernet.dst_addr', '0x20efffffffe', '02:0e:ff:ff:ff:fe'],
  ['headers.ethernet.srcAddr', '0x20000000001', '02:00:00:00:00:01'],
  ['next_hop', '0x20efffffffe', '02:0e:ff:ff:ff:fe'],
  ['next_hop', '0xa000001', '167772161'],
  ['dstMac', '0x1', '00:00:00:00:00:01'],
  ['mac', '0x1', '00:00:00:00:00:01'],
  ['ip_src', '0xa000001', '10.0.0.1'],
  ['hdr.ipv4.dst_addr', '0xa000001', '10.0.0.1'],
  ['ipv4.dst', '0x0', '0.0.0.0'],
  ['port_dst', '0x50', '80'],
  ['eth_type', '0x800', '0x0800'],
  ['rest_mask', '0xffffffffff', '0xffffffffff'],
  ['name', 'text', 'text'],
])('%s %s is written %s', (name, value, text) => {
  expect(valueText(name, value)).toBe(text);
});

const trace = (steps: TraceStep[]): PacketTrace => ({
  sequence: 1,
  t_ns: 0,
  port: 'p1',
  bytes: 60,
  steps,
  left_out: 0,
});

describe('a trace', () => {
  it('ends with the ports that the packet left by, or with the reason of its loss', () => {
    const sent = (port: string): TraceStep => ({ step: 'sent', port, bytes: 60 });
    expect(outcomeText(trace([sent('p2'), sent('p3'), sent('p2')]))).toBe('to p2, p3');
    expect(outcomeText(trace([{ step: 'dropped', reason: 'mark_to_drop' }]))).toBe('dropped: by the program');
    expect(outcomeText(trace([]))).toBe('no outcome');
  });

  it('names each phase where it begins', () => {
    const steps: TraceStep[] = [
      { step: 'begin', kind: 'normal', port: 'p1', rid: 0, bytes: 60 },
      { step: 'parser_state', parser: 'parser', state: 'start', extracted: ['ethernet'], next: 'accept' },
      { step: 'pipeline', name: 'ingress' },
      { step: 'table_lookup', table: 't', key: [], hit: false, entry: 0 },
      { step: 'dropped', reason: 'x' },
      { step: 'pipeline', name: 'egress' },
      { step: 'pipeline', name: 'ingress' },
      { step: 'logged', text: 'again' },
    ];
    expect(phased(steps).map(({ phase, step }) => [phase, step.step])).toEqual([
      ['Arrival', 'begin'],
      ['Parser', 'parser_state'],
      ['Ingress', 'table_lookup'],
      [null, 'dropped'],
      ['Ingress', 'logged'],
    ]);
  });

  it('has a line for every kind of step', () => {
    const kinds: TraceStep[] = [
      { step: 'begin', kind: 'egress_clone', port: 'p2', rid: 3, bytes: 60 },
      { step: 'parser_failed', state: 'ipv4', error: 'PacketTooShort' },
      { step: 'metered', meter: 'm', index: 2, colour: 2 },
      { step: 'register', name: 'r', index: 0, write: true, value: '0x5' },
      { step: 'copied', kind: 'multicast', id: 4, copies: 2 },
      { step: 'condition', name: 'node_3', source: '', taken: true },
    ];
    expect(kinds.map((one) => Object.values(stepText(one)).join(' | '))).toEqual([
      'Egress clone for p2 | copy 3',
      'ipv4 | error PacketTooShort',
      'm | meter 2: red',
      'r | [0] becomes 0x5',
      'Multicast | 4, 2 copies',
      'node_3 | yes',
    ]);
  });
});
