import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  instancesPrefix,
  metricOfKey,
  parseSampleKey,
  SAMPLE_METRICS,
  type SampleKind,
  type SampleName,
  sampleKey,
  samplePrefix,
} from './sample-keys.js';

const kinds = Object.keys(SAMPLE_METRICS) as SampleKind[];
const text = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^[%/25F.a]+$/)).filter((each) => each !== '');
const slot = fc.record({ board: fc.stringMatching(/^[a-z][a-z0-9-]{0,9}$/), slot: fc.integer({ min: 0, max: 15 }) });
const name: fc.Arbitrary<SampleName> = fc
  .constantFrom(...kinds)
  .chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      subject: kind === 'slot' ? slot : text,
      metric: fc.constantFrom(...Object.keys(SAMPLE_METRICS[kind])),
    }),
  )
  .map((each) => each as SampleName);
const keyOf = ({ kind, subject, metric }: SampleName) => sampleKey(kind, subject, metric);

describe('a sample key', () => {
  it('reads as kind, subject and metric', () => {
    expect(sampleKey('instance', 'demo.ids.0', 'pps')).toBe('instance/demo.ids.0/pps');
    expect(sampleKey('slot', { board: 'board-1', slot: 2 }, 'lost_pps')).toBe('slot/board-1.2/lost_pps');
    expect(sampleKey('chain', 'a/b%', 'bps')).toBe('chain/a%2Fb%25/bps');
  });

  it('round-trips for any id', () => {
    fc.assert(
      fc.property(name, (each) => {
        expect(parseSampleKey(keyOf(each))).toEqual(each);
      }),
    );
  });

  it('differs for different subjects, and is never under the prefix of another', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const under = sampleKey('chain', a, 'pps').startsWith(samplePrefix('chain', b));
        expect(under).toBe(a === b);
      }),
    );
  });

  it('of an instance is under the prefix of its chain', () => {
    expect(sampleKey('instance', 'web.ids.0', 'pps').startsWith(instancesPrefix('web'))).toBe(true);
    expect(sampleKey('instance', 'web2.ids.0', 'pps').startsWith(instancesPrefix('web'))).toBe(false);
  });

  it('parses any other text to null, never an error; a parsed key formats to the same text', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^(chain|slot|x|toString)\/[%a25F./]*\/(pps|bps|x)$/)),
        (key) => {
          const parsed = parseSampleKey(key);
          if (parsed) expect(keyOf(parsed)).toBe(key);
        },
      ),
    );
    for (const bad of [
      '',
      '/',
      'chain',
      'chain//pps',
      'chain/a/b',
      'chain/a/pps/x',
      'chain/%zz/pps',
      'slot/b/pps',
      'slot/b.0x/pps',
    ])
      expect(parseSampleKey(bad)).toBeNull();
    expect(metricOfKey('constructor/a/pps')).toBeNull();
    expect(metricOfKey('chain/a/toString')).toBeNull();
  });
});
