import { type FieldError, pointerOf } from '@orrery/contract';
import type { FastifyInstance } from 'fastify';
import { invalid } from './problem.js';

const MAX_DEPTH = 64;

/** JSON is parsed, octet streams are passed to their handler, everything else is refused with 415. */
export function readBodies(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parse = fastify.getDefaultJsonParser('ignore', 'ignore');
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined);
    parse(request, body as string, (error, value) => {
      if (error) return done(error);
      const errors = unusableValues(value);
      if (errors.length > 0) done(invalid(errors));
      else done(null, value);
    });
  });
  fastify.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
}

/**
 * Values of parsed JSON that may differ from what was sent, or that later steps cannot process: numbers beyond ±(2^53 - 1),
 * which are rounded on parsing (RFC 8259 6), deeper nesting than any schema has, and keys that name an object's prototype.
 */
export function unusableValues(body: unknown): FieldError[] {
  const errors: FieldError[] = [];
  const open: { value: object; path: readonly PropertyKey[] }[] = isObject(body) ? [{ value: body, path: [] }] : [];
  for (const { value, path } of open) {
    if (path.length === MAX_DEPTH)
      return [{ pointer: pointerOf(path), detail: `is nested deeper than ${MAX_DEPTH} levels`, code: 'too-deep' }];
    for (const [key, each] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      if (key === '__proto__' || (key === 'constructor' && isObject(each)))
        errors.push({ pointer: pointerOf([...path, key]), detail: 'is not a known field', code: 'unknown-field' });
      if (isObject(each)) open.push({ value: each, path: [...path, key] });
      if (typeof each === 'number' && Math.abs(each) > Number.MAX_SAFE_INTEGER)
        errors.push({ pointer: pointerOf([...path, key]), detail: 'is beyond ±(2^53 - 1)', code: 'inexact-number' });
    }
  }
  return errors;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
