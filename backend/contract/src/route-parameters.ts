import { z } from 'zod';
import { Id } from './common.js';

export const PAGE_LIMIT = 1000;

/** Parameters that routes share. */
export const byId = z.strictObject({ id: Id });
const pageFields = {
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT).default(100),
  nextpage_opaque_marker: z.string().max(300).optional().describe('from `Link: rel=next` of the previous page'),
};
export const page = z.strictObject(pageFields);
export const pageWith = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ ...pageFields, ...shape });
