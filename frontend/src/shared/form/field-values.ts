import { unitText } from '@orrery/contract';
import { same } from '../../editor-model/diff.js';
import { rateText } from '../../editor-model/rate.js';
import { type FormField, isRate, lowered, type NumberField, type TextField } from './field-model.js';

export type Values = Readonly<Record<string, unknown>>;

export const asValues = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};

/** What a text field stores for what was typed. */
export function textValue(field: TextField, typed: string): string | number {
  return field.numbers && /^-?\d{1,15}$/.test(typed.trim()) ? Number(typed) : typed;
}

/** Initial value of a field: its default, otherwise the minimum that its kind allows. */
export function initialValue(field: FormField): unknown {
  if (field.default !== undefined) return structuredClone(field.default);
  switch (field.kind) {
    case 'text':
    case 'reference':
      return '';
    case 'number':
      return field.min ?? field.above ?? 0;
    case 'boolean':
      return false;
    case 'choice':
      return field.options[0]?.value ?? '';
    case 'rows':
      return Array.from({ length: field.minItems }, () => newRow(field.columns));
    case 'list':
      return Array.from({ length: field.minItems }, () => initialValue(field.item));
    case 'group':
      return newRow(field.fields);
    case 'references':
      return [];
    case 'raw':
      return null;
  }
}

/** An object with every required field and every field that has a default. */
export function newRow(fields: readonly FormField[]): Record<string, unknown> {
  return Object.fromEntries(
    fields
      .filter((field) => field.required || field.default !== undefined)
      .map((field) => [field.key, initialValue(field)]),
  );
}

/** The configuration without values equal to the descriptor's defaults. */
export function withoutDefaults(
  values: Record<string, unknown>,
  defaults: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => !same(value, defaults[key])));
}

/** Summary of a row for a collapsed list: the values of its fields in order. */
export function rowSummary(fields: readonly FormField[], row: Record<string, unknown>): string {
  return fields
    .flatMap((field) => {
      const value = row[field.key];
      if (value === undefined || value === '' || typeof value === 'object' || value === false) return [];
      if (value === true) return [lowered(field.title)];
      return [field.kind === 'number' ? numberText(field, value as number) : String(value)];
    })
    .join(' · ');
}

function numberText(field: NumberField, value: number): string {
  if (isRate(field)) return `${lowered(field.title.replace(' (bit/s)', ''))} ${rateText(value)}`;
  return `${lowered(field.title)} ${value}${field.unit && ` ${unitText(field.unit)}`}`;
}
