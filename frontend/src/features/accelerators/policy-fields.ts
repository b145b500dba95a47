import { ReconfigurationPolicyRequest } from '@orrery/contract';
import type { FormField } from '../../shared/form/field-model.js';
import type { Values } from '../../shared/form/field-values.js';
import { wordedFields } from '../../shared/form/worded-fields.js';

/** Labels of the fields; limits and defaults come from the contract. */
const TEXTS: Readonly<Record<string, Pick<FormField, 'title' | 'description'>>> = {
  title: { title: 'Name', description: '' },
  nf: { title: 'NF that moves to a board when its load grows', description: '' },
  threshold: { title: 'Thresholds', description: '' },
  displaces: { title: 'May displace', description: 'NFs that may be moved to software to make room.' },
  slot: { title: 'Slot', description: '' },
  load: { title: 'Load of the bitstream', description: '' },
  policy: { title: 'Frames during the load', description: '' },
  priority: { title: 'Priority', description: 'Chains with a higher priority must keep their SLOs.' },
  cooldown_s: { title: 'Pause between two moves (s)', description: '' },
  enabled: { title: 'Enabled', description: '' },
};

const FIELDS: readonly FormField[] = wordedFields(ReconfigurationPolicyRequest, TEXTS);
/** A full load takes the whole board off the network, so the frame policy does not apply. */
const FIELDS_OF_FULL_LOAD = FIELDS.filter(({ key }) => key !== 'policy');

export const policyFields = (values: Values) => (values.load === 'full' ? FIELDS_OF_FULL_LOAD : FIELDS);

export const NEW_POLICY: Values = {
  threshold: { metric: 'bps', for_s: 3 },
  displaces: [],
  slot: null,
  load: 'partial',
  policy: 'hold',
  priority: 50,
  cooldown_s: 10,
  enabled: true,
};
