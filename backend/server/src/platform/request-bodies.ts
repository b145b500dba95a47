import { type FieldError, pointerOf, ROUTES, type RouteDefinition } from '@orrery/contract';
import type { FastifyInstance } from 'fastify';
import { invalid, ProblemError } from './problem.js';
import type { ApiRequest } from './route.js';

const MAX_DEPTH = 64;
/** Characters from which on a body is parsed, looked through and handed on in pieces, with others in between. */
const LARGE = 256 * 1024;
/** Fields that are shown on one line. */
const ONE_LINE: ReadonlySet<PropertyKey> = new Set(['title', 'name', 'reason']);
/** Most texts, which need no closer look. */
const PLAIN = /^[ -~]*$/;
/** C0 without tab and line ends, DEL, C1, and what changes the direction of text. */
const CONTROL = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

/** JSON is parsed, octet streams are passed to the handlers that take them, everything else is refused with 415. */
export function readBodies(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parse = fastify.getDefaultJsonParser('ignore', 'ignore');
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined);
    parse(request, body as string, (error, value) => {
      if (error) return done(error);
      const then: (work: () => void) => unknown = body.length < LARGE ? (work) => work() : setImmediate;
      then(() => {
        const errors = unusableValues(value);
        if (errors.length > 0) done(invalid(errors));
        else then(() => done(null, value));
      });
    });
  });
  fastify.addContentTypeParser('application/octet-stream', (request: ApiRequest, payload, done) => {
    const { body_type }: Partial<RouteDefinition> = request.routeName ? ROUTES[request.routeName] : {};
    if (body_type === 'application/octet-stream') done(null, payload);
    else done(new ProblemError(415, 'The media type application/octet-stream is not supported here.'));
  });
}

/**
 * Values of parsed JSON that may differ from what was sent, or that later steps cannot process: numbers beyond ±(2^53 - 1),
 * which are rounded on parsing (RFC 8259 6), deeper nesting than any schema has, keys that name an object's prototype, and
 * control characters, with which a title could pose as another one.
 */
function unusableValues(body: unknown): FieldError[] {
  const errors: FieldError[] = [];
  const open: { value: object; path: readonly PropertyKey[] }[] = isObject(body) ? [{ value: body, path: [] }] : [];
  for (const { value, path } of open) {
    if (path.length === MAX_DEPTH)
      return [{ pointer: pointerOf(path), detail: `is nested deeper than ${MAX_DEPTH} levels`, code: 'too-deep' }];
    for (const [key, each] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      if (key === '__proto__' || (key === 'constructor' && isObject(each)))
        errors.push({ pointer: pointerOf([...path, key]), detail: 'is not a known field', code: 'unknown-field' });
      const unfitKey = typeof key === 'string' ? unfitText(key) : null;
      const unfit = unfitKey ?? (typeof each === 'string' ? unfitText(each, ONE_LINE.has(key)) : null);
      if (unfit) errors.push({ pointer: pointerOf([...path, key]), detail: unfit, code: 'control-character' });
      if (isObject(each)) open.push({ value: each, path: [...path, key] });
      if (typeof each === 'number' && Math.abs(each) > Number.MAX_SAFE_INTEGER)
        errors.push({ pointer: pointerOf([...path, key]), detail: 'is beyond ±(2^53 - 1)', code: 'inexact-number' });
    }
  }
  return errors;
}

/** Why a text cannot be shown as what it is; null: it can. */
function unfitText(text: string, oneLine = false): string | null {
  if (PLAIN.test(text)) return null;
  const [found] = CONTROL.exec(text) ?? (oneLine ? (/[\t\n\r]/.exec(text) ?? []) : []);
  if (found === undefined) return null;
  return `contains the control character U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
