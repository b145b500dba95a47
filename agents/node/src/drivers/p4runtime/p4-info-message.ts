import { isP4InfoJson, p4InfoMessage, type TextMessage, type TextValue } from '@orrery/contract';
import protobuf from 'protobufjs';

/**
 * P4Info as an object for `type`, read as the server reads it: fields that the type does not have are left out. Throws an error
 * that names line or field.
 */
export function p4InfoObject(text: string, type: protobuf.Type): Record<string, unknown> {
  const bytes = isP4InfoJson(text) ? base64 : (value: Uint8Array) => Buffer.from(value);
  return objectOf(p4InfoMessage(text), type, bytes);
}

/** What bytes are of what is in quotes. */
type Bytes = (quoted: Uint8Array) => Buffer;
const base64: Bytes = (quoted) => Buffer.from(Buffer.from(quoted).toString(), 'base64');

function objectOf(message: TextMessage, type: protobuf.Type, bytes: Bytes): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, written] of message) {
    const field = type.fields[protobuf.util.camelCase(name)] ?? type.fields[name];
    if (!field) continue;
    if (field instanceof protobuf.MapField) out[field.name] = mapOf(written, field, bytes);
    else {
      const values = written.map((value) => fieldValue(value, field, type, bytes));
      out[field.name] = field.repeated ? values : values.at(-1);
    }
  }
  return out;
}

/** The text format writes a map as its entries (language guide, maps), JSON as an object. */
function mapOf(written: readonly TextValue[], field: protobuf.MapField, bytes: Bytes): Record<string, unknown> {
  const of = (value: TextValue) => fieldValue(value, field, undefined, bytes);
  const pairs = written.flatMap((each): [string, unknown][] => {
    if (isScalar(each)) throw new Error(`${field.name}: ${shown(each)} is not an entry of a map`);
    const [key, value] = [each.get('key')?.at(-1), each.get('value')?.at(-1)];
    if (key !== undefined && isScalar(key)) return value === undefined ? [] : [[textOf(key), of(value)]];
    return [...each].map(([name, values]) => [name, of(values.at(-1)!)]);
  });
  return Object.fromEntries(pairs);
}

function fieldValue(
  value: TextValue,
  field: protobuf.FieldBase,
  type: protobuf.Type | undefined,
  bytes: Bytes,
): unknown {
  const { name, resolvedType } = field;
  const wrong = (wanted: string) => new Error(`${type?.name ?? name}: ${shown(value)} is not ${wanted}`);
  if (resolvedType instanceof protobuf.Type) {
    if (isScalar(value)) throw wrong(`a value of ${name}`);
    return objectOf(value, resolvedType, bytes);
  }
  if (!isScalar(value)) throw wrong(`a value of ${name}`);
  const text = textOf(value);
  if (resolvedType instanceof protobuf.Enum) {
    const number = Object.hasOwn(resolvedType.values, text) ? resolvedType.values[text]! : Number(text);
    if (text === '' || !Number.isInteger(number)) throw wrong(`a value of ${resolvedType.name}`);
    return resolvedType.valuesById[number] ?? number;
  }
  const isQuoted = value instanceof Uint8Array;
  if (field.type === 'string' && isQuoted) return text;
  if (field.type === 'bytes' && isQuoted) return bytes(value);
  if (field.type === 'bool' && /^(true|false|t|f|0|1)$/i.test(text)) return /^(true|t|1)$/i.test(text);
  const whole = /^[+-]?(0x[0-9a-f]+|\d+)$/i.test(text);
  if (/64$/.test(field.type) && whole) return BigInt(text).toString();
  if (/32$/.test(field.type) && whole) return Number(text);
  if (/^(float|double)$/.test(field.type) && !Number.isNaN(Number(text))) return Number(text);
  throw wrong(`a ${field.type} for ${name}`);
}

const isScalar = (value: TextValue): value is string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array;
const textOf = (value: string | Uint8Array): string =>
  typeof value === 'string' ? value : Buffer.from(value).toString();
const shown = (value: TextValue): string => (isScalar(value) ? JSON.stringify(textOf(value)) : 'a message');
