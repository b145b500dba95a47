import { ServicePoolDefinition } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { formFields, lowered, titleOf } from './field-model.js';
import { fieldProblem, formProblems } from './field-problems.js';
import { initialValue, newRow, rowSummary, textValue } from './field-values.js';

const schema = {
  type: 'object',
  required: ['rules'],
  properties: {
    default_action: { type: 'string', enum: ['allow', 'deny'], default: 'allow', title: 'Otherwise' },
    rate_bps: { type: 'integer', minimum: 1000, maximum: 1e9 },
    learn: { type: 'boolean', default: true },
    rules: {
      type: 'array',
      maxItems: 3,
      items: { $ref: '#/$defs/rule' },
    },
    prefixes: { type: 'array', minItems: 1, items: { type: 'string', pattern: '^\\d+\\.', examples: ['10.0.0.0/8'] } },
    mode: { oneOf: [{ const: 'fast', title: 'Fast path' }, { const: 'slow' }] },
    dst_port: { type: ['string', 'integer'], pattern: '^\\d+(-\\d+)?$', maximum: 65535, examples: ['80', '1-9'] },
    strange: { type: ['string', 'null'] },
    nested: { type: 'object', properties: { window_s: { type: 'number', exclusiveMinimum: 0 } } },
  },
  $defs: {
    rule: {
      type: 'object',
      required: ['action', 'src'],
      properties: {
        action: { type: 'string', enum: ['allow', 'deny'] },
        src: { type: 'string', default: '0.0.0.0/0' },
        port: { type: 'integer', minimum: 1 },
      },
    },
  },
};
const fields = formFields(schema);
const field = (key: string) => fields.find((each) => each.key === key)!;

describe('formFields', () => {
  it('gives each property the form of its type, in order', () => {
    expect(fields.map(({ key, kind }) => [key, kind])).toEqual([
      ['default_action', 'choice'],
      ['rate_bps', 'number'],
      ['learn', 'boolean'],
      ['rules', 'rows'],
      ['prefixes', 'list'],
      ['mode', 'choice'],
      ['dst_port', 'text'],
      ['strange', 'raw'],
      ['nested', 'group'],
    ]);
    expect(field('rules')).toMatchObject({
      required: true,
      maxItems: 3,
      columns: [
        { key: 'action', kind: 'choice' },
        { key: 'src', kind: 'text' },
        { key: 'port', kind: 'number', min: 1 },
      ],
    });
    expect(field('mode')).toMatchObject({ options: [{ value: 'fast', title: 'Fast path' }, { value: 'slow' }] });
  });

  it('names the drivers of switches as everywhere else', () => {
    const [driver] = formFields({ properties: { driver: { enum: ['as-it-is', 'ovs', 'p4', 'bmv2'] } } });
    expect(driver?.kind === 'choice' && driver.options.map(({ title }) => title)).toEqual([
      'As it is',
      'Open vSwitch',
      'P4, built in',
      'P4, BMv2',
    ]);
  });

  it('names values as the schema does', () => {
    const [flows] = formFields({
      properties: { flows: { enum: ['keep', 'move_all'], titles: { keep: 'They stay' } } },
    });
    expect(flows?.kind === 'choice' && flows.options).toEqual([
      { value: 'keep', title: 'They stay' },
      { value: 'move_all', title: 'Move all' },
    ]);
  });

  it('labels a property with its unit', () => {
    expect(titleOf('rate_bps')).toBe('Rate (bit/s)');
    expect(titleOf('default-action')).toBe('Default action');
    expect(titleOf('packets_per_s')).toBe('Packets per second');
    expect(titleOf('rate_per_s')).toBe('Rate per second');
    expect(titleOf('duration_s')).toBe('Duration (s)');
    expect(titleOf('nf')).toBe('NF');
    expect(titleOf('nfs')).toBe('NFs');
    expect(lowered('Rate of each NF')).toBe('rate of each NF');
    expect(field('default_action').title).toBe('Otherwise');
  });

  it('tells a limit with the unit of its field', () => {
    const parts = [
      { rate_bps: { type: 'number', maximum: 1e11 } },
      { rate: { type: 'number', unit: 'bps', maximum: 1e13 } },
      { late_us: { type: 'number', maximum: 1e9 } },
      { requests: { type: 'number', unit: 'requests/s', maximum: 2000 } },
      { mean: { type: 'number', unit: 'of a core', maximum: 0.5 } },
      { ports: { type: 'integer', maximum: 65_535 } },
    ];
    const problems = parts.map((properties) => fieldProblem(formFields({ properties })[0]!, 1e15));
    expect(problems.map((problem) => problem?.replace('must be at most ', ''))).toEqual([
      '100 Gbit/s',
      '10 Tbit/s',
      '1,000,000,000 µs',
      '2000 requests/s',
      '0.5 of a core',
      '65535',
    ]);
  });

  it('sums a row up with acronyms and units as people write them', () => {
    const [nfs] = formFields({
      properties: {
        nfs: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              nf: { type: 'string' },
              config: { type: 'object' },
              count: { type: 'integer' },
              rate_bps: { type: 'integer' },
              mean: { type: 'integer', unit: 'bytes' },
            },
          },
        },
      },
    });
    if (nfs?.kind !== 'rows') throw new Error(nfs?.kind);
    expect(nfs.itemTitle).toBe('NF');
    const row = { nf: 'firewall', config: {}, count: 2, rate_bps: 100_000_000, mean: 800 };
    expect(rowSummary(nfs.columns, row)).toBe('firewall · count 2 · rate 100 Mbit/s · mean 800 bytes');
  });

  it('starts rows with what is required or has a default', () => {
    const rules = field('rules');
    expect(rules.kind === 'rows' && newRow(rules.columns)).toEqual({ action: 'allow', src: '0.0.0.0/0' });
    expect(initialValue(field('prefixes'))).toEqual(['']);
    expect(initialValue(field('rate_bps'))).toBe(1000);
  });

  it('takes a name or a number where the schema allows both', () => {
    const port = field('dst_port');
    if (port.kind !== 'text') throw new Error(port.kind);
    expect([textValue(port, '80'), textValue(port, '80-90')]).toEqual([80, '80-90']);
    expect(fieldProblem(port, 70_000)).toMatch(/65535/);
    expect(fieldProblem(port, 'http')).toMatch(/80 or 1-9/);
    expect(fieldProblem(port, 80)).toBeNull();
  });

  it('names what is wrong with a value', () => {
    expect(fieldProblem(field('rate_bps'), 10)).toBe('must be at least 1 kbit/s');
    expect(fieldProblem(field('rate_bps'), 1000.5)).toMatch(/whole/);
    expect(fieldProblem(field('rules'), [1, 2, 3, 4])).toMatch(/at most 3/);
    expect(fieldProblem(field('rules'), undefined)).toMatch(/must be given/);
    const prefixes = field('prefixes');
    expect(prefixes.kind === 'list' && fieldProblem(prefixes.item, 'x')).toMatch(/10\.0\.0\.0\/8/);
    expect(fieldProblem(field('mode'), 'medium')).toMatch(/options/);
    expect(fieldProblem(field('default_action'), 'deny')).toBeNull();
  });

  it('asks for a name in words, with the length that it may have', () => {
    const name = formFields(ServicePoolDefinition.toJSONSchema({ io: 'input' })).find(({ key }) => key === 'name')!;
    const words = 'must begin with a letter and have only lower-case letters, digits and hyphens, at most 40';
    expect(['-1', 'Web', 'a'.repeat(10_000)].map((typed) => fieldProblem(name, typed))).toEqual([words, words, words]);
    expect(fieldProblem(name, 'a'.repeat(40))).toBeNull();
  });

  it('takes null for a value that the schema lets be null', () => {
    const [slot] = formFields({ properties: { slot: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] } } });
    expect(slot).toMatchObject({ kind: 'number', nullable: true, min: 0 });
    expect(fieldProblem(slot!, null)).toBeNull();
  });

  it('finds what is wrong anywhere in a form, by JSON pointer', () => {
    const values = {
      rules: [
        { action: 'allow', src: 'x' },
        { action: 'maybe', src: 'y', port: 0 },
      ],
      prefixes: ['x'],
    };
    expect([...formProblems(fields, values).keys()]).toEqual(['/rules/1/action', '/rules/1/port', '/prefixes/0']);
    expect([...formProblems(fields, {}).keys()]).toEqual(['/rules']);
  });
});
