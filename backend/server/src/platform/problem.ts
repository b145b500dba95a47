import { type FieldError, fieldErrors, type Problem } from '@orrery/contract';
import type { z } from 'zod';

const TITLES: Record<number, string> = {
  400: 'Malformed request',
  401: 'No valid session',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timed out',
  409: 'Conflict',
  412: 'Changed since it was read',
  413: 'Body too large',
  414: 'Address too long',
  415: 'Unsupported media type',
  422: 'Invalid content',
  428: 'Precondition required',
  429: 'Too many attempts',
  431: 'Headers too large',
  500: 'Internal error',
  502: 'Upstream failed',
  503: 'Temporarily unavailable',
};

export const PROBLEM_TYPE = 'application/problem+json';

/** An error that is answered with problem details (RFC 9457). */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly errors: readonly FieldError[] = [],
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

export function titleOf(status: number): string {
  return TITLES[status] ?? 'Error';
}

/** A 422 without field errors concerns the body as a whole. */
export function problemBody(error: ProblemError, instance: string | undefined, requestId: string): Problem {
  const whole = error.status === 422 ? [{ pointer: '', detail: error.message }] : [];
  const errors = error.errors.length > 0 ? [...error.errors] : whole;
  return {
    type: 'about:blank',
    title: titleOf(error.status),
    status: error.status,
    detail: error.message,
    ...(instance === undefined ? {} : { instance }),
    request_id: requestId,
    ...(errors.length > 0 ? { errors } : {}),
  };
}

/** Whether a request was refused; of any other error it is not known what became of it. */
export function isRefusal(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.status < 500;
}

/**
 * What becomes of a change that was refused if it is asked for again. `passing`: something else was in the way, such as a full
 * queue, another plan that came first, an agent that is away. `late`: there was no time to plan, which there may be then. `final`: it
 * would be refused again, as where no plan has room.
 */
export function prospectOf({ status, errors }: ProblemError): 'passing' | 'late' | 'final' {
  if (status === 409 || status === 412) return 'passing';
  return errors.some(({ code }) => code === 'out-of-time') ? 'late' : 'final';
}

export const notFound = (what: string, id: string) => new ProblemError(404, `There is no ${what} "${id}".`);
export const conflict = (detail: string, errors: readonly FieldError[] = []) => new ProblemError(409, detail, errors);
/** It is at another revision than If-Match names. */
export const changedSince = (what: string, revision: number | string) =>
  new ProblemError(412, `The ${what} has changed since it was read (it is at revision ${revision}).`);
export const unavailable = (detail: string) => new ProblemError(503, detail, [], { 'retry-after': '1' });

export function invalid(errors: readonly FieldError[], detail?: string): ProblemError {
  const first = errors[0];
  const summary = first ? `${first.pointer || 'The body'}: ${first.detail}` : 'The content is not valid.';
  return new ProblemError(422, detail ?? summary, errors.slice(0, 100));
}

/** `status` 400: the header is malformed; 422: it contradicts the rest of the request. */
export function badHeader(status: 400 | 422, header: string, detail: string, code: string): ProblemError {
  return new ProblemError(status, `${header} ${detail}.`, [{ pointer: '', header, detail, code }]);
}

/** Parses, or throws 422 for a body and 400 for parameters. */
export function parseOrRefuse<S extends z.ZodType>(schema: S, value: unknown, status: 400 | 422 = 422): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = fieldErrors(result.error);
  const refusal = invalid(errors);
  return raise(status === 422 ? refusal : new ProblemError(status, refusal.message, errors));
}

function raise(error: Error): never {
  throw error;
}
