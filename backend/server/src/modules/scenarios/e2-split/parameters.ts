import { z } from 'zod';
import { meanLifetime, newFlows, receiver, seedOf, sender } from '../fields.js';

export const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  flows: z
    .enum(['keep', 'migrate', 'never'])
    .default('keep')
    .meta({
      title: 'Flows in progress',
      titles: {
        keep: 'Stay (migration avoidance)',
        migrate: 'Move with their state (strawman)',
        never: 'Stay by entries of the switch (strawman)',
      },
    }),
  first_nf: z.boolean().default(false).meta({
    title: 'Split the first NF',
    description:
      'where flows stay by migration avoidance: the switches take over its split once few flows stay elsewhere than the ranges say; P4 switches can',
  }),
  flows_per_s: newFlows(400, 'on average (published: 2,000)'),
  lifetime_s: meanLifetime(5, 60),
  rate_mbps: z
    .number()
    .min(0.1)
    .max(1000)
    .default(12)
    .meta({ title: 'Rate of all flows', unit: 'Mbit/s', description: 'together (published: 1,000)' }),
  switch_entries: z.int().min(16).max(4000).default(410).meta({
    title: 'Entries of the switch',
    unit: 'entries',
    description:
      'for flows in progress, where they stay by entries (published: 2,048 for 10,000 flows, here for 2,000)',
  }),
  // Samples are kept for ten minutes, of which the change may take CHANGE_S.
  seconds: z
    .number()
    .min(10)
    .max(480)
    .default(60)
    .meta({ title: 'Observation', unit: 's', description: 'of the load after the split' }),
  seed: seedOf('flows'),
});
export type Parameters = z.output<typeof Parameters>;

export const isFirst = ({ flows, first_nf }: Parameters) => flows === 'never' || first_nf;
/** Engines have its split until the switches take it over. */
export const isStaged = ({ flows, first_nf }: Parameters) => flows === 'keep' && first_nf;
