import { TrafficClass } from '@orrery/contract';
import { wordedFields } from '../../../shared/form/worded-fields.js';

export const SOURCE_FIELDS = wordedFields(TrafficClass, {
  from: {
    kind: 'references',
    to: 'host',
    title: 'From hosts',
    description: 'Traffic enters at the switch ports of these hosts.',
  },
});

export const GUARD_FIELDS = wordedFields(TrafficClass, {
  fail_closed: { title: 'Fail closed', description: 'Drops its packets unless they are steered into the chain.' },
});

export const RATE_FIELDS = wordedFields(TrafficClass, {
  rate_bps: { title: 'Expected rate', description: '0: no estimate, one instance of each NF.', required: true },
  packet_bytes: { title: 'Mean packet', description: '', unit: 'bytes', required: true },
});
