import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { fieldErrors } from './field-errors.js';
import { jsonSchemaBundle, namedSchemas } from './generate/json-schema.js';

const schemas = namedSchemas();
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(jsonSchemaBundle(), 'contract');
const jsonSchemaOf = (type: string) => ajv.getSchema(`contract#/$defs/${type}`)!;

function examples(kind: 'valid' | 'invalid') {
  const folder = new URL(`../examples/${kind}/`, import.meta.url);
  return readdirSync(folder).map((file) => ({
    file,
    type: file.split('.')[0]!,
    content: JSON.parse(readFileSync(new URL(file, folder), 'utf8')),
  }));
}

describe('valid examples', () => {
  it.each(examples('valid'))('$file', ({ type, content }) => {
    expect(schemas.get(type)!.safeParse(content).error?.issues ?? []).toEqual([]);
    const validate = jsonSchemaOf(type);
    expect(validate(content), JSON.stringify(validate.errors)).toBe(true);
  });
});

describe('invalid examples', () => {
  it.each(examples('invalid'))('$file', ({ type, content: { value, pointer } }) => {
    const { error } = schemas.get(type)!.safeParse(value);
    expect(fieldErrors(error!).map((each) => each.pointer)).toContain(pointer);
    expect(jsonSchemaOf(type)(value)).toBe(false);
  });

  it('are wrong in exactly one place', () => {
    for (const { file, type, content } of examples('invalid')) {
      const { error } = schemas.get(type)!.safeParse(content.value);
      expect(new Set(fieldErrors(error!).map((each) => each.pointer)).size, file).toBe(1);
    }
  });
});
