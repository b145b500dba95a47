import type { FieldError } from '@orrery/contract';

type Schema = Readonly<Record<string, unknown>>;
type Found = [pointer: string, detail: string];

/** Of schemas in schemas; no form shows more. */
const MOST_LEVELS = 64;
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const SUBSCHEMA = [
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const NAMED_SUBSCHEMAS = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'];
const LISTED_SUBSCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
/** Schemas that no value need meet. */
const TESTS = ['if', 'not'];
const RANGES = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
  ['minContains', 'maxContains'],
] as const;
const COUNTS = RANGES.slice(1).flat();
const OPEN_RANGES = [
  ['exclusiveMinimum', 'exclusiveMaximum'],
  ['exclusiveMinimum', 'maximum'],
  ['minimum', 'exclusiveMaximum'],
] as const;

/** What makes the schema of a configuration (JSON Schema 2020-12) no schema, or one that no configuration meets. */
export function configSchemaErrors(schema: Schema): FieldError[] {
  const { type } = schema;
  const found: Found[] = findings(schema, '/config_schema');
  if (found.length === 0 && type !== undefined && ![type].flat().includes('object'))
    found.push(['/config_schema/type', 'must be "object": a configuration is one']);
  return found.map(([pointer, detail]) => ({ pointer, detail, code: 'bad-schema' }));
}

/** `test`: only whether it is a schema, not whether a value may meet it. */
function findings(schema: unknown, at: string, depth = 0, test = false): Found[] {
  if (depth > MOST_LEVELS) return [[at, `is nested too deep: at most ${MOST_LEVELS} levels`]];
  if (typeof schema === 'boolean') return [];
  if (!isObject(schema)) return [[at, 'must be a schema: an object, true or false']];
  return [
    ...typeFindings(schema, at),
    ...(limitFindings(schema, at) ?? (test ? [] : emptyRanges(schema, at))),
    ...valueFindings(schema, at, test),
    ...inside(schema, at, depth + 1, test),
  ];
}

function inside(schema: Schema, at: string, depth: number, test: boolean): Found[] {
  const named = NAMED_SUBSCHEMAS.filter((key) => key in schema).flatMap((key): Found[] => {
    const schemas = schema[key];
    if (!isObject(schemas)) return [[`${at}/${key}`, 'must be an object with a schema for each name']];
    return Object.entries(schemas).flatMap(([name, each]): Found[] => [
      ...(key === 'patternProperties' ? patternFindings(name, `${at}/${key}/${escaped(name)}`) : []),
      ...findings(each, `${at}/${key}/${escaped(name)}`, depth, test),
    ]);
  });
  const listed = LISTED_SUBSCHEMAS.filter((key) => key in schema).flatMap((key): Found[] => {
    const schemas = schema[key];
    if (!Array.isArray(schemas) || schemas.length === 0) return [[`${at}/${key}`, 'must be a list of schemas']];
    return schemas.flatMap((each, i) => findings(each, `${at}/${key}/${i}`, depth, test));
  });
  const single = SUBSCHEMA.filter((key) => key in schema).flatMap((key) =>
    findings(schema[key], `${at}/${key}`, depth, test || TESTS.includes(key)),
  );
  return [...named, ...listed, ...single];
}

function typeFindings({ type }: Schema, at: string): Found[] {
  if (type === undefined) return [];
  const types: unknown[] = [type].flat();
  if (types.length === 0) return [[`${at}/type`, 'must not be empty: no value has no type']];
  return types.flatMap((each, i): Found[] =>
    TYPES.includes(each as string)
      ? []
      : [[Array.isArray(type) ? `${at}/type/${i}` : `${at}/type`, `must be one of ${TYPES.join(', ')}`]],
  );
}

/** Null: all limits are numbers that they can be. */
function limitFindings(schema: Schema, at: string): Found[] | null {
  const isGiven = (key: string) => key in schema;
  const wrong: Found[] = [
    ...NUMBERS.filter((key) => isGiven(key) && typeof schema[key] !== 'number').map(
      (key): Found => [`${at}/${key}`, 'must be a number'],
    ),
    ...COUNTS.filter((key) => isGiven(key) && !(Number.isInteger(schema[key]) && (schema[key] as number) >= 0)).map(
      (key): Found => [`${at}/${key}`, 'must be a whole number, 0 or more'],
    ),
  ];
  const { multipleOf } = schema;
  if (multipleOf !== undefined && !(typeof multipleOf === 'number' && multipleOf > 0))
    wrong.push([`${at}/multipleOf`, 'must be a number above 0']);
  return wrong.length > 0 ? wrong : null;
}

/** Precondition: limits are numbers. */
function emptyRanges(schema: Schema, at: string): Found[] {
  const closed = RANGES.filter(([least, most]) => (schema[least] as number) > (schema[most] as number)).map(
    ([least, most]): Found => [`${at}/${most}`, `must not be below ${least}: no value would be allowed`],
  );
  const open = OPEN_RANGES.filter(([least, most]) => (schema[least] as number) >= (schema[most] as number)).map(
    ([least, most]): Found => [`${at}/${most}`, `must be above ${least}: no value would be allowed`],
  );
  return [...closed, ...open];
}

function valueFindings(schema: Schema, at: string, test: boolean): Found[] {
  const { enum: values, const: value, pattern, required } = schema;
  const found: Found[] = [];
  if ('enum' in schema && !(Array.isArray(values) && values.length > 0))
    found.push([`${at}/enum`, 'must be a list of at least one value']);
  else if (!test && Array.isArray(values) && !values.some((each) => mayHave(schema, each)))
    found.push([`${at}/enum`, 'has no value of the type that `type` asks for']);
  if (!test && 'const' in schema && !mayHave(schema, value))
    found.push([`${at}/const`, 'is not of the type that `type` asks for']);
  if ('pattern' in schema) found.push(...patternFindings(pattern, `${at}/pattern`));
  if ('required' in schema) found.push(...requiredFindings(schema, required, `${at}/required`, test));
  return found;
}

function patternFindings(pattern: unknown, at: string): Found[] {
  if (typeof pattern !== 'string') return [[at, 'must be a regular expression']];
  try {
    new RegExp(pattern, 'u');
    return [];
  } catch {
    return [[at, 'is no regular expression (ECMA-262, with flag u)']];
  }
}

function requiredFindings(schema: Schema, required: unknown, at: string, test: boolean): Found[] {
  if (!Array.isArray(required) || required.some((name) => typeof name !== 'string'))
    return [[at, 'must be a list of names']];
  const { properties = {}, patternProperties, additionalProperties } = schema;
  if (test || additionalProperties !== false || patternProperties !== undefined || !isObject(properties)) return [];
  return required.flatMap((name: string, i): Found[] =>
    Object.hasOwn(properties, name)
      ? []
      : [[`${at}/${i}`, `"${name}" is not in \`properties\`, and no others are allowed`]],
  );
}

/** By its type; also where that is wrong itself, which is told there. */
function mayHave({ type }: Schema, value: unknown): boolean {
  if (type === undefined) return true;
  return [type].flat().some((each) => !TYPES.includes(each as string) || isOf(each as string, value));
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A name in a JSON Pointer (RFC 6901). */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
