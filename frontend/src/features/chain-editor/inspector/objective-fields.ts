import { ClassSlo, Slo } from '@orrery/contract';
import type { FormField } from '../../../shared/form/field-model.js';
import { wordedFields } from '../../../shared/form/worded-fields.js';

function optionOf<O extends { shape: { kind: { value: string } } }>(options: readonly O[], kind: string): O {
  return options.find(({ shape }) => shape.kind.value === kind)!;
}

/** Fields of an objective of each kind. */
export const SLO_FIELDS: Readonly<Record<Slo['kind'], readonly FormField[]>> = {
  latency: wordedFields(optionOf(Slo.options, 'latency'), {
    percentile: { title: 'Percentile' },
    max_us: { title: 'At most', unit: 'us' },
  }),
  throughput: wordedFields(optionOf(Slo.options, 'throughput'), { min_bps: { title: 'At least' } }),
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
});

/** Fields of an objective between two classes of each kind. */
export const CLASS_SLO_FIELDS: Readonly<Record<ClassSlo['kind'], readonly FormField[]>> = {
  priority: wordedFields(optionOf(ClassSlo.options, 'priority'), {
    kind: { ...KIND, options: [...KIND.options] },
    above: classField('Served first'),
    below: classField('Before'),
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
