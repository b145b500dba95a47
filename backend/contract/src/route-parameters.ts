import { z } from 'zod';
import { Id } from './common.js';

export const PAGE_LIMIT = 1000;

/** Parameters that routes share. */
export const byId = z.strictObject({ id: Id });
const pageFields = {
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT).default(100),
  nextpage_opaque_marker: z.string().max(300).optional().describe('from `Link: rel=next` of the previous page'),
};
/** Filters and selectors of lists (ETSI SOL013 5.2 and 5.3); read by the server. */
const selection = {
  filter: z
    .string()
    .max(1000)
    .optional()
    .describe(
      'terms `(operator,attribute,value)` joined by `;`, all of which an item must match: `(in,state,FAILED,FAILED_TEMP);(gte,started_ms,0)`. ' +
        'Operators: eq, neq, in, nin, gt, gte, lt, lte, cont, ncont. Attributes of parts: `steps/state`. Values with `,`, `(` or `)` in single quotes',
    ),
  fields: z.string().max(1000).optional().describe('only these attributes of each item: `id,state,steps/state`'),
};
export const page = z.strictObject({ ...pageFields, ...selection });
export const pageWith = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject({ ...pageFields, ...selection, ...shape });
/** For a list that is read from a log and has parameters of its own. */
export const logPageWith = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ ...pageFields, ...shape });
