import { z } from 'zod';
import { Id } from '../common.js';
import { LendingWhy } from '../lending.js';
import { event } from './declare.js';

/** Earlier servers lent an accelerator to whoever they found using it; their logs stay readable. */
const Why = z.enum([...LendingWhy.options, 'found']);
const ofGroup = z.object({ group_id: Id });
const turn = z.object({
  group_id: Id,
  accelerator: z.string(),
  instance: Id,
  why: Why,
  switch_ms: z.number().min(0).nullable().describe('null: not known'),
});

export const LENDING_EVENTS = {
  'lending.granted': event({ title: 'Accelerator granted', about: 'lending-group', data: turn }),
  'lending.released': event({
    title: 'Accelerator released',
    about: 'lending-group',
    severity: ({ why }) => (why === 'failed' || why === 'away' ? 'warning' : 'info'),
    data: turn,
  }),
  'lending.added': event({ title: 'Lending group added', about: 'lending-group', data: ofGroup }),
  'lending.changed': event({ title: 'Lending group changed', about: 'lending-group', data: ofGroup }),
  'lending.removed': event({ title: 'Lending group removed', about: 'lending-group', data: ofGroup }),
};
