import { z } from 'zod';

/** Operators of attribute filters (ETSI SOL013 5.2): a comparison with one value, or with any of several. */
export const FILTER_OPERATORS = ['eq', 'neq', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'cont', 'ncont'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

export const MAX_FILTER_TERMS = 8;
export const MAX_FILTER_VALUES = 32;
export const MAX_FIELDS = 32;

/** One `(operator,attribute,value[,value...])`; `attribute` is a path of names joined by `/`. */
export interface FilterTerm {
  readonly operator: FilterOperator;
  readonly attribute: readonly string[];
  readonly values: readonly string[];
}

/** What is wrong with a filter or a selector, in words for the user that name the attribute. */
export class BadSelection extends Error {}

/** A term and what separates it from the next one. Quoted text contains anything; a doubled quote in it reads as two quoted texts. */
const TERM = /\(([a-z]+),([^,()']+),((?:'[^']*'|[^'()])+)\)(;|$)/sy;

/** The terms of `(eq,state,FAILED);(gt,started_ms,5)`, all of which an item must match. Throws `BadSelection`. */
export function parseFilter(text: string): FilterTerm[] {
  const term = new RegExp(TERM);
  const terms: FilterTerm[] = [];
  for (let from = 0; ; from = term.lastIndex) {
    const found = term.exec(text);
    if (!found) throw new BadSelection(`has a term that is not (operator,attribute,value): ${text.slice(from)}`);
    if (terms.length === MAX_FILTER_TERMS) throw new BadSelection(`has more than ${MAX_FILTER_TERMS} terms`);
    terms.push(termOf(found));
    if (found[4] !== ';') return terms;
  }
}

/** A value with a comma, a semicolon or a parenthesis is in single quotes, in which a quote is doubled (SOL013 5.2.2). */
function termOf(found: RegExpExecArray): FilterTerm {
  const [, operator, attribute, rest] = found as unknown as [string, string, string, string];
  const known = FILTER_OPERATORS.find((each) => each === operator);
  if (!known) throw new BadSelection(`has the unknown operator "${operator}"; known: ${FILTER_OPERATORS.join(', ')}`);
  const values = [...rest.matchAll(/(?:^|,)(?:'((?:[^']|'')*)'|([^,']*))(?=,|$)/gs)];
  if (values.map(([all]) => all).join('') !== rest) throw new BadSelection(`has values that cannot be read: ${rest}`);
  const texts = values.map(([, quoted, plain]) => quoted?.replaceAll("''", "'") ?? plain ?? '');
  if (texts.length > MAX_FILTER_VALUES) throw new BadSelection(`has more than ${MAX_FILTER_VALUES} values`);
  if (texts.length > 1 && !['in', 'nin', 'cont', 'ncont'].includes(known))
    throw new BadSelection(`compares ${attribute} by ${known} with more than one value`);
  return { operator: known, attribute: attribute.split('/'), values: texts };
}

/** The paths of `fields=id,steps/state`. Throws `BadSelection`. */
export function parseFields(text: string): string[][] {
  const fields = text.split(',').map((path) => path.split('/'));
  if (fields.length > MAX_FIELDS) throw new BadSelection(`names more than ${MAX_FIELDS} attributes`);
  return fields;
}

/** Throws `BadSelection`, naming the attribute and those that there are, unless items of the schema can have it. */
export function requireAttribute(item: z.ZodType, path: readonly string[]): void {
  const known = insteadOf(item, path);
  if (known === null) return;
  const names = known.length > 0 ? `; known: ${known.toSorted().join(', ')}` : '';
  throw new BadSelection(`names the unknown attribute "${path.join('/')}"${names}`);
}

/** Null if items of the schema can have the attribute, else the names that can stand where its path leads nowhere. */
function insteadOf(schema: z.ZodType, path: readonly string[]): readonly string[] | null {
  const [name, ...rest] = path;
  if (name === undefined) return null;
  if (schema instanceof z.ZodObject) {
    const { shape } = schema;
    return Object.hasOwn(shape, name) ? insteadOf(shape[name], rest) : Object.keys(shape);
  }
  if (schema instanceof z.ZodArray) return insteadOf(schema.element as z.ZodType, path);
  if (schema instanceof z.ZodRecord) return insteadOf(schema.valueType as z.ZodType, rest);
  if (schema instanceof z.ZodUnion) {
    const options = schema.options.map((option) => insteadOf(option as z.ZodType, path));
    const known = options.filter((names) => names !== null);
    return known.length < options.length ? null : [...new Set(known.flat())];
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return insteadOf(schema.unwrap() as z.ZodType, path);
  return schema instanceof z.ZodUnknown ? null : [];
}

/** Whether the item matches every term. An attribute below a list matches if one of its entries does. */
export function matches(item: unknown, terms: readonly FilterTerm[]): boolean {
  return terms.every(({ operator, attribute, values }) => {
    const found = at(item, attribute);
    switch (operator) {
      case 'eq':
      case 'in':
        return found.some((value) => values.includes(textOf(value)));
      case 'neq':
      case 'nin':
        return found.every((value) => !values.includes(textOf(value)));
      case 'cont':
        return found.some((value) => values.some((part) => textOf(value).includes(part)));
      case 'ncont':
        return found.every((value) => values.every((part) => !textOf(value).includes(part)));
      default:
        return found.some((value) => isOrdered(operator, value, values[0]!));
    }
  });
}

/** The item with only the selected attributes. */
export function select(item: unknown, fields: readonly (readonly string[])[]): unknown {
  if (Array.isArray(item)) return item.map((each) => select(each, fields));
  if (typeof item !== 'object' || item === null || fields.some((path) => path.length === 0)) return item;
  return Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => {
      const below = fields.filter(([first]) => first === name).map(([, ...rest]) => rest);
      return below.length > 0 ? [[name, select(value, below)]] : [];
    }),
  );
}

function at(item: unknown, path: readonly string[]): unknown[] {
  if (Array.isArray(item)) return item.flatMap((each) => at(each, path));
  const [name, ...rest] = path;
  if (name === undefined) return [item];
  if (typeof item !== 'object' || item === null || !Object.hasOwn(item, name)) return [];
  return at((item as Record<string, unknown>)[name], rest);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Numbers by value, texts by code point. */
function isOrdered(operator: 'gt' | 'gte' | 'lt' | 'lte', value: unknown, bound: string): boolean {
  const [a, b] = typeof value === 'number' ? [value, Number(bound)] : [textOf(value), bound];
  switch (operator) {
    case 'gt':
      return a > b;
    case 'gte':
      return a >= b;
    case 'lt':
      return a < b;
    default:
      return a <= b;
  }
}
