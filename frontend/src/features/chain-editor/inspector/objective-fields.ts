import { ClassSlo, Slo } from '@orrery/contract';
import type { FormField } from '../../../shared/form/field-model.js';
import { wordedFields } from '../../../shared/form/worded-fields.js';

function optionOf<O extends { shape: { kind: { value: string } } }>(options: readonly O[], kind: string): O {
  return options.find(({ shape }) => shape.kind.value === kind)!;
}

const BUDGET = {
  goal: { title: 'Goal', description: 'Share of the judged time in which it is to be met. Empty: 0.99.' },
  period_s: { title: 'Period', description: 'Seconds over which the goal is judged. Empty: 30 days.' },
} as const satisfies Readonly<Record<string, Partial<FormField>>>;

/** Fields of an objective of each kind. */
export const SLO_FIELDS: Readonly<Record<Slo['kind'], readonly FormField[]>> = {
  latency: wordedFields(optionOf(Slo.options, 'latency'), {
    percentile: { title: 'Percentile' },
    max_us: { title: 'At most', unit: 'us' },
    ...BUDGET,
  }),
  throughput: wordedFields(optionOf(Slo.options, 'throughput'), { min_bps: { title: 'At least' }, ...BUDGET }),
  loss: wordedFields(optionOf(Slo.options, 'loss'), {
    max_share: { title: 'At most', description: 'Share of the offered packets, 0 to 0.5.' },
    ...BUDGET,
  }),
  availability: wordedFields(optionOf(Slo.options, 'availability'), {
    min_share: { title: 'At least', description: 'Share of the offered packets that gets through, 0.01 to 0.8.' },
    ...BUDGET,
  }),
};

const KIND = {
  kind: 'choice',
  title: 'Kind',
  options: [
    { value: 'priority', title: 'Priority' },
    { value: 'cpu-time', title: 'Processor time' },
    { value: 'throughput', title: 'Throughput' },
  ],
} as const satisfies Partial<FormField>;

const classField = (title: string): Partial<FormField> => ({ kind: 'reference', to: 'class', title });
const ratioFields = (description: string) => ({
  kind: { ...KIND, options: [...KIND.options] },
  a: classField('Of'),
  b: classField('Over'),
  ratio: { title: 'Ratio', description },
  ...BUDGET,
});

/** Fields of an objective between two classes of each kind. */
export const CLASS_SLO_FIELDS: Readonly<Record<ClassSlo['kind'], readonly FormField[]>> = {
  priority: wordedFields(optionOf(ClassSlo.options, 'priority'), {
    kind: { ...KIND, options: [...KIND.options] },
    above: classField('Served first'),
    below: classField('Before'),
    ...BUDGET,
  }),
  'cpu-time': wordedFields(
    optionOf(ClassSlo.options, 'cpu-time'),
    ratioFields('Ratio of CPU cycles, first class to second.'),
  ),
  throughput: wordedFields(
    optionOf(ClassSlo.options, 'throughput'),
    ratioFields('Ratio of packets, first class to second.'),
  ),
};
