import { describe, expect, it } from 'vitest';
import { ALL_FLOWS, draftFieldAt, readFlowDraft } from './flow-draft.js';

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

  it.each(['10.0.1.3/40', '10.0.1.300', '2001:db8::/129', '1.2.3', '::1::'])('are not those of %s', (src) => {
    expect(Object.keys(readFlowDraft({ ...ALL_FLOWS, src }).errors)).toEqual(['src']);
  });

  it('may be typed in capitals', () => {
    expect(readFlowDraft({ ...ALL_FLOWS, src: '2001:DB8::1' }).flows.match).toMatchObject([
      { prefix: '2001:db8::1/128' },
    ]);
  });

  it('are refused at the field also by the server', () => {
    const { flows } = readFlowDraft({ ...ALL_FLOWS, dst: '10.0.2.0/24', dstPorts: '80' });
    const at = (pointer: string) => draftFieldAt(pointer, flows);
    expect(['/flows/match/0/prefix', '/flows/match/1', '/flows/hash/hi'].map(at)).toEqual(['dst', 'dstPorts', 'hash']);
    expect(['/to', '/flows', '/flows/match/2/lo', '/flows/match'].map(at)).toEqual([null, null, null, null]);
  });

  it('are refused at the field', () => {
    const draft = { ...ALL_FLOWS, src: 'web', srcPorts: '90-80', dstPorts: '70000' };
    expect(Object.keys(readFlowDraft(draft).errors)).toEqual(['src', 'srcPorts', 'dstPorts']);
  });
});
