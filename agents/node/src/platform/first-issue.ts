import type { z } from 'zod';

/** The first validation error, with a JSON Pointer to the field. */
export function firstIssue(error: z.ZodError): string {
  const { path, message } = error.issues[0]!;
  return `/${path.join('/')}: ${message}`;
}
