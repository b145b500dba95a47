import { expect, it } from 'vitest';
import { nfSize } from './nf-size.js';

const of = (name: string, kind = 'Firewall', place: string | null = null) => nfSize({ name, kind, place });

it('has a line for each text and the rate where all are short', () => {
  expect(of('fw')).toEqual({ width: 152, height: 3 * 17 + 7 });
  expect(of('fw', 'Firewall', 'server-1, core 0')).toEqual({ width: 168, height: 4 * 17 + 7 });
});

it('grows by a line for each that a name or a kind needs', () => {
  expect(of('Intrusion detection of the web shop').height).toBe(of('Intrusion').height + 2 * 17);
  expect(of('fw', 'Web application firewall').height).toBe(of('fw').height + 17);
  expect(of('fw', 'Firewall', '2 on server-1, server-2, server-3').height).toBe(of('fw', 'Firewall', 'x').height + 17);
});

it('is as wide as a long word, and breaks one that is too long for any box', () => {
  expect(of('Authentification').width).toBeGreaterThan(of('fw').width);
  expect(of('x'.repeat(64))).toEqual({ width: 219, height: of('fw').height + 2 * 17 });
});
