import { z } from 'zod';
import * as contract from '../index.js';

/** Schema name of an event type, e.g. `OperationCompletedEvent`. */
export function eventSchemaName(type: contract.EventType): string {
  const words = type.split(/[.-]/).map((word) => word[0]!.toUpperCase() + word.slice(1));
  return `${words.join('')}Event`;
}

/** Schemas with a name in the generated files: every exported zod type of the contract, and each event type. */
export function namedSchemas(): Map<string, z.ZodType> {
  const named = new Map<string, z.ZodType>();
  for (const [name, value] of Object.entries(contract)) if (value instanceof z.ZodType) named.set(name, value);
  for (const [type, schema] of contract.EVENT_SCHEMAS) named.set(eventSchemaName(type), schema);
  return new Map([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Writes the schema of any zod type with references to the named ones under `base`, e.g. `#/$defs/`. */
export class SchemaWriter {
  private readonly registry = z.registry<{ id: string }>();
  private readonly names = new Map<z.ZodType, string>();

  constructor(private readonly base: string) {
    for (const [name, schema] of namedSchemas()) {
      this.registry.add(schema, { id: name });
      this.names.set(schema, name);
    }
  }

  named(): Record<string, unknown> {
    const { schemas } = z.toJSONSchema(this.registry, this.options());
    return Object.fromEntries(
      Object.entries(schemas)
        .filter(([name]) => name !== '__shared')
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, schema]) => [name, { title: name, ...withoutKeys(schema) }]),
    );
  }

  /** A reference if the type is named, otherwise its schema inline. */
  inline(schema: z.ZodType): Record<string, unknown> {
    const name = this.names.get(schema);
    if (name !== undefined) return { $ref: `${this.base}${name}` };
    const registry = z.registry<{ id: string }>();
    for (const [type, id] of this.names) registry.add(type, { id });
    registry.add(schema, { id: '__inline' });
    const { schemas } = z.toJSONSchema(registry, this.options());
    return withoutKeys(schemas.__inline as object);
  }

  private options() {
    return { target: 'draft-2020-12', io: 'input', uri: (id: string) => `${this.base}${id}` } as const;
  }
}

function withoutKeys(schema: object): Record<string, unknown> {
  const { $schema: _dialect, $id: _id, id: _name, ...rest } = schema as Record<string, unknown>;
  return rest;
}

/** JSON Schema 2020-12 of every named type, for languages other than TypeScript. */
export function jsonSchemaBundle(): Record<string, unknown> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:orrery:contract',
    title: 'Orrery contract',
    $defs: new SchemaWriter('#/$defs/').named(),
  };
}
