import type { Origin } from '@orrery/contract';
import { EmulatedMark } from '../../../shared/ui/emulated-mark.js';

export const originFact = (origin: Origin) =>
  ['Origin', origin === 'twin' ? <EmulatedMark key="origin" /> : 'real equipment'] as const;
