import { LegacyProgram, type NfDescriptor } from '@orrery/contract';
import { descriptor } from './descriptors.js';

/** A legacy NF with this forwarding, whose program preserves what the forwarding allows. */
export function legacyNf(id: string, forwarding: LegacyProgram['forwarding']): NfDescriptor {
  const preserves = forwarding === 'route' ? [] : ['metadata', 'ingress-time'];
  const program = LegacyProgram.parse({ forwarding, setup: [['true']], preserves });
  const plain = descriptor(id, { state: { kind: 'none', key: [] }, affinity: [] });
  const [engine] = plain.implementations;
  return { ...plain, implementations: [{ ...engine!, driver: 'process', program }] };
}
