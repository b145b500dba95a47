import { type FormField, formFields } from './field-model.js';

interface Schema {
  toJSONSchema(options: { io: 'input' }): unknown;
}

/** Fields of a contract schema with the order and labels of a form; limits and defaults come from the contract. */
export function wordedFields(schema: Schema, words: Readonly<Record<string, Partial<FormField>>>): FormField[] {
  const fields = formFields(schema.toJSONSchema({ io: 'input' }) as Record<string, unknown>);
  const byKey = new Map(fields.map((field) => [field.key, field]));
  return Object.entries(words).map(([key, own]) => ({ ...byKey.get(key)!, ...own }) as FormField);
}
