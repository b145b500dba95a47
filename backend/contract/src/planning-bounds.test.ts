import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ChainDefinition } from './chain.js';
import { Infrastructure } from './infrastructure.js';
import { NfDescriptor } from './nf-descriptor.js';
import { PlanRequest } from './plan.js';

type Schema = { readonly [key: string]: unknown };

/** Identities and counts of revisions, with which nothing is reckoned. */
const NOT_A_FIGURE = /\/(seed|version)$/;

/** Places of the numbers below a schema that have no bound, or only that of the integers that JSON can hold. */
function unbounded(schema: Schema, at = ''): string[] {
  const below = Object.entries(schema).flatMap(([key, value]) => {
    const inner = key === 'properties' ? at : `${at}/${key}`;
    return value !== null && typeof value === 'object' ? unbounded(value as Schema, inner) : [];
  });
  if (schema.type !== 'number' && schema.type !== 'integer') return below;
  const bounds = [schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum];
  const bounded = bounds.every((bound) => typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER);
  return bounded || NOT_A_FIGURE.test(at) ? below : [...below, at];
}

describe('what plans are made from', () => {
  it.each(Object.entries({ Infrastructure, ChainDefinition, NfDescriptor, PlanRequest }))(
    '%s bounds each of its numbers on both sides',
    (_name, schema) => {
      expect(unbounded(z.toJSONSchema(schema, { io: 'input' }) as Schema)).toEqual([]);
    },
  );

  it('sees a number without a bound', () => {
    const open = z.object({
      a: z.array(z.object({ b: z.int().min(0) })),
      c: z.number().max(1),
      d: z.int().max(9).min(0),
    });
    expect(unbounded(z.toJSONSchema(open) as Schema)).toEqual(['/a/items/b', '/c']);
  });
});
