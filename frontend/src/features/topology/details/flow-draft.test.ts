import { describe, expect, it } from 'vitest';
import { ALL_FLOWS, readFlowDraft } from './flow-draft.js';

describe('the flows that are to move', () => {
  it('are all where nothing is typed', () => {
    expect(readFlowDraft(ALL_FLOWS)).toEqual({ flows: { match: [] }, errors: {} });
  });

  it('are those of an address, a prefix, a protocol, a port or a range of ports', () => {
    const draft = {
      src: ' 10.0.1.7 ',
      dst: '2001:db8::/32',
      proto: '6',
      srcPorts: '8000 - 8099',
      dstPorts: '80',
      hash: '',
    };
    expect(readFlowDraft(draft)).toEqual({
      flows: {
        match: [
          { field: 'ip.src', prefix: '10.0.1.7/32', not: false },
          { field: 'ip.dst', prefix: '2001:db8::/32', not: false },
          { field: 'ip.proto', value: 6, not: false },
          { field: 'port.src', lo: 8000, hi: 8099, not: false },
          { field: 'port.dst', lo: 80, hi: 80, not: false },
        ],
      },
      errors: {},
    });
  });

  it('are those of a range of the hash that the split of the NF has', () => {
    const key = ['ip.src', 'port.src'] as const;
    const hashed = (hash: string) => readFlowDraft({ ...ALL_FLOWS, hash }, [...key]);
    expect(hashed('0-16384').flows).toEqual({ match: [], hash: { key: [...key], lo: 0, hi: 16_384 } });
    expect(hashed('[49152, 65536)').flows.hash).toMatchObject({ lo: 49_152, hi: 65_536 });
    for (const wrong of ['5-5', '9-3', '0-65537', '7', 'all']) expect(hashed(wrong).errors.hash).toMatch(/0-65536/);
    expect(readFlowDraft({ ...ALL_FLOWS, hash: '0-9' }).flows).toEqual({ match: [] });
  });

  it('are refused at the field', () => {
    const draft = { ...ALL_FLOWS, src: 'web', srcPorts: '90-80', dstPorts: '70000' };
    expect(Object.keys(readFlowDraft(draft).errors)).toEqual(['src', 'srcPorts', 'dstPorts']);
  });
});
