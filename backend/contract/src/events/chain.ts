import { z } from 'zod';
import { Name } from '../common.js';
import { event } from './declare.js';

const data = z.object({ revision: z.int(), name: Name });

export const CHAIN_EVENTS = {
  'chain.created': event({ title: 'Chain created', about: 'chain', data }),
  'chain.saved': event({ title: 'Chain saved', about: 'chain', data }),
  'chain.published': event({
    title: 'Chain published',
    about: 'chain',
    data: z.object({ version: z.int(), note: z.string() }),
  }),
  'chain.deleted': event({
    title: 'Chain deleted',
    about: 'chain',
    data: z.object({ name: Name, title: z.string().default('') }),
  }),
};
