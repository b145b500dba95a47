import { z } from 'zod';

/** Most lines that are told at once, and characters of one. */
export const LOG_LINES_MOST = 1000;
export const LOG_LINE_CHARS = 2000;

/** Seconds and nanoseconds of the epoch, as Docker takes them. */
const LogPosition = z.string().regex(/^\d{1,12}\.\d{9}$/, 'must be the `next` of an answer');

export const LogRequest = z.strictObject({
  lines: z.coerce.number().int().min(1).max(LOG_LINES_MOST).default(200).describe('the last ones, at most'),
  after: LogPosition.optional().describe('only what was written later: the `next` of an earlier answer'),
});
export type LogRequest = z.infer<typeof LogRequest>;

/** The last lines that the program of an instance wrote. */
export const InstanceLog = z.strictObject({
  lines: z
    .array(
      z.strictObject({
        t_ms: z.number().min(0).nullable().describe('when it was written; null: not known'),
        text: z.string().max(LOG_LINE_CHARS),
      }),
    )
    .max(LOG_LINES_MOST),
  next: LogPosition.nullable().describe('null: later lines cannot be asked for by themselves'),
  missed: z.boolean().describe('older lines than these were written, too'),
});
export type InstanceLog = z.infer<typeof InstanceLog>;
