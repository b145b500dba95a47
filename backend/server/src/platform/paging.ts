import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { BadSelection, matches, parseFields, parseFilter, requireAttribute, select } from './attribute-filter.js';
import { ProblemError } from './problem.js';

export interface PageQuery {
  readonly limit: number;
  readonly nextpage_opaque_marker?: string;
  readonly filter?: string;
  readonly fields?: string;
}

/**
 * One page of the items that match the filter, each with the selected attributes only. Items have a stable order and
 * distinct ids. The marker is the last id that was sent; if that item is gone, the page begins at its former position.
 */
export function pageOf<T>(all: readonly T[], query: PageQuery, idOf: (item: T) => string, reply: FastifyReply) {
  const terms = query.filter === undefined ? [] : parseFilter(query.filter);
  const items = terms.length === 0 ? all : all.filter((item) => matches(item, terms));
  const start = query.nextpage_opaque_marker ? afterMarker(items, readMarker(query.nextpage_opaque_marker), idOf) : 0;
  const page = items.slice(start, start + query.limit);
  const last = page.at(-1);
  if (last !== undefined && start + page.length < items.length)
    linkNext(reply, makeMarker(`${start + page.length}/${idOf(last)}`));
  const fields = query.fields === undefined ? null : parseFields(query.fields);
  return { items: fields ? page.map((item) => select(item, fields) as T) : page, total: items.length };
}

/** Throws 400 that names the parameter and the attribute, unless items of the list can have what filter and fields name. */
export function requireSelection(response: z.ZodType | undefined, query: Partial<PageQuery> | undefined): void {
  const list = response instanceof z.ZodObject ? response.shape.items : undefined;
  if (!(list instanceof z.ZodArray)) return;
  const item = list.element as z.ZodType;
  const checks = {
    filter: (text: string) => parseFilter(text).map(({ attribute }) => attribute),
    fields: parseFields,
  };
  for (const name of ['filter', 'fields'] as const) {
    const text = query?.[name];
    if (text === undefined) continue;
    try {
      for (const path of checks[name](text)) requireAttribute(item, path);
    } catch (error) {
      if (!(error instanceof BadSelection)) throw error;
      const detail = error.message;
      throw new ProblemError(400, `${name} ${detail}.`, [{ pointer: `/${name}`, detail, code: 'bad-selection' }]);
    }
  }
}

export function makeMarker(text: string): string {
  return Buffer.from(text).toString('base64url');
}

export function readMarker(marker: string): string {
  const text = Buffer.from(marker, 'base64url').toString();
  if (makeMarker(text) !== marker) throw badMarker();
  return text;
}

export function badMarker(): ProblemError {
  const detail = 'is not a marker of this collection';
  return new ProblemError(400, `nextpage_opaque_marker ${detail}.`, [{ pointer: '/nextpage_opaque_marker', detail }]);
}

/** Adds `Link: <...>; rel="next"`: the same URL with the marker. */
export function linkNext(reply: FastifyReply, marker: string): void {
  const url = new URL(reply.request.url, 'http://server');
  url.searchParams.set('nextpage_opaque_marker', marker);
  reply.header('link', `<${url.pathname}${url.search}>; rel="next"`);
}

function afterMarker<T>(items: readonly T[], marker: string, idOf: (item: T) => string): number {
  const slash = marker.indexOf('/');
  const position = Number(marker.slice(0, slash));
  if (slash < 1 || !Number.isInteger(position) || position < 0) throw badMarker();
  const found = items.findIndex((item) => idOf(item) === marker.slice(slash + 1));
  return found >= 0 ? found + 1 : position;
}
