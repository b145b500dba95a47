import { Operation } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadSelection, matches, parseFields, parseFilter, requireAttribute, select } from './attribute-filter.js';

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const item = {
  id: 'op-1',
  state: 'FAILED',
  started_ms: 50,
  error: null,
  steps: [{ state: 'done' }, { state: 'failed' }],
};

describe('a filter', () => {
  it('reads back whatever values are quoted', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), (values) => {
        const [term, ...more] = parseFilter(`(in,a/b,${values.map(quoted).join(',')})`);
        expect(more).toEqual([]);
        expect(term).toEqual({ operator: 'in', attribute: ['a', 'b'], values });
      }),
    );
  });

  it('finds an item by whatever text is quoted, also beside other terms', () => {
    const part = fc.constantFrom('(', ')', ');', ");(eq,a,'", ',', ';', "'", 'eq', 'a');
    const text = fc.array(fc.oneof(part, fc.string()), { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.boolean(), (title, last) => {
        const terms = [`(eq,title,${quoted(title)})`, '(gt,n,1)'];
        const parsed = parseFilter((last ? terms.reverse() : terms).join(';'));
        expect(parsed).toHaveLength(2);
        expect([matches({ title, n: 2 }, parsed), matches({ title: `${title}.`, n: 2 }, parsed)]).toEqual([
          true,
          false,
        ]);
      }),
    );
  });

  it('is parsed or refused in words, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('(', ')', ',', ';', "'", 'eq', 'a', '/') }), (text) => {
        try {
          parseFilter(text);
        } catch (error) {
          expect(error).toBeInstanceOf(BadSelection);
        }
      }),
    );
  });

  it.each([
    ['(eq,state,FAILED)', true],
    ['(neq,state,FAILED)', false],
    ['(in,state,COMPLETED,FAILED)', true],
    ['(nin,state,COMPLETED,FAILED)', false],
    ['(cont,state,AIL)', true],
    ['(ncont,state,AIL)', false],
    ['(gt,started_ms,50)', false],
    ['(gte,started_ms,50)', true],
    ['(lt,started_ms,6)', false],
    ['(lte,started_ms,50)', true],
    ['(eq,steps/state,failed)', true],
    ['(eq,steps/state,pending)', false],
    ['(eq,error,null)', true],
    ['(eq,state,FAILED);(gt,started_ms,100)', false],
  ])('%s: %s', (text, expected) => {
    expect(matches(item, parseFilter(text))).toBe(expected);
  });

  it.each([
    '',
    '()',
    '(is,state,a)',
    '(eq,state)',
    '(gt,state,a,b)',
    '(eq,state,a',
    `${'(eq,a,b);'.repeat(9)}(eq,a,b)`,
  ])('refuses %s', (text) => expect(() => parseFilter(text)).toThrow(BadSelection));
});

it('names an attribute that no item can have', () => {
  for (const path of ['id', 'steps/state', 'set_aside/waiting_for', 'request/chains/chain_id'])
    expect(() => requireAttribute(Operation, path.split('/'))).not.toThrow();
  for (const path of ['nothing', 'steps/nothing', 'constructor', 'id/more'])
    expect(() => requireAttribute(Operation, path.split('/'))).toThrow(`"${path}"`);
  expect(() => requireAttribute(Operation, ['stat'])).toThrow(/; known: .*\bstate\b/);
  expect(() => requireAttribute(Operation, ['set_aside', 'x'])).toThrow(/; known: .*\bwaiting_for\b/);
  expect(() => requireAttribute(Operation, ['id', 'more'])).toThrow(/"id\/more"$/);
});

it('selects only what is asked for, also in the entries of a list', () => {
  expect(select(item, parseFields('id,steps/state'))).toEqual({ id: 'op-1', steps: item.steps });
  expect(select(item, parseFields('error,nothing'))).toEqual({ error: null });
});
